"""Direct gets: pages follow each other, and no message is lost unnoticed (X-03)."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from penstock_jetstream.core.direct import (
    MAX_FRUITLESS_PAGES,
    Action,
    Ask,
    Deliver,
    DirectRead,
    End,
    Lasts,
    Range,
    read_one,
)
from penstock_jetstream.core.headers import Headers
from penstock_jetstream.core.selection import Selection
from penstock_jetstream.errors import ApiError, ErrorCode, MissingError, NoRespondersError, ProtocolError, UsageError
from penstock_jetstream.errors.direct import DirectGetError

pytestmark = pytest.mark.requirement("X-03")

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def started(plan: Range | Lasts | None = None) -> DirectRead:
    reading = DirectRead("S", plan or Range())
    reading.start()
    return reading


def message(sequence: int, after: int, *, published: bytes = b"NATS/1.0\r\n") -> tuple[Headers, bytes]:
    added = (
        f"Nats-Stream: S\r\nNats-Subject: a.{sequence}\r\nNats-Sequence: {sequence}\r\n"
        f"Nats-Time-Stamp: 2026-01-02T03:04:05.000000001Z\r\nNats-Num-Pending: 1\r\nNats-Last-Sequence: {after}\r\n\r\n"
    )
    return Headers(published + added.encode()), b"data"


def end_of_page(last: int, pending: int, up_to: int = 0) -> tuple[Headers, bytes]:
    ceiling = f"Nats-UpTo-Sequence: {up_to}\r\n" if up_to else ""
    text = f"NATS/1.0 204 EOB\r\nNats-Num-Pending: {pending}\r\nNats-Last-Sequence: {last}\r\n{ceiling}\r\n"
    return Headers(text.encode()), b""


def status(text: str) -> tuple[Headers, bytes]:
    return Headers(f"NATS/1.0 {text}\r\n\r\n".encode()), b""


def asked(actions: list[Action]) -> dict[str, Any]:
    (ask,) = actions
    assert isinstance(ask, Ask)
    body: dict[str, Any] = json.loads(ask.body)
    return body


def delivered(actions: list[Action]) -> list[int]:
    return [action.message.sequence for action in actions if isinstance(action, Deliver)]


def end_error(actions: list[Action]) -> BaseException | None:
    (end,) = actions
    assert isinstance(end, End)
    return end.error


def test_a_range_is_requested_from_its_start_by_subject_and_only_once_by_time() -> None:
    body = asked(DirectRead("S", Range(subject="a.>", start_sequence=5, max_messages=10)).start())
    assert body == {"batch": 10, "max_bytes": 4 << 20, "next_by_subj": "a.>", "seq": 5}
    reading = DirectRead("S", Range(start_time=NEW_YEAR))
    assert asked(reading.start())["start_time"] == "2026-01-01T00:00:00Z"
    reading.received(1, *message(7, 0))
    second = asked(reading.received(1, *end_of_page(7, pending=3)))
    assert (second["seq"], "start_time" in second) == (8, False)


def test_pages_follow_each_other_until_nothing_is_pending_or_the_range_is_complete() -> None:
    reading = started()
    assert delivered(reading.received(1, *message(1, 0))) == [1]
    assert delivered(reading.received(1, *message(3, 1))) == [3]
    assert asked(reading.received(1, *end_of_page(3, pending=1)))["seq"] == 4
    assert delivered(reading.received(2, *message(9, 0))) == [9]
    assert reading.received(2, *end_of_page(9, pending=0)) == [End()]
    assert started().received(1, *status("404 Message Not Found")) == [End()], "an empty range is no error"
    # A range ends with its last sequence or number of messages without waiting for the end of the page.
    reading = DirectRead("S", Range(up_to_sequence=4))
    assert asked(reading.start())["batch"] == 4
    reading.received(1, *message(1, 0))
    for last, sequence, after in ((reading, 4, 1), (started(Range(max_messages=1)), 1, 0)):
        actions = last.received(1, *message(sequence, after))
        assert (delivered(actions), actions[-1]) == ([sequence], End())
    reading = started(Range(subject="a.>", up_to_sequence=4))
    assert reading.received(1, *message(5, 0)) == [End()], "the last sequence is gone"


def test_messages_that_were_lost_alone_or_with_their_link_are_requested_again() -> None:
    reading = started()
    reading.received(1, *message(1, 0))
    assert asked(reading.received(1, *message(3, 2)))["seq"] == 2, "2 is missing"
    assert reading.received(1, *message(4, 3)) == [], "of the page that was given up"
    reading = started()
    reading.received(1, *message(1, 0))
    assert asked(reading.received(1, *end_of_page(2, pending=0)))["seq"] == 2
    reading = started()
    reading.received(1, *message(1, 0))
    assert asked(reading.relinked())["seq"] == 2
    assert reading.received(1, *message(2, 1)) == []


def test_pages_without_progress_and_messages_that_go_backwards_are_errors() -> None:
    reading = DirectRead("S", Range())
    actions = reading.start()
    for page in range(1, MAX_FRUITLESS_PAGES + 1):
        actions = reading.received(page, *message(3, 2))
    assert isinstance(end_error(actions), ProtocolError)
    reading = started()
    reading.received(1, *message(5, 0))
    assert isinstance(end_error(reading.received(1, *message(4, 5))), ProtocolError)


def test_the_last_messages_of_subjects_arrive_in_pages_of_one_moment_which_may_be_earlier() -> None:
    reading = DirectRead("S", Lasts(subjects=["a.*", "b"]))
    assert asked(reading.start())["multi_last"] == ["a.*", "b"]
    reading.received(1, *message(3, 0))
    body = asked(reading.received(1, *end_of_page(3, pending=2, up_to=9)))
    assert (body["seq"], body["up_to_seq"]) == (4, 9)
    by_time = DirectRead("S", Lasts(subjects=["a"], up_to_time=NEW_YEAR))
    assert asked(by_time.start())["up_to_time"] == "2026-01-01T00:00:00Z"
    assert asked(DirectRead("S", Lasts(subjects=["a"], up_to_sequence=4)).start())["up_to_seq"] == 4


def test_plans_that_contradict_themselves_are_refused(subtests: pytest.Subtests) -> None:
    cases: list[tuple[Any, dict[str, object]]] = [
        (Range, {"start_sequence": 0}),
        (Range, {"start_sequence": 2, "start_time": NEW_YEAR}),
        (Range, {"max_messages": -1}),
        (Range, {"up_to_sequence": -1}),
        (Lasts, {"subjects": []}),
        (Lasts, {"subjects": "a"}),
        (Lasts, {"subjects": ["a"], "up_to_sequence": 1, "up_to_time": NEW_YEAR}),
    ]
    for plan, options in cases:
        with subtests.test(str(options)), pytest.raises(UsageError):
            plan(**options)


@pytest.mark.requirement("X-08")
def test_error_statuses_end_it_with_errors_of_their_own() -> None:
    assert isinstance(end_error(started().received(1, *status("408 Bad Request"))), DirectGetError)
    too_many = end_error(started().received(1, *status("413 Too Many Results")))
    assert isinstance(too_many, DirectGetError)
    assert (too_many.status, "1024" in too_many.advice) == (413, True)
    assert isinstance(end_error(started().received(1, *status("503"))), NoRespondersError)
    level = end_error(started().received(1, *status("412 Required Api Level")))
    assert isinstance(level, ApiError)
    assert level.err_code == ErrorCode.REQUIRED_API_LEVEL


def test_a_single_message_has_the_headers_that_it_was_published_with_or_is_an_error() -> None:
    headers, payload = message(3, 0, published=b"NATS/1.0\r\nColor: red\r\nNats-Stream: FORGED\r\n")
    stored = read_one("S", Selection(sequence=3), headers, payload)
    assert (stored.stream, stored.subject, stored.sequence, stored.data) == ("S", "a.3", 3, b"data")
    assert dict(stored.headers) == {"Color": "red", "Nats-Stream": "FORGED"}
    assert stored.timestamp_ns % 1000 == 1
    assert read_one("S", Selection(sequence=3), *message(3, 0)).headers.raw == b""
    with pytest.raises(MissingError, match="Message 3 of stream S could not be found"):
        read_one("S", Selection(sequence=3), *status("404 Message Not Found"))
    for block in (b"", b"NATS/1.0\r\n\r\n", b"NATS/1.0\r\nNats-Stream: S\r\nNats-Sequence: x\r\n\r\n"):
        with pytest.raises(ProtocolError):
            read_one("S", Selection(sequence=3), Headers(block), b"")
