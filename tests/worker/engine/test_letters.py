"""The headers of a dead letter: whatever the message was, they can be sent, understood, and replayed."""

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_jetstream.core.headers import encode
from penstock_jetstream.core.subjects import encode_target
from penstock_worker.engine.letters import LONGEST_TRACE, TRACE, Desk
from penstock_worker.engine.publishing import Draft
from penstock_worker.engine.rows import Rows
from penstock_worker.policy.machine.actions import Letter
from penstock_worker.policy.machine.pieces import Piece
from penstock_worker.policy.outcome import Fault

DESK = Desk("ORDERS", "etl", "shop/etl", "etl-0", "dead.orders", "2026-11-18T12:00:00+00:00 2026-11-18T12:00:00+00:00")
MAX_PAYLOAD_BYTES = 1 << 20
STORED_NS = 1_763_500_000_000_000_000


def letter_of(
    data: bytes = b"{}",
    header: bytes = b"",
    fault: Fault | None = None,
    reason: str = "no amount",
    *,
    most: int = 1 << 20,
    subject: bytes = b"orders.eu",
) -> Draft:
    message = Rows([subject], [b"reply"], [data], {0: header} if header else {}, [7], [3], [STORED_NS])
    letter = Letter(piece=Piece(1, 0, 1), sequence=7, reason=reason, fault=fault, attempts=2)
    return DESK.draft(letter, "ORDERS.etl.1-9.0f", message, max_payload_bytes=most)


def test_dead_letter_names_the_origin_of_its_message_and_the_reason() -> None:
    draft = letter_of(fault=Fault("KeyError", "'amount'", "C", "S", "at\nline 3", "etl.py:3"))
    assert (draft.subject, draft.message_id) == ("dead.orders.orders.eu", f"ORDERS:7:etl:{STORED_NS}:{DESK.life}")
    assert draft.data == b"{}"
    assert {name.removeprefix("Penstock-"): value for name, (value,) in draft.headers.items()} == {
        "Stream": "ORDERS",
        "Consumer": "etl",
        "Group": "shop/etl",
        "Worker": "etl-0",
        "Batch": "ORDERS.etl.1-9.0f",
        "Subject": "orders.eu",
        "Sequence": "7",
        "Timestamp": "2025-11-18T21:06:40+00:00",
        "Delivered": "3",
        "Attempts": "2",
        "Reason": "no amount",
        "Error": "KeyError",
        "Error-Message": "'amount'",
        "Condition": "C",
        "Sqlstate": "S",
        "Place": "etl.py:3",
        "Trace": r"at\nline 3",
    }


def test_headers_with_a_meaning_for_the_server_are_renamed_and_others_are_kept() -> None:
    header = "NATS/1.0\r\nNats-Msg-Id: mine\r\nNats-Rollup: all\r\nPenstock-Batch: old\r\nA: é\r\nA: 2\r\n\r\n".encode()
    headers = letter_of(header=header).headers
    assert headers["A"] == ["é", "2"]
    kept = {name: headers[f"Penstock-Original-{name}"] for name in ("Nats-Msg-Id", "Nats-Rollup", "Penstock-Batch")}
    assert kept == {"Nats-Msg-Id": ["mine"], "Nats-Rollup": ["all"], "Penstock-Batch": ["old"]}
    assert not any(name.startswith("Nats-") for name in headers)


def test_header_block_that_cannot_be_sent_again_is_kept_whole() -> None:
    for block in (b"NATS/1.0\r\nno colon\r\n\r\n", b"NATS/1.0\r\nna me: x\r\n\r\n", b"rubbish"):
        (kept,) = letter_of(header=block).headers["Penstock-Original-Headers"]
        assert base64.b64decode(kept) == block


def test_any_text_becomes_headers_that_can_be_sent() -> None:
    wild = "a\r\nb\x85c\u2028\ud800é" * 1000
    headers = letter_of(reason=wild, fault=Fault(wild, wild, wild, wild, wild, wild)).headers
    assert encode(headers)
    assert len(headers[TRACE][0]) <= LONGEST_TRACE


def test_trace_is_omitted_if_it_does_not_fit() -> None:
    fault = Fault("KeyError", "", trace="x" * LONGEST_TRACE)
    assert TRACE in letter_of(fault=fault).headers
    assert TRACE not in letter_of(b"x" * (MAX_PAYLOAD_BYTES - 4096), fault=fault).headers


def test_a_message_without_room_for_headers_is_cut_and_told_by_its_digest(subtests: pytest.Subtests) -> None:
    data, header = b"x" * MAX_PAYLOAD_BYTES, b"NATS/1.0\r\n" + b"a" * 900_000 + b"\r\n\r\n"
    large, block = hashlib.sha256(data).hexdigest(), hashlib.sha256(header).hexdigest()
    for name, draft, left in (("data", letter_of(data), b"x"), ("headers", letter_of(b"{}", header), b"{}")):
        with subtests.test(name):
            assert draft.headers["Penstock-Cut"] == ["The message was too large for a dead letter."]
            assert len(encode(draft.headers)) + len(draft.data) <= MAX_PAYLOAD_BYTES
            assert draft.data.startswith(left)
            assert (draft.headers["Penstock-Stream"], draft.headers["Penstock-Sequence"]) == (["ORDERS"], ["7"])
    assert letter_of(data).headers["Penstock-Cut-Data"] == [f"{len(data)} bytes, sha256 {large}"]
    assert letter_of(b"{}", header).headers["Penstock-Cut-Headers"] == [f"{len(header)} bytes, sha256 {block}"]


def test_a_subject_that_a_letter_cannot_have_is_told_by_its_digest() -> None:
    for subject in (b"orders." + b"a" * 3990, b"orders.\xff" * 600, b"orders.\x01", b"orders.*", b"orders..x"):
        draft = letter_of(subject=subject)
        assert draft.subject == f"dead.orders.subject-{hashlib.sha256(subject).hexdigest()[:32]}"
        assert draft.headers["Penstock-Subject"] == [subject.decode(errors="replace")]
        assert encode(draft.headers)


@given(
    st.binary(max_size=200).map(lambda raw: b"s" + raw.translate(None, b"\r\n\t \x00")),
    st.binary(max_size=300),
    st.binary(max_size=300),
    st.text(max_size=200),
    st.integers(4000, 20_000),
)
def test_any_message_becomes_a_letter_that_can_be_published(
    subject: bytes, data: bytes, header: bytes, text: str, most: int
) -> None:
    fault = Fault("E", text, text, text, text, text)
    draft = letter_of(data * 100, header, fault, text, most=most, subject=subject)
    encode_target(draft.subject)
    assert len(encode(draft.headers)) + len(draft.data) <= max(most, len(encode(draft.headers)))
