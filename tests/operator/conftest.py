"""What tests of the operator share: the session's control plane, taught our kinds."""

import json

import pytest

from penstock_operator.resources import KINDS, definition
from tests.testbed.kubernetes.access import Access, Namespace


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
    for kind in KINDS:
        plane.kubectl("apply", "--server-side", "--filename=-", stdin=json.dumps(definition(kind)))
        plane.kubectl("wait", "--for=condition=Established", f"crd/{kind.resource}", "--timeout=30s")
