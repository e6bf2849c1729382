"""Nothing is lost when a server is killed in the middle of it: few messages here, a million by hand (crash.py)."""

import pytest

from tests.jetstream import crash
from tests.testbed.nats.fixtures import StartNats

MESSAGES = 20_000


@pytest.mark.requirement("C-53", "C-54")
@pytest.mark.parametrize(
    ("by", "js_ack_fc_v2"), [pytest.param("message", False, marks=pytest.mark.full), ("lane", True)]
)
async def test_kill_9_loses_no_message_and_no_ack(start_nats: StartNats, by: str, *, js_ack_fc_v2: bool) -> None:
    outcome = await crash.survive(start_nats(js_ack_fc_v2=js_ack_fc_v2), MESSAGES, crash.READERS[by])
    assert outcome.is_complete, crash.report(outcome)
