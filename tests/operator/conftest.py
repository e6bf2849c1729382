"""What tests of the operator share: the session's control plane, taught our kinds."""

import json

import pytest

from penstock_operator.resources import KINDS, definition
from tests.testbed.kubernetes.access import Access, Namespace
from tests.testbed.waiting import wait_until

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
    crds = {"apiVersion": "v1", "kind": "List", "items": [definition(kind) for kind in KINDS]}
    plane.kubectl("apply", "--server-side", "--filename=-", stdin=json.dumps(crds))
    wait_until(lambda: _are_established(plane), "all kinds are known", ESTABLISHED_SECONDS)


def _are_established(plane: Access) -> bool:
    """Ask for what stands in the status: `kubectl wait` fails where there is none yet."""
    names = [f"crd/{kind.resource}" for kind in KINDS]
    said = '{range .items[*]}{.status.conditions[?(@.type=="Established")].status} {end}'
    return plane.kubectl("get", *names, f"--output=jsonpath={said}").split() == ["True"] * len(KINDS)
