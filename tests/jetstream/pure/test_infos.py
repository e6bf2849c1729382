"""Infos of streams, consumers and accounts are read without losing a field."""

from datetime import UTC, datetime

import pytest

from penstock_jetstream.core.account_info import AccountInfo
from penstock_jetstream.core.consumer_info import ConsumerInfo
from penstock_jetstream.core.facts import Facts
from penstock_jetstream.core.stream_info import StreamInfo
from penstock_jetstream.errors import ProtocolError
from tests.jetstream.pure.answers import CONSUMER, STREAM


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
    raw = {"memory": 1, "storage": 2, "streams": 3, "consumers": 4, "limits": {"max_streams": 9}, "api": {"level": 5}}
    info = AccountInfo.read(Facts(raw, "account"))
    assert (info.api_level, info.max_streams, info.max_consumers) == (5, 9, -1)
    old = AccountInfo.read(Facts({**raw, "api": {}}, "account"))
    assert old.api_level == 0


def test_an_info_without_its_config_or_state_is_a_protocol_error() -> None:
    for missing in ("config", "state"):
        incomplete = {name: value for name, value in STREAM.items() if name != missing}
        with pytest.raises(ProtocolError, match=f"left out {missing} of stream ORDERS"):
            StreamInfo.read(Facts(incomplete, "stream ORDERS"))
