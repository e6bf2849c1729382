"""What tests of the operator share: the session's control plane, taught our kinds."""

import pytest

from penstock_operator.resources import KINDS, definition
from tests.testbed.kubernetes.access import Access, Namespace
from tests.testbed.waiting import eventually

ESTABLISHED_SECONDS = 60


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


def install_crds(plane: Access) -> None:
    """Teach a control plane our kinds, and wait until it knows them all."""
    plane.client.apply(*(definition(kind) for kind in KINDS))
    eventually(lambda: _are_established(plane), "all kinds are known", ESTABLISHED_SECONDS)


def _are_established(plane: Access) -> bool:
    found = [plane.client.get(f"crd/{kind.resource}").get("status", {}) for kind in KINDS]
    return all(
        any(said["type"] == "Established" and said["status"] == "True" for said in status.get("conditions") or ())
        for status in found
    )
