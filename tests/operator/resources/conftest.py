"""What tests of resources share: an API server that judges many manifests quickly."""

import pytest

from tests.operator.resources.judge import Judge
from tests.testbed.kubernetes.access import Access


@pytest.fixture(scope="session")
def judge(penstock_plane: Access) -> Judge:
    """The session's API server, asked without a program in between."""
    return Judge(penstock_plane)
