"""Pull requests as the server reads them."""

import json

import pytest

from penstock_jetstream.core.options import ConsumeOptions
from penstock_jetstream.core.pulls import PullRequest, next_subject, reply_to, request_number


@pytest.mark.requirement("P-01")
def test_a_pull_goes_to_the_consumers_subject_under_the_prefix() -> None:
    assert next_subject("$JS.API", "ORDERS", "etl") == "$JS.API.CONSUMER.MSG.NEXT.ORDERS.etl"
    assert next_subject("$JS.hub.API", "ORDERS", "etl") == "$JS.hub.API.CONSUMER.MSG.NEXT.ORDERS.etl"


@pytest.mark.requirement("P-03")
def test_a_body_has_what_differs_from_the_servers_defaults_and_no_more() -> None:
    assert PullRequest(batch=1).body() == b'{"batch":1}'
    body = json.loads(
        PullRequest(
            batch=5,
            max_bytes=1000,
            expires_seconds=4.9,
            no_wait=True,
            idle_heartbeat_seconds=0.5,
            group_fields=ConsumeOptions(group="jobs", min_pending=7, min_ack_pending=8).group_fields(),
            pin_id="p",
        ).body()
    )
    assert body == {
        "batch": 5,
        "max_bytes": 1000,
        "expires": 4_900_000_000,
        "no_wait": True,
        "idle_heartbeat": 500_000_000,
        "group": "jobs",
        "min_pending": 7,
        "min_ack_pending": 8,
        "id": "p",
    }


@pytest.mark.requirement("G-16")
def test_a_priority_is_sent_with_its_group() -> None:
    assert ConsumeOptions(group="jobs", priority=9).group_fields() == {"group": "jobs", "priority": 9}
    assert ConsumeOptions(group="jobs", priority=0).group_fields() == {"group": "jobs"}


@pytest.mark.requirement("C-30", "P-15")
def test_a_reply_tells_which_request_a_status_answers() -> None:
    assert request_number(reply_to("_INBOX.abc", 17).encode()) == 17
    assert request_number(b"_INBOX.abc.x7") == 0
    assert request_number(b"") == 0
