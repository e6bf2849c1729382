"""The headers of a dead letter: whatever the message was, they can be sent, understood, and replayed."""

import base64

import pytest

from penstock_jetstream.core.headers import encode
from penstock_worker.engine.letters import LONGEST_TRACE, TRACE, Desk
from penstock_worker.engine.publishing import CannotPublishError, Draft
from penstock_worker.engine.rows import Rows
from penstock_worker.policy.machine.actions import Letter
from penstock_worker.policy.machine.pieces import Piece
from penstock_worker.policy.outcome import Fault

DESK = Desk("ORDERS", "etl", "shop/etl", "etl-0", "dead.orders")
MAX_PAYLOAD_BYTES = 1 << 20
STORED_NS = 1_763_500_000_000_000_000


def letter_of(
    data: bytes = b"{}", header: bytes = b"", fault: Fault | None = None, reason: str = "no amount", most: int = 1 << 20
) -> Draft:
    message = Rows([b"orders.eu"], [b"reply"], [data], {0: header} if header else {}, [7], [3], [STORED_NS])
    letter = Letter(piece=Piece(1, 0, 1), sequence=7, reason=reason, fault=fault, attempts=2)
    return DESK.draft(letter, "ORDERS.etl.1-9.0f", message, max_payload_bytes=most)


def test_dead_letter_names_the_origin_of_its_message_and_the_reason() -> None:
    draft = letter_of(fault=Fault("KeyError", "'amount'", "C", "S", "at\nline 3", "etl.py:3"))
    assert (draft.subject, draft.message_id) == ("dead.orders.orders.eu", f"ORDERS:7:etl:{STORED_NS}")
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


def test_message_without_room_for_headers_is_kept_and_reported() -> None:
    with pytest.raises(CannotPublishError, match="Raise that a little; nothing is lost meanwhile"):
        letter_of(b"x" * MAX_PAYLOAD_BYTES)
