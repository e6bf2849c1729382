"""The headers of a publish, its answer, and when it is retried."""

from typing import Any

import pytest

from penstock_jetstream.core.publishing import PubAck, PublishOptions, Retry, batch_headers, headers_of, ttl
from penstock_jetstream.errors import ConflictError, ProtocolError, UsageError


def test_options_become_headers_next_to_the_users_own() -> None:
    assert headers_of({}) is None
    headers = headers_of(
        {
            "headers": {"Color": ["red", "blue"]},
            "message_id": "7",
            "expected_stream": "ORDERS",
            "expected_last_sequence": 0,
            "expected_last_message_id": "6",
            "expected_last_subject_sequence": 3,
            "expected_last_subject": "orders.*",
            "ttl_seconds": 60,
        }
    )
    assert headers == {
        "Color": ["red", "blue"],
        "Nats-Msg-Id": "7",
        "Nats-Expected-Stream": "ORDERS",
        "Nats-Expected-Last-Sequence": "0",
        "Nats-Expected-Last-Msg-Id": "6",
        "Nats-Expected-Last-Subject-Sequence": "3",
        "Nats-Expected-Last-Subject-Sequence-Subject": "orders.*",
        "Nats-TTL": "60",
    }
    wrong: list[Any] = [{"expected_last_subject": "a"}, {"mesage_id": "7"}]
    for options in wrong:
        with pytest.raises(UsageError):
            headers_of(options)


@pytest.mark.requirement("X-07")
def test_a_ttl_is_whole_seconds_a_duration_or_never_and_at_least_a_second() -> None:
    assert [ttl(1), ttl(90.0), ttl(1.5), ttl("never")] == ["1", "90", "1500ms", "never"]
    for seconds in (0, 0.5, -1, float("inf"), float("nan")):
        with pytest.raises(UsageError, match="cannot live for"):
            ttl(seconds)


def test_a_puback_is_read_a_refusal_names_the_subject_and_all_else_is_a_protocol_error() -> None:
    ack = PubAck.read(b'{"stream":"S","seq":4,"duplicate":true,"domain":"hub","batch":"b","count":3,"new":1}', "a")
    assert (ack.stream, ack.sequence, ack.duplicate, ack.domain) == ("S", 4, True, "hub")
    assert (ack.batch_id, ack.batch_size, ack.raw["new"]) == ("b", 3, 1)
    refusal = b'{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 4"},"stream":"S","seq":0}'
    with pytest.raises(ConflictError, match=r"A message on a\.b could not be stored.*wrong last sequence: 4"):
        PubAck.read(refusal, "a.b")
    for payload in (b"", b"+OK", b"{}", b'{"stream":"S"}', b'{"stream":5,"seq":1}'):
        with pytest.raises(ProtocolError):
            PubAck.read(payload, "a")


@pytest.mark.requirement("X-02")
def test_a_publish_is_tried_three_times_a_quarter_of_a_second_apart_or_as_configured() -> None:
    retry = Retry()
    assert [retry.next_attempt(done, now=10, deadline=15) for done in (1, 2, 3)] == [10.25, 10.25, None]
    forever = Retry(attempts=-1, wait_seconds=1)
    assert forever.next_attempt(1000, now=10, deadline=15) == 11
    assert forever.next_attempt(1001, now=14.5, deadline=15) is None
    for attempts, wait_seconds in ((0, 1), (-2, 1), (3, -1)):
        with pytest.raises(UsageError):
            Retry(attempts, wait_seconds)


@pytest.mark.requirement("X-10")
def test_messages_of_a_batch_are_numbered_and_the_last_commits() -> None:
    options: PublishOptions = {"message_id": "7"}
    first = {"Nats-Msg-Id": "7", "Nats-Batch-Id": "b", "Nats-Batch-Sequence": "1"}
    last = {"Nats-Batch-Id": "b", "Nats-Batch-Sequence": "2", "Nats-Batch-Commit": "1"}
    assert batch_headers(options, "b", 1, last=False) == first
    assert batch_headers({}, "b", 2, last=True) == last
    with pytest.raises(UsageError, match="expects a last message id"):
        batch_headers({"expected_last_message_id": "7"}, "b", 1, last=False)
