"""What a publish says in headers, what its answer says, and when it is tried again."""

import pytest

from penstock_jetstream.core.publishing import PubAck, PublishOptions, Retry, batch_headers, headers_of, ttl
from penstock_jetstream.errors import ConflictError, ProtocolError, UsageError


def test_a_publish_without_options_has_no_headers() -> None:
    assert headers_of({}) is None


def test_options_become_headers_beside_the_users_own() -> None:
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


@pytest.mark.requirement("X-07")
def test_a_ttl_is_whole_seconds_a_duration_or_never() -> None:
    assert [ttl(1), ttl(90.0), ttl(1.5), ttl("never")] == ["1", "90", "1500ms", "never"]


@pytest.mark.requirement("X-07")
@pytest.mark.parametrize("seconds", [0, 0.5, -1, float("inf"), float("nan")])
def test_a_ttl_below_a_second_is_refused(seconds: float) -> None:
    with pytest.raises(UsageError, match="cannot live for"):
        ttl(seconds)


@pytest.mark.parametrize("options", [{"expected_last_subject": "a"}, {"mesage_id": "7"}])
def test_options_that_mean_nothing_are_refused(options: PublishOptions) -> None:
    with pytest.raises(UsageError):
        headers_of(options)


def test_a_puback_is_read_with_all_that_it_has() -> None:
    ack = PubAck.read(b'{"stream":"S","seq":4,"duplicate":true,"domain":"hub","batch":"b","count":3,"new":1}', "a")
    assert (ack.stream, ack.sequence, ack.duplicate, ack.domain) == ("S", 4, True, "hub")
    assert (ack.batch_id, ack.batch_size, ack.raw["new"]) == ("b", 3, 1)


def test_a_refusal_names_the_subject() -> None:
    refusal = b'{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 4"},"stream":"S","seq":0}'
    with pytest.raises(ConflictError, match=r"A message on a\.b could not be stored.*wrong last sequence: 4"):
        PubAck.read(refusal, "a.b")


@pytest.mark.parametrize("payload", [b"", b"+OK", b"{}", b'{"stream":"S"}', b'{"stream":5,"seq":1}'])
def test_what_is_no_puback_is_a_protocol_error(payload: bytes) -> None:
    with pytest.raises(ProtocolError):
        PubAck.read(payload, "a")


@pytest.mark.requirement("X-02")
def test_by_default_three_attempts_are_made_a_quarter_of_a_second_apart() -> None:
    retry = Retry()
    assert retry.next_attempt(1, now=10, deadline=15) == 10.25
    assert retry.next_attempt(2, now=10.25, deadline=15) == 10.5
    assert retry.next_attempt(3, now=10.5, deadline=15) is None


@pytest.mark.requirement("X-02")
def test_minus_one_is_until_the_deadline() -> None:
    retry = Retry(attempts=-1, wait_seconds=1)
    assert retry.next_attempt(1000, now=10, deadline=15) == 11
    assert retry.next_attempt(1001, now=14.5, deadline=15) is None


@pytest.mark.requirement("X-02")
@pytest.mark.parametrize(("attempts", "wait_seconds"), [(0, 1), (-2, 1), (3, -1)])
def test_attempts_that_cannot_be_are_refused(attempts: int, wait_seconds: float) -> None:
    with pytest.raises(UsageError):
        Retry(attempts, wait_seconds)


@pytest.mark.requirement("X-10")
def test_messages_of_a_batch_are_numbered_and_the_last_commits() -> None:
    assert batch_headers({"message_id": "7"}, "b", 1, last=False) == {
        "Nats-Msg-Id": "7",
        "Nats-Batch-Id": "b",
        "Nats-Batch-Sequence": "1",
    }
    assert batch_headers({}, "b", 2, last=True) == {
        "Nats-Batch-Id": "b",
        "Nats-Batch-Sequence": "2",
        "Nats-Batch-Commit": "1",
    }


@pytest.mark.requirement("X-10")
def test_a_batch_cannot_expect_a_last_message_id() -> None:
    with pytest.raises(UsageError, match="expects a last message id"):
        batch_headers({"expected_last_message_id": "7"}, "b", 1, last=False)
