"""Every status of the servers is recognised, in each of its wordings."""

import pytest

from penstock_jetstream.core.statuses import Kind, kind_of, read_status


@pytest.mark.requirement("C-42", "C-55")
def test_statuses_are_told_apart(subtests: pytest.Subtests) -> None:
    kinds = [
        ("100 Idle Heartbeat", Kind.HEARTBEAT),
        ("100 FlowControl Request", Kind.FLOW_CONTROL),
        ("400 Bad Request - heartbeat value too large", Kind.BAD_REQUEST),
        ("400 Bad Request - Not a Pinned Client Priority consumer", Kind.NO_PINS),
        ("404 No Messages", Kind.NO_MESSAGES),
        ("408 Request Timeout", Kind.EXPIRED),
        ("408 Interest Expired", Kind.INTEREST_GONE),
        ("408 Requests Pending", Kind.OTHERS_WAIT),
        ("409 Message Size Exceeds MaxBytes", Kind.TOO_LARGE),
        ("409 Batch Completed", Kind.COMPLETED),
        ("409 Exceeded MaxRequestBatch of 10", Kind.LIMIT_EXCEEDED),
        ("409 Exceeded MaxRequestExpires of 5s", Kind.LIMIT_EXCEEDED),
        ("409 Exceeded MaxRequestMaxBytes of 1000", Kind.LIMIT_EXCEEDED),
        ("409 Exceeded MaxWaiting", Kind.QUEUE_FULL),
        ("409 Consumer Deleted", Kind.DELETED),
        ("409 Consumer is push based", Kind.PUSH_BASED),
        ("409 Leadership Change", Kind.LEADER_MOVED),
        ("409 Server Shutdown", Kind.SERVER_STOPPING),
        ("412 Required Api Level", Kind.API_LEVEL),
        ("423 Nats-Wrong-Pin-Id", Kind.WRONG_PIN),
        ("423 Nats-Pin-Id mismatch", Kind.WRONG_PIN),
        ("503 ", Kind.UNAVAILABLE),
        ("409 Consumer Moved To Mars", Kind.UNKNOWN),
        ("418 I'm a teapot", Kind.UNKNOWN),
    ]
    for text, kind in kinds:
        with subtests.test(text):
            code, _, description = text.partition(" ")
            assert kind_of(int(code), description) is kind


@pytest.mark.requirement("C-34")
def test_what_was_left_of_a_request_is_read_and_malformed_numbers_are_ignored() -> None:
    left = {"Nats-Pending-Messages": "3", "Nats-Pending-Bytes": "66"}
    status = read_status(408, "Request Timeout", left, request=9)
    assert (status.request, status.left_messages, status.left_bytes) == (9, 3, 66)
    for text in ("", "x", "-1", "1.5", "٣"):
        assert read_status(408, "Request Timeout", {"Nats-Pending-Messages": text}).left_messages is None
