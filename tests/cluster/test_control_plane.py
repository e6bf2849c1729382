"""A control plane starts in seconds: measured here, where tests run one at a time and have the processors."""

import pytest

from tests.cluster.starting import fewest_seconds_to_ready
from tests.testbed.kubernetes.control_plane import ControlPlane

pytestmark = pytest.mark.e2e

READY_WARM_SECONDS = 5.0


def test_it_is_ready_within_five_seconds() -> None:
    assert fewest_seconds_to_ready(ControlPlane, enough=READY_WARM_SECONDS) <= READY_WARM_SECONDS
