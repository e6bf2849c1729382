"""An API server that judges the manifests of all tests of resources."""

import pytest

from tests.operator.resources.judging import Judge
from tests.testbed.kubernetes.access import Access


@pytest.fixture(scope="session")
def judge(penstock_plane: Access) -> Judge:
    return Judge(penstock_plane.client)
