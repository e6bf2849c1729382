"""Answers of servers: all that is in them is read, and any other is a ProtocolError, never another exception."""

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
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

CLUSTER = {
    "name": "c1",
    "leader": "n2",
    "replicas": [{"name": "n1", "current": True, "active": 1_500_000_000, "lag": 3}, {"name": "n3", "offline": True}],
}
STREAM: dict[str, Any] = {
    "config": {"name": "ORDERS", "max_age": 5, "of_the_future": 1},
    "created": "2026-01-02T03:04:05.5Z",
    "state": {
        "messages": 2,
        "bytes": 100,
        "first_seq": 4,
        "first_ts": "2026-01-02T03:04:06Z",
        "last_seq": 7,
        "last_ts": "0001-01-01T00:00:00Z",
        "num_subjects": 1,
        "subjects": {"orders.eu": 2},
        "num_deleted": 2,
        "deleted": [5, 6],
        "consumer_count": 1,
    },
    "cluster": CLUSTER,
    "mirror": {"name": "ORIGIN", "lag": 9, "active": -1, "error": {"description": "no such stream"}},
    "sources": [{"name": "OTHER", "lag": 0, "active": 2_000_000_000}],
    "ts": "2026-01-02T03:04:07Z",
}
CONSUMER: dict[str, Any] = {
    "stream_name": "ORDERS",
    "name": "etl",
    "created": "2026-01-02T03:04:05Z",
    "config": {"durable_name": "etl", "pause_until": "2026-01-02T04:00:00Z"},
    "delivered": {"consumer_seq": 5, "stream_seq": 7, "last_active": "2026-01-02T03:04:06Z"},
    "ack_floor": {"consumer_seq": 3, "stream_seq": 4},
    "num_ack_pending": 2,
    "num_redelivered": 1,
    "num_waiting": 1,
    "num_pending": 8,
    "paused": True,
    "pause_remaining": 60_000_000_000,
    "priority_groups": [
        {"group": "a", "pinned_client_id": "abc", "pinned_ts": "2026-01-02T03:04:05Z"},
        {"group": "b"},
    ],
}
ACCOUNT = {"memory": 1, "storage": 2, "streams": 3, "consumers": 4, "limits": {"max_streams": 9}, "api": {"level": 5}}
MESSAGE = {"subject": "a", "seq": 1, "time": "2026-01-02T03:04:05Z", "data": "eA==", "hdrs": "TkFUUy8xLjANCg0K"}


@pytest.mark.interpreter
def test_stream_info_is_read_with_its_replicas_and_unknown_fields_are_kept() -> None:
    info = StreamInfo.read(Facts(STREAM, "stream ORDERS"))
    assert (info.name, info.state.messages, info.state.size_bytes) == ("ORDERS", 2, 100)
    assert (info.state.first_sequence, info.state.last_sequence, info.state.deleted) == (4, 7, (5, 6))
    assert info.state.subjects == {"orders.eu": 2}
    assert info.state.last_time is None
    assert info.created == datetime(2026, 1, 2, 3, 4, 5, 500000, tzinfo=UTC)
    assert info.mirror
    assert (info.mirror.lag, info.mirror.silent_seconds, info.mirror.error) == (9, None, "no such stream")
    assert info.sources[0].silent_seconds == 2
    assert info.config["of_the_future"] == 1
    assert info.raw == STREAM
    cluster = info.cluster
    assert cluster
    assert cluster.leader == "n2"
    assert [(each.name, each.is_current, each.is_offline, each.lag) for each in cluster.replicas] == [
        ("n1", True, False, 3),
        ("n3", False, True, 0),
    ]
    assert cluster.replicas[0].active_seconds == 1.5


@pytest.mark.requirement("G-14")
def test_consumer_info_is_read_with_the_pinned_clients() -> None:
    info = ConsumerInfo.read(Facts(CONSUMER, "consumer etl"))
    assert (info.num_pending, info.num_ack_pending, info.num_redelivered, info.num_waiting) == (8, 2, 1, 1)
    assert (info.delivered.stream_sequence, info.ack_floor.stream_sequence) == (7, 4)
    assert info.pause.is_paused
    assert info.pause.remaining_seconds == 60
    assert info.pause.until == datetime(2026, 1, 2, 4, tzinfo=UTC)
    assert not info.is_push_bound
    groups = info.priority_groups
    assert [(each.name, each.pinned_id) for each in groups] == [("a", "abc"), ("b", None)]
    assert groups[0].pinned_since == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_account_info_has_its_api_level() -> None:
    info = AccountInfo.read(Facts(ACCOUNT, "account"))
    assert (info.api_level, info.max_streams, info.max_consumers) == (5, 9, -1)
    old = AccountInfo.read(Facts({**ACCOUNT, "api": {}}, "account"))
    assert old.api_level == 0


def test_an_info_without_its_config_or_state_is_a_protocol_error() -> None:
    for missing in ("config", "state"):
        incomplete = {name: value for name, value in STREAM.items() if name != missing}
        with pytest.raises(ProtocolError, match=f"left out {missing} of stream ORDERS"):
            StreamInfo.read(Facts(incomplete, "stream ORDERS"))


# Any shape

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
