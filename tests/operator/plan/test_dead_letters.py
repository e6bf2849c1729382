"""A dead letter that a worker wrote, read by the operator: its facts, how it is selected and replayed."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import pytest

from penstock_jetstream.core.headers import Headers, encode
from penstock_operator.plan.dead_letters import ConditionError, DeadLetter, condition, dead_letter, replay_id
from penstock_operator.services.nats.dead_letters import cannot_replay
from penstock_worker.engine.letters import Desk
from penstock_worker.engine.rows import Rows
from penstock_worker.policy.machine.actions import Letter
from penstock_worker.policy.machine.pieces import Piece
from penstock_worker.policy.outcome import Fault

DESK = Desk("ORDERS", "etl", "shop/etl", "etl-0", "dead.orders", "2026-11-18T12:00:00+00:00 2026-11-18T12:00:00+00:00")
STORED = datetime(2026, 1, 31, 12, tzinfo=UTC)
FAULT = Fault("KeyError", "'amount'", "CAST_INVALID_INPUT", "22018", "Traceback\n  line 3", "etl.py:3")


def written(headers: Mapping[str, Sequence[str]], raw: bytes = b"", most: int = 1 << 20) -> Headers:
    """Return the headers of the dead letter that a worker writes for a message with these headers."""
    header = raw or (encode(headers) if headers else b"")
    message = Rows([b"orders.eu"], [b"reply"], [b"{}"], {0: header} if header else {}, [7], [3], [1])
    letter = Letter(piece=Piece(1, 0, 1), sequence=7, reason="no amount", fault=FAULT, attempts=2)
    draft = DESK.draft(letter, "ORDERS.etl.1-9.0f", message, max_payload_bytes=most)
    return Headers(encode(draft.headers))


def read(headers: Mapping[str, Sequence[str]] | None = None, raw: bytes = b"") -> DeadLetter:
    return dead_letter(12, STORED, written(headers or {}, raw))


def test_dead_letter_reads_as_the_worker_wrote_it() -> None:
    letter = read()
    assert (letter.reason, letter.subject, letter.stream) == ("no amount", "orders.eu", "ORDERS")
    assert letter.trace == ["Traceback", "  line 3"]
    told = ("Sequence", "Consumer", "Group", "Worker", "Batch", "Error", "Error-Message", "Place", "Attempts")
    assert [letter.fact(name) for name in told] == [
        *("7", "etl", "shop/etl", "etl-0", "ORDERS.etl.1-9.0f"),
        *("KeyError", "'amount'", "etl.py:3", "2"),
    ]
    assert not letter.has_raw_headers
    assert read(raw=b"NATS/1.0\r\nno colon\r\n\r\n").has_raw_headers
    empty = dead_letter(1, STORED, Headers(b""))
    assert (empty.reason, empty.subject, empty.trace, dict(empty.headers)) == ("", "", [], {})


def test_a_letter_whose_message_was_cut_or_has_no_subject_is_not_replayed() -> None:
    cut = dead_letter(12, STORED, written({}, b"NATS/1.0\r\nno colon\r\n\r\n", most=10))
    unreadable = read(raw=b"NATS/1.0\r\nno colon\r\n\r\n")
    letters = (cut, unreadable, dead_letter(1, STORED, Headers(b"")), read())
    reasons = [cannot_replay(letter, "orders.eu", "ORDERS") or "" for letter in letters]
    assert [reason.partition(" ")[2][:12] for reason in reasons] == ["message was ", "headers of i", "does not say", ""]


def test_a_letter_of_a_subject_that_is_too_long_for_it_is_replayed_and_one_of_another_subject_is_not() -> None:
    subject = "orders." + "x" * 10_000
    message = Rows([subject.encode()], [b"reply"], [b"{}"], {}, [7], [3], [1])
    letter = Letter(piece=Piece(1, 0, 1), sequence=7, reason="no amount", fault=FAULT, attempts=2)
    draft = DESK.draft(letter, "ORDERS.etl.1-9.0f", message, max_payload_bytes=1 << 20)
    found = dead_letter(12, STORED, Headers(encode(draft.headers)))
    own_part = draft.subject.removeprefix(f"{DESK.subject}.")
    assert len(own_part) < 100
    assert cannot_replay(found, own_part, "ORDERS") is None
    assert cannot_replay(read(), own_part, "ORDERS")


def test_replay_has_only_the_messages_own_headers_and_those_with_a_meaning_for_the_server_stay_renamed() -> None:
    """Also when it is dead-lettered again."""
    assert read({"trace-id": ["a", "b"]}).headers == {"trace-id": ["a", "b"]}
    own = {"Nats-Msg-Id": ["order-1"], "Nats-Expected-Last-Sequence": ["6"], "Nats-Rollup": ["all"]}
    first = read(own)
    assert first.headers == {f"Penstock-Original-{name}": value for name, value in own.items()}
    again = read({**first.headers, "Nats-Msg-Id": [replay_id("dead", first)]})
    assert again.headers == first.headers


def test_replay_id_is_stable_and_differs_for_each_dead_letter() -> None:
    one = read()
    assert replay_id("dead", one) == replay_id("dead", read())
    later = dead_letter(12, STORED.replace(year=2027), written({}))
    assert len({replay_id("dead", one), replay_id("dead-too", one), replay_id("dead", later)}) == 3


def test_conditions_select_dead_letters_by_their_facts_and_malformed_ones_are_refused() -> None:
    for text in (
        *("reason=no amount", "reason=*amount", "error=KeyError", "condition=CAST_*", "subject=orders.*"),
        *("worker=etl-0", "batch=ORDERS.*", "message='amount'", "place=etl.py:*"),
    ):
        assert condition(text).holds(read()), text
    assert not condition("reason=amount").holds(read())
    assert not condition("error=keyerror").holds(read()), "case matters"
    for text in ("reason", "colour=red", ""):
        with pytest.raises(ConditionError, match="FIELD=PATTERN"):
            condition(text)
