"""Options of consume and fetch: defaults, what is refused at once, and the pull requests that they become."""

import json
from typing import Any

import pytest

from penstock_jetstream.core.options import ConsumeOptions, FetchOptions, Wait
from penstock_jetstream.core.pulls import PullRequest, next_subject, reply_to, request_number
from penstock_jetstream.errors import UsageError


@pytest.mark.requirement("C-21", "C-23", "C-24", "C-25", "C-26", "C-50")
def test_the_defaults_are_those_of_the_adr_or_of_a_worker() -> None:
    """The heartbeat is half of the expiry within bounds, and the threshold half of the maximum rounded up."""
    options = ConsumeOptions()
    assert (options.maximum, options.by_bytes, options.threshold) == (500, False, 250)
    assert (options.expires_seconds, options.heartbeat_seconds) == (30, 15)
    for expires_seconds, heartbeat_seconds in ((1, 0.5), (10, 5), (30, 15), (60, 30), (600, 30)):
        assert ConsumeOptions(expires_seconds=expires_seconds).heartbeat_seconds == heartbeat_seconds
    for maximum, threshold in ((1, 1), (2, 1), (3, 2), (5, 3), (500, 250)):
        assert ConsumeOptions(max_messages=maximum).threshold == threshold
        assert ConsumeOptions(max_bytes=maximum).threshold == threshold
    of_worker = ConsumeOptions.for_worker(max_messages=1000)  # which notices a lost request within 4 s
    assert (of_worker.expires_seconds, of_worker.heartbeat_seconds, of_worker.maximum) == (10, 2, 1000)
    assert ConsumeOptions.for_worker(expires_seconds=20).expires_seconds == 20


@pytest.mark.requirement("C-20", "C-23", "C-24", "C-26")
def test_impossible_options_are_refused_with_a_sentence(subtests: pytest.Subtests) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"max_messages": 10, "max_bytes": 1000}, "exclude each other"),
        ({"max_messages": 0}, "max_messages is 0"),
        ({"max_bytes": -5}, "max_bytes is -5"),
        ({"expires_seconds": 0.9}, "at least 1 s"),
        ({"expires_seconds": float("inf")}, "finite"),
        ({"expires_seconds": float("nan")}, "at least 1 s"),
        ({"idle_heartbeat_seconds": 0.4}, "between 0.5 and 30 s"),
        ({"idle_heartbeat_seconds": 31, "expires_seconds": 90}, "between 0.5 and 30 s"),
        ({"idle_heartbeat_seconds": 6, "expires_seconds": 10}, "does not fit a request that expires after 10 s"),
        ({"max_messages": 10, "threshold_messages": 11}, "between 0 and the maximum, 10"),
        ({"threshold_messages": 501}, "between 0 and the maximum, 500"),
        ({"max_bytes": 10, "threshold_bytes": 11}, "between 0 and the maximum, 10"),
        ({"max_bytes": 10, "threshold_messages": 1}, "means nothing"),
        ({"threshold_bytes": 1}, "between 0 and the maximum, 0"),
    ]
    for options, sentence in cases:
        with subtests.test(str(options)), pytest.raises(UsageError, match=sentence):
            ConsumeOptions(**options)


@pytest.mark.requirement("C-11", "C-12")
def test_a_fetch_needs_a_possible_limit_and_has_heartbeats_if_it_may_take_more_than_30_seconds(
    subtests: pytest.Subtests,
) -> None:
    with pytest.raises(UsageError, match="without a limit"):
        FetchOptions()
    assert FetchOptions(max_bytes=1000).batch == 1_000_000
    cases: list[dict[str, Any]] = [
        {"max_messages": 0},
        {"max_messages": 1, "expires_seconds": 0},
        {"max_messages": 1, "expires_seconds": 2, "idle_heartbeat_seconds": 1.5},
        {"max_messages": 1, "idle_heartbeat_seconds": -1},
    ]
    for options in cases:
        with subtests.test(str(options)), pytest.raises(UsageError):
            FetchOptions(**options)
    assert FetchOptions(max_messages=1, expires_seconds=30).heartbeat_seconds == 0
    assert FetchOptions(max_messages=1, expires_seconds=31).heartbeat_seconds == 5
    assert FetchOptions(max_messages=1, expires_seconds=31, idle_heartbeat_seconds=0).heartbeat_seconds == 0
    assert FetchOptions(max_messages=1, expires_seconds=60, wait=Wait.NOTHING).heartbeat_seconds == 0


@pytest.mark.requirement("G-02", "G-05", "G-06", "G-16", "G-17")
def test_group_options_that_no_consumer_could_serve_are_refused(subtests: pytest.Subtests) -> None:
    for name in ("a", "jobs_A-1/x=", "0123456789abcdef"):
        assert ConsumeOptions(group=name).group_fields() == {"group": name}
    cases: list[tuple[dict[str, Any], str]] = [
        *(({"group": name}, "priority group") for name in ("0123456789abcdefg", "a b", "a.b", "é")),
        ({"min_pending": 5}, "without a priority group"),
        ({"min_ack_pending": 5}, "without a priority group"),
        ({"priority": 0}, "without a priority group"),
        ({"group": "a", "priority": 10}, "priority of 10"),
        ({"group": "a", "priority": -1}, "priority of -1"),
        ({"group": "a", "min_pending": -1}, "negative"),
        ({"group": "a", "min_pending": 1, "priority": 1}, "cannot go together"),
    ]
    for options, sentence in cases:
        with subtests.test(str(options)):
            with pytest.raises(UsageError, match=sentence):
                ConsumeOptions(**options)
            with pytest.raises(UsageError, match=sentence):
                FetchOptions(max_messages=1, **options)


@pytest.mark.requirement("G-16", "P-03")
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
    assert ConsumeOptions(group="jobs", priority=9).group_fields() == {"group": "jobs", "priority": 9}
    assert ConsumeOptions(group="jobs", priority=0).group_fields() == {"group": "jobs"}


@pytest.mark.requirement("C-30", "P-01", "P-15")
def test_a_pull_goes_to_the_subject_of_its_consumer_and_its_reply_subject_has_its_number() -> None:
    assert next_subject("$JS.API", "ORDERS", "etl") == "$JS.API.CONSUMER.MSG.NEXT.ORDERS.etl"
    assert next_subject("$JS.hub.API", "ORDERS", "etl") == "$JS.hub.API.CONSUMER.MSG.NEXT.ORDERS.etl"
    assert request_number(reply_to("_INBOX.abc", 17).encode()) == 17
    assert request_number(b"_INBOX.abc.x7") == 0
    assert request_number(b"") == 0
