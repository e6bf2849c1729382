"""Any answer of a server is read or is a ProtocolError: never another exception."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock_jetstream.core import stream_requests
from penstock_jetstream.core.account_info import AccountInfo
from penstock_jetstream.core.bucket_status import BucketStatus
from penstock_jetstream.core.consumer_info import ConsumerInfo, Pause, Reset
from penstock_jetstream.core.direct import DirectRead, Lasts, Range, read_one
from penstock_jetstream.core.facts import Facts
from penstock_jetstream.core.headers import Headers
from penstock_jetstream.core.publishing import PubAck
from penstock_jetstream.core.requests import read_answer, read_page
from penstock_jetstream.core.selection import Selection
from penstock_jetstream.core.stored_message import StoredMessage
from penstock_jetstream.core.stream_info import StreamInfo
from penstock_jetstream.errors import ApiError, JetStreamError, ProtocolError
from tests.jetstream.pure.answers import CONSUMER, STREAM

ACCOUNT = {"memory": 1, "storage": 2, "streams": 3, "consumers": 4, "limits": {"max_streams": 9}, "api": {"level": 5}}
MESSAGE = {"subject": "a", "seq": 1, "time": "2026-01-02T03:04:05Z", "data": "eA==", "hdrs": "TkFUUy8xLjANCg0K"}

READERS: list[tuple[dict[str, Any], Callable[[Facts], object]]] = [
    (STREAM, StreamInfo.read),
    (STREAM, lambda facts: BucketStatus.of("b", StreamInfo.read(facts))),
    (CONSUMER, ConsumerInfo.read),
    ({**CONSUMER, "reset_seq": 5}, Reset.read),
    (CONSUMER, Pause.read),
    (ACCOUNT, AccountInfo.read),
    (MESSAGE, lambda facts: StoredMessage.of_json("S", facts)),
    ({"total": 5, "offset": 1, "missing": ["a"], "offline": {"b": "c"}}, lambda facts: read_page(facts, ["x"])),
]

hard = st.sampled_from([10**400, -(10**400), True, None, "", "9999-12-31T23:59:59.9-14:00", [], {}, [None], {"": 1}])
scalars = hard | st.integers() | st.floats() | st.text(max_size=9)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


@st.composite
def spoiled(draw: st.DrawFn, whole: dict[str, Any]) -> dict[str, Any]:
    """Return an answer with something in it replaced by anything, or left out."""
    copy: dict[str, Any] = json.loads(json.dumps(whole))
    place: Any = copy
    while True:
        name = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        inside = place[name]
        if not inside or not isinstance(inside, dict | list) or draw(st.booleans()):
            break
        place = inside
    if isinstance(place, dict) and draw(st.booleans()):
        del place[name]
    else:
        place[name] = draw(hard | anything)
    return copy


@pytest.mark.parametrize(("whole", "read"), READERS)
@settings(max_examples=40)
@given(data=st.data())
def test_an_answer_with_something_wrong_in_it_is_read_or_is_a_protocol_error(
    whole: dict[str, Any], read: Callable[[Facts], object], data: st.DataObject
) -> None:
    read(Facts(whole, "x"))
    with suppress(ProtocolError):
        read(Facts(data.draw(spoiled(whole)), "x"))


@given(st.binary() | anything.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_an_answer_a_refusal_or_a_protocol_error(payload: bytes) -> None:
    with suppress(ApiError, ProtocolError):
        read_answer(stream_requests.info("S"), payload)
    with suppress(ApiError, ProtocolError):
        PubAck.read(payload, "a")


names = st.sampled_from(["Nats-Stream", "Nats-Subject", "Nats-Sequence", "Nats-Time-Stamp", "Nats-Num-Pending", "X"])
values = st.integers(0).map(str) | st.text("0123456789-:TZ. a", max_size=30)
lines = st.lists(st.tuples(names, values).map(lambda pair: f"{pair[0]}: {pair[1]}\r\n"))
blocks = st.tuples(st.sampled_from(["NATS/1.0\r\n", "NATS/1.0 204 EOB\r\n", "NATS/1.0 404\r\n", ""]), lines).map(
    lambda parts: (parts[0] + "".join(parts[1]) + "\r\n").encode()
)


@given(st.lists(st.tuples(blocks | st.binary(), st.binary(max_size=5)), max_size=5))
def test_any_headers_are_read_or_are_an_error_of_ours(answers: list[tuple[bytes, bytes]]) -> None:
    for plan in (Range(), Lasts(subjects=["a"])):
        machine = DirectRead("S", plan)
        machine.start()
        for page, (block, payload) in enumerate(answers, start=1):
            with suppress(JetStreamError):
                machine.received(page, Headers(block), payload)
            with suppress(JetStreamError):
                read_one("S", Selection(sequence=1), Headers(block), payload)
