"""Buckets as streams, and entries as messages: the same as other NATS clients have."""

from datetime import UTC, datetime

import pytest

from penstock_jetstream.core.headers import Headers, encode
from penstock_jetstream.core.keyvalue import (
    DELETE_HEADERS,
    PURGE_HEADERS,
    BucketOptions,
    WatchOptions,
    bucket_of,
    checked_filter,
    checked_key,
    entry_of,
    operation_of,
    ordered_options,
    stream_config,
    stream_of,
)
from penstock_jetstream.core.stored_message import StoredMessage
from penstock_jetstream.errors import UsageError


def test_a_bucket_is_a_stream_that_keeps_the_last_of_each_subject() -> None:
    config = stream_config("ledger", {})
    assert (config["name"], config["subjects"]) == ("KV_ledger", ["$KV.ledger.>"])
    assert (config["max_msgs_per_subject"], config["discard"], config["allow_rollup_hdrs"]) == (1, "new", True)
    assert (config["deny_delete"], config["allow_direct"], config["allow_msg_ttl"]) == (True, True, True)
    assert config["duplicate_window"] == 120 * 10**9


def test_the_window_for_duplicates_is_never_longer_than_values_live() -> None:
    assert stream_config("b", {"ttl_seconds": 5})["duplicate_window"] == 5 * 10**9
    assert stream_config("b", {"ttl_seconds": 500})["duplicate_window"] == 120 * 10**9


@pytest.mark.parametrize("options", [{"history": 0}, {"history": 65}, {"histroy": 5}])
def test_options_that_cannot_be_are_refused(options: BucketOptions) -> None:
    with pytest.raises(UsageError):
        stream_config("b", options)


@pytest.mark.requirement("X-18")
@pytest.mark.parametrize("name", ["", "a.b", "a b", "ä", ">", "x" * 253])
def test_a_bucket_name_that_cannot_be_one_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        stream_of(name)


def test_only_streams_of_buckets_are_buckets() -> None:
    assert (bucket_of("KV_ledger"), bucket_of("ORDERS")) == ("ledger", None)


@pytest.mark.parametrize("key", ["a", "a.b", "A-/_=9", "a.b/c=d"])
def test_keys_are_tokens_of_subjects(key: str) -> None:
    assert checked_key(key) == key


@pytest.mark.parametrize("key", ["", ".", "a.", ".a", "a..b", "a b", "a*", "a.>", "ä", "a\n", "a\r\nPUB x 0"])
def test_a_key_that_cannot_be_one_is_refused(key: str) -> None:
    with pytest.raises(UsageError):
        checked_key(key)


@pytest.mark.parametrize("pattern", ["a", "*", ">", "a.*", "*.b.>", "a.>"])
def test_patterns_of_keys_are_as_in_subjects(pattern: str) -> None:
    assert checked_filter(pattern) == pattern


@pytest.mark.parametrize("pattern", ["", "a*", ">.a", "a.>.b", "a..b", ".>", "a b"])
def test_a_pattern_that_cannot_be_one_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError):
        checked_filter(pattern)


@pytest.mark.parametrize(
    ("headers", "operation"),
    [
        ({}, "put"),
        (DELETE_HEADERS, "delete"),
        (PURGE_HEADERS, "purge"),
        ({"Nats-Marker-Reason": "MaxAge"}, "purge"),
        ({"Nats-Marker-Reason": "Remove"}, "delete"),
        ({"Nats-Marker-Reason": "OfTheFuture"}, "delete"),
    ],
)
def test_marks_are_told_from_values_whoever_set_them(headers: dict[str, str], operation: str) -> None:
    assert operation_of(Headers(encode(headers))) == operation


def test_an_entry_is_a_message_of_the_bucket() -> None:
    second_of_1970 = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    entry = entry_of("b", "$KV.b.", StoredMessage("KV_b", "$KV.b.a.c", 7, 10**9, Headers(), b"v"))
    assert (entry.key, entry.value, entry.revision, entry.is_value) == ("a.c", b"v", 7, True)
    assert entry.created == second_of_1970


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"deliver_policy": "last_per_subject", "config": {}}),
        ({"include_history": True}, {"deliver_policy": "all", "config": {}}),
        ({"updates_only": True, "headers_only": True}, {"deliver_policy": "new", "config": {"headers_only": True}}),
        ({"from_revision": 7}, {"deliver_policy": "by_start_sequence", "opt_start_seq": 7, "config": {}}),
    ],
)
def test_a_watch_begins_where_it_is_asked_to(options: WatchOptions, expected: dict[str, object]) -> None:
    assert ordered_options(options) == expected


@pytest.mark.parametrize(
    "options", [{"include_history": True, "updates_only": True}, {"updates_only": True, "from_revision": 7}, {"x": 1}]
)
def test_a_watch_that_contradicts_itself_is_refused(options: WatchOptions) -> None:
    with pytest.raises(UsageError):
        ordered_options(options)
