"""Direct gets: pages follow each other, and nothing is lost unseen (X-03)."""

import json
from collections.abc import Callable
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


def test_a_range_is_asked_for_from_its_start_and_by_subject() -> None:
    body = asked(DirectRead("S", Range(subject="a.>", start_sequence=5, max_messages=10)).start())
    assert body == {"batch": 10, "max_bytes": 4 << 20, "next_by_subj": "a.>", "seq": 5}


def test_a_range_from_a_time_is_asked_for_by_time_only_once() -> None:
    reading = DirectRead("S", Range(start_time=datetime(2026, 1, 1, tzinfo=UTC)))
    assert asked(reading.start())["start_time"] == "2026-01-01T00:00:00Z"
    reading.received(1, *message(7, 0))
    second = asked(reading.received(1, *end_of_page(7, pending=3)))
    assert second["seq"] == 8
    assert "start_time" not in second


def test_pages_follow_each_other_until_nothing_is_pending() -> None:
    reading = DirectRead("S", Range())
    reading.start()
    assert delivered(reading.received(1, *message(1, 0))) == [1]
    assert delivered(reading.received(1, *message(3, 1))) == [3]
    assert asked(reading.received(1, *end_of_page(3, pending=1)))["seq"] == 4
    assert delivered(reading.received(2, *message(9, 0))) == [9]
    assert reading.received(2, *end_of_page(9, pending=0)) == [End()]


def test_an_empty_range_ends_without_an_error() -> None:
    reading = DirectRead("S", Range())
    reading.start()
    assert reading.received(1, *status("404 Message Not Found")) == [End()]


def test_a_range_ends_with_its_last_sequence_without_waiting_for_the_page_to_end() -> None:
    reading = DirectRead("S", Range(up_to_sequence=4))
    assert asked(reading.start())["batch"] == 4
    reading.received(1, *message(1, 0))
    last = reading.received(1, *message(4, 1))
    assert delivered(last) == [4]
    assert last[-1] == End()


def test_a_range_whose_last_sequence_is_gone_ends_with_the_first_one_behind_it() -> None:
    reading = DirectRead("S", Range(subject="a.>", up_to_sequence=4))
    reading.start()
    assert reading.received(1, *message(5, 0)) == [End()]


def test_a_range_ends_with_as_many_messages_as_were_asked_for() -> None:
    reading = DirectRead("S", Range(max_messages=1))
    reading.start()
    actions = reading.received(1, *message(1, 0))
    assert (delivered(actions), actions[-1]) == ([1], End())


def test_a_message_that_was_lost_on_the_way_is_asked_for_again() -> None:
    reading = DirectRead("S", Range())
    reading.start()
    reading.received(1, *message(1, 0))
    again = reading.received(1, *message(3, 2))  # 2 is missing
    assert asked(again)["seq"] == 2
    assert reading.received(1, *message(4, 3)) == []  # of the page that was given up


def test_a_page_whose_end_was_lost_with_messages_is_asked_for_again() -> None:
    reading = DirectRead("S", Range())
    reading.start()
    reading.received(1, *message(1, 0))
    assert asked(reading.received(1, *end_of_page(2, pending=0)))["seq"] == 2


def test_after_the_link_was_lost_the_rest_is_asked_for_anew() -> None:
    reading = DirectRead("S", Range())
    reading.start()
    reading.received(1, *message(1, 0))
    assert asked(reading.relinked())["seq"] == 2
    assert reading.received(1, *message(2, 1)) == []


def test_a_server_that_talks_nonsense_is_not_asked_for_ever() -> None:
    reading = DirectRead("S", Range())
    actions = reading.start()
    for page in range(1, MAX_FRUITLESS_PAGES + 1):
        actions = reading.received(page, *message(3, 2))
    (end,) = actions
    assert isinstance(end, End)
    assert isinstance(end.error, ProtocolError)


def test_messages_that_go_backwards_are_an_error() -> None:
    reading = DirectRead("S", Range())
    reading.start()
    reading.received(1, *message(5, 0))
    (end,) = reading.received(1, *message(4, 5))
    assert isinstance(end, End)
    assert isinstance(end.error, ProtocolError)


def test_the_last_messages_of_subjects_come_in_pages_of_one_moment() -> None:
    reading = DirectRead("S", Lasts(subjects=["a.*", "b"]))
    assert asked(reading.start())["multi_last"] == ["a.*", "b"]
    reading.received(1, *message(3, 0))
    body = asked(reading.received(1, *end_of_page(3, pending=2, up_to=9)))
    assert (body["seq"], body["up_to_seq"]) == (4, 9)


def test_the_last_messages_can_be_of_an_earlier_moment() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    assert asked(DirectRead("S", Lasts(subjects=["a"], up_to_time=at)).start())["up_to_time"] == "2026-01-01T00:00:00Z"
    assert asked(DirectRead("S", Lasts(subjects=["a"], up_to_sequence=4)).start())["up_to_seq"] == 4


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Range(start_sequence=0),
        lambda: Range(start_sequence=2, start_time=datetime(2026, 1, 1, tzinfo=UTC)),
        lambda: Range(max_messages=-1),
        lambda: Range(up_to_sequence=-1),
        lambda: Lasts(subjects=[]),
        lambda: Lasts(subjects="a"),
        lambda: Lasts(subjects=["a"], up_to_sequence=1, up_to_time=datetime(2026, 1, 1, tzinfo=UTC)),
    ],
)
def test_plans_that_contradict_themselves_are_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(UsageError):
        wrong()


def ended_by(text: str) -> BaseException | None:
    reading = DirectRead("S", Range())
    reading.start()
    (end,) = reading.received(1, *status(text))
    assert isinstance(end, End)
    return end.error


def test_statuses_end_a_reading_with_errors_that_say_what_they_mean() -> None:
    assert isinstance(ended_by("408 Bad Request"), DirectGetError)
    too_many = ended_by("413 Too Many Results")
    assert isinstance(too_many, DirectGetError)
    assert (too_many.status, "1024" in too_many.advice) == (413, True)
    assert isinstance(ended_by("503"), NoRespondersError)


@pytest.mark.requirement("X-08")
def test_a_level_that_the_server_has_not_is_the_same_error_as_from_the_api() -> None:
    error = ended_by("412 Required Api Level")
    assert isinstance(error, ApiError)
    assert error.err_code == ErrorCode.REQUIRED_API_LEVEL


def test_a_single_message_comes_with_the_headers_that_it_was_published_with() -> None:
    headers, payload = message(3, 0, published=b"NATS/1.0\r\nColor: red\r\nNats-Stream: FORGED\r\n")
    stored = read_one("S", Selection(sequence=3), headers, payload)
    assert (stored.stream, stored.subject, stored.sequence, stored.data) == ("S", "a.3", 3, b"data")
    assert dict(stored.headers) == {"Color": "red", "Nats-Stream": "FORGED"}
    assert stored.timestamp_ns % 1000 == 1


def test_a_message_without_headers_of_its_own_has_none() -> None:
    assert read_one("S", Selection(sequence=3), *message(3, 0)).headers.raw == b""


def test_a_single_message_that_is_not_there_is_missing() -> None:
    with pytest.raises(MissingError, match="Message 3 of stream S could not be found"):
        read_one("S", Selection(sequence=3), *status("404 Message Not Found"))


@pytest.mark.parametrize("block", [b"", b"NATS/1.0\r\n\r\n", b"NATS/1.0\r\nNats-Stream: S\r\nNats-Sequence: x\r\n\r\n"])
def test_an_answer_without_the_headers_of_a_direct_get_is_a_protocol_error(block: bytes) -> None:
    with pytest.raises(ProtocolError):
        read_one("S", Selection(sequence=3), Headers(block), b"")
