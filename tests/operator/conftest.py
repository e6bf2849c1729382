"""Fixtures of the operator's tests: the session's control plane with our kinds, and operators that tests share."""

from collections.abc import Iterator

import pytest

from penstock_operator.constants import API_VERSION
from penstock_operator.resources import KINDS, definition
from tests.operator.running import RunningOperator, SharedOperators, clear
from tests.testbed.kubernetes.access import Access, Namespace
from tests.testbed.kubernetes.client import RefusedError
from tests.testbed.waiting import eventually


@pytest.fixture(scope="session")
def penstock_plane(control_plane: Access) -> Access:
    """The session's control plane with our CustomResourceDefinitions."""
    install_crds(control_plane)
    return control_plane


@pytest.fixture
def penstock_namespace(penstock_plane: Access, namespace: Namespace) -> Namespace:
    """A namespace of the test's own, where our kinds are known."""
    del penstock_plane
    return namespace


@pytest.fixture(scope="session")
def operators(penstock_plane: Access) -> Iterator[SharedOperators]:
    operators = SharedOperators(penstock_plane)
    yield operators
    operators.close()


@pytest.fixture
def served(operators: SharedOperators) -> Iterator[tuple[RunningOperator, Namespace]]:
    operator, [namespace] = operators.take()
    yield operator, namespace
    clear(namespace)


@pytest.fixture
def operator(served: tuple[RunningOperator, Namespace]) -> RunningOperator:
    """An operator that serves `served_namespace`, and other tests' namespaces before and after."""
    return served[0]


@pytest.fixture
def served_namespace(served: tuple[RunningOperator, Namespace]) -> Namespace:
    """A namespace of the test's own that `operator` serves."""
    return served[1]


def install_crds(plane: Access) -> None:
    """Install our CustomResourceDefinitions, and wait until they are established and discovery has them."""
    plane.client.apply(*(definition(kind) for kind in KINDS))
    eventually(lambda: _are_established(plane), "all kinds are established")
    eventually(lambda: _are_discovered(plane), "discovery has all kinds", not_yet=(RefusedError,))


def _are_discovered(plane: Access) -> bool:
    """Discovery has a kind a moment after it is established."""
    found = plane.client.request("GET", f"/apis/{API_VERSION}").get("resources", ())
    return {kind.plural for kind in KINDS} <= {resource["name"] for resource in found}


def _are_established(plane: Access) -> bool:
    found = [plane.client.get(f"crd/{kind.resource}").get("status", {}) for kind in KINDS]
    return all(
        any(said["type"] == "Established" and said["status"] == "True" for said in status.get("conditions") or ())
        for status in found
    )
