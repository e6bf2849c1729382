"""Buckets as streams and entries as messages, as other NATS clients define them."""

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


def test_a_bucket_is_a_stream_that_keeps_the_last_of_each_subject_and_an_entry_is_a_message() -> None:
    config = stream_config("ledger", {})
    assert (config["name"], config["subjects"]) == ("KV_ledger", ["$KV.ledger.>"])
    assert (config["max_msgs_per_subject"], config["discard"], config["allow_rollup_hdrs"]) == (1, "new", True)
    assert (config["deny_delete"], config["allow_direct"], config["allow_msg_ttl"]) == (True, True, True)
    assert (bucket_of("KV_ledger"), bucket_of("ORDERS")) == ("ledger", None)
    lifetimes: list[tuple[BucketOptions, int]] = [({}, 120), ({"ttl_seconds": 5}, 5), ({"ttl_seconds": 500}, 120)]
    for options, seconds in lifetimes:
        window = stream_config("b", options)["duplicate_window"]
        assert window == seconds * 10**9, "duplicates are not known for longer than values live"
    entry = entry_of("b", "$KV.b.", StoredMessage("KV_b", "$KV.b.a.c", 7, 10**9, Headers(), b"v"))
    assert (entry.key, entry.value, entry.revision, entry.is_value) == ("a.c", b"v", 7, True)
    assert entry.created == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)


@pytest.mark.requirement("X-18")
def test_wrong_options_and_names_of_a_bucket_are_refused(subtests: pytest.Subtests) -> None:
    wrong: list[BucketOptions] = [{"history": 0}, {"history": 65}, {"histroy": 5}]  # type: ignore[typeddict-unknown-key]
    for options in wrong:
        with subtests.test(str(options)), pytest.raises(UsageError):
            stream_config("b", options)
    for name in ("", "a.b", "a b", "ä", ">", "x" * 253):
        with subtests.test(name=name[:9]), pytest.raises(UsageError):
            stream_of(name)


def test_keys_are_tokens_of_subjects_and_filters_may_have_wildcards(subtests: pytest.Subtests) -> None:
    cases = {
        checked_key: (
            ("a", "a.b", "A-/_=9", "a.b/c=d"),
            ("", ".", "a.", ".a", "a..b", "a b", "a*", "a.>", "ä", "a\n", "a\r\nPUB x 0"),
        ),
        checked_filter: (("a", "*", ">", "a.*", "*.b.>", "a.>"), ("", "a*", ">.a", "a.>.b", "a..b", ".>", "a b")),
    }
    for check, (accepted, refused) in cases.items():
        for text in accepted:
            assert check(text) == text
        for text in refused:
            with subtests.test(repr(text)), pytest.raises(UsageError):
                check(text)


def test_headers_tell_deletions_and_purges_from_values(subtests: pytest.Subtests) -> None:
    cases: list[tuple[dict[str, str], str]] = [
        ({}, "put"),
        (DELETE_HEADERS, "delete"),
        (PURGE_HEADERS, "purge"),
        ({"Nats-Marker-Reason": "MaxAge"}, "purge"),
        ({"Nats-Marker-Reason": "Remove"}, "delete"),
        ({"Nats-Marker-Reason": "OfTheFuture"}, "delete"),
    ]
    for headers, operation in cases:
        with subtests.test(str(headers)):
            assert operation_of(Headers(encode(headers))) == operation


def test_a_watch_starts_where_its_options_say_unless_they_contradict_each_other(subtests: pytest.Subtests) -> None:
    cases: list[tuple[WatchOptions, dict[str, object]]] = [
        ({}, {"deliver_policy": "last_per_subject", "config": {}}),
        ({"include_history": True}, {"deliver_policy": "all", "config": {}}),
        ({"updates_only": True, "headers_only": True}, {"deliver_policy": "new", "config": {"headers_only": True}}),
        ({"from_revision": 7}, {"deliver_policy": "by_start_sequence", "opt_start_seq": 7, "config": {}}),
    ]
    for options, expected in cases:
        with subtests.test(str(options)):
            assert ordered_options(options) == expected
    wrong: list[WatchOptions] = [
        {"include_history": True, "updates_only": True},
        {"updates_only": True, "from_revision": 7},
        {"x": 1},  # type: ignore[typeddict-unknown-key]
    ]
    for options in wrong:
        with subtests.test(refused=str(options)), pytest.raises(UsageError):
            ordered_options(options)
