"""Requests to JetStream's API: where they go, what they carry, and what is an answer to them."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from penstock_jetstream.core import consumer_requests, stream_requests
from penstock_jetstream.core.facts import Facts, parse
from penstock_jetstream.core.requests import ACCOUNT_INFO, Request, prefix, read_answer, read_page, read_success
from penstock_jetstream.core.selection import Selection
from penstock_jetstream.errors import ApiError, MissingError, ProtocolError, UsageError

ORDERS = {"name": "ORDERS", "subjects": ["orders.>"]}


@pytest.mark.requirement("P-01")
@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, "$JS.API"), ({"domain": "hub"}, "$JS.hub.API"), ({"api_prefix": "JS.hub.API"}, "JS.hub.API")],
)
def test_requests_go_to_the_default_prefix_or_a_domains_or_a_given_one(given: dict[str, str], expected: str) -> None:
    assert prefix(**given) == expected


@pytest.mark.requirement("P-01")
@pytest.mark.parametrize(
    "given",
    [
        {"domain": "a", "api_prefix": "b"},
        {"domain": ""},
        {"domain": "a.b"},
        {"api_prefix": "a..b"},
        {"api_prefix": ">"},
    ],
)
def test_a_prefix_that_cannot_be_one_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        prefix(**given)


@pytest.mark.requirement("C-03")
@pytest.mark.parametrize(("action", "past"), [("create", "created"), ("update", "updated"), ("", "created or updated")])
def test_create_update_and_both_are_told_apart_by_the_action(action: consumer_requests.Action, past: str) -> None:
    request = consumer_requests.create("ORDERS", {"durable_name": "etl"}, action)
    assert (request.body["action"], request.operation) == (action, past)


@pytest.mark.requirement("V-09")
def test_an_ack_policy_is_always_sent_and_is_explicit_unless_another_is_given() -> None:
    given = consumer_requests.create("ORDERS", {"durable_name": "etl", "ack_policy": "none"}, "update")
    assert given.body["config"] == {"durable_name": "etl", "ack_policy": "none"}
    left_out = consumer_requests.create("ORDERS", {"durable_name": "etl"}, "update")
    assert left_out.body["config"] == {"durable_name": "etl", "ack_policy": "explicit"}


@pytest.mark.requirement("X-16")
def test_an_update_does_not_carry_a_pause_as_the_server_would_ignore_it() -> None:
    config = {"durable_name": "etl", "ack_policy": "none", "pause_until": "2030-01-01T00:00:00Z"}
    assert "pause_until" in consumer_requests.create("S", config, "create").body["config"]
    assert "pause_until" not in consumer_requests.create("S", config, "update").body["config"]


@pytest.mark.requirement("X-16")
def test_a_pause_names_its_end_in_utc_and_a_resume_has_no_body() -> None:
    request = consumer_requests.pause("S", "C", datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert (request.subject, request.body) == ("CONSUMER.PAUSE.S.C", {"pause_until": "2030-01-02T03:04:05Z"})
    assert consumer_requests.resume("S", "C").payload == b""
    with pytest.raises(UsageError, match="no zone"):
        consumer_requests.pause("S", "C", datetime(2030, 1, 2))  # noqa: DTZ001 - that is the point


@pytest.mark.requirement("X-05")
def test_a_single_filter_stands_in_the_subject_where_permissions_see_it_and_several_do_not() -> None:
    single = {"name": "etl", "filter_subject": "orders.eu"}
    several = {"name": "etl", "filter_subjects": ["orders.eu", "orders.us"]}
    assert consumer_requests.create("ORDERS", single, "").subject == "CONSUMER.CREATE.ORDERS.etl.orders.eu"
    assert consumer_requests.create("ORDERS", several, "").subject == "CONSUMER.CREATE.ORDERS.etl"
    assert consumer_requests.create("ORDERS", {}, "").subject == "CONSUMER.CREATE.ORDERS"


@pytest.mark.requirement("X-05")
@pytest.mark.parametrize(
    ("stored", "agrees"),
    [
        ({"filter_subjects": ["b", "a"]}, True),
        ({"filter_subject": "a"}, False),
        ({}, False),
    ],
)
def test_filters_that_a_server_dropped_are_noticed(stored: dict[str, Any], agrees: bool) -> None:  # noqa: FBT001
    assert consumer_requests.has_filters(Facts(stored, "x"), {"filter_subjects": ["a", "b"]}) is agrees


def test_a_consumer_with_two_names_is_refused() -> None:
    with pytest.raises(UsageError, match="the name a and the durable_name b"):
        consumer_requests.create("S", {"name": "a", "durable_name": "b"}, "")


@pytest.mark.requirement("X-18")
@pytest.mark.parametrize("name", ["", "a.b", "a b", "a*", ">", "a/b", "a\\b", "a\tb", "a\nb", "n" * 256])
def test_no_request_is_made_with_a_name_that_cannot_be_one(name: str) -> None:
    with pytest.raises(UsageError):
        stream_requests.info(name)
    with pytest.raises(UsageError):
        consumer_requests.info("ORDERS", name)


@pytest.mark.parametrize("value", [float("nan"), b"bytes", {1, 2}, datetime(2026, 1, 1, tzinfo=UTC)])
def test_what_cannot_be_json_is_refused(value: object) -> None:
    with pytest.raises(UsageError, match=r"said of stream ORDERS cannot be written as JSON"):
        _ = stream_requests.create({**ORDERS, "max_age": value}).payload


@pytest.mark.parametrize("config", [{"durable_name": 5}, {"name": ["a"]}])
def test_a_name_that_is_no_string_is_refused(config: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="name is"):
        consumer_requests.create("ORDERS", config, "create")


def test_a_filter_that_is_no_string_is_left_to_the_server_to_refuse() -> None:
    assert consumer_requests.create("S", {"name": "c", "filter_subject": 5}, "").subject == "CONSUMER.CREATE.S.c"


def test_a_stream_config_without_a_name_is_refused() -> None:
    with pytest.raises(UsageError, match="no name"):
        stream_requests.create({"subjects": ["a"]})


def test_what_is_empty_is_not_sent() -> None:
    assert stream_requests.info("ORDERS").payload == b""
    assert stream_requests.purge("ORDERS", subject="orders.eu", keep=3).body == {"filter": "orders.eu", "keep": 3}


def test_a_purge_up_to_a_sequence_keeps_no_number_of_messages() -> None:
    with pytest.raises(UsageError, match="keep 3"):
        stream_requests.purge("ORDERS", up_to_sequence=2, keep=3)


@pytest.mark.parametrize(
    "asked",
    [{}, {"sequence": -1}, {"sequence": 1, "last_by_subject": "a"}, {"last_by_subject": "a", "next_by_subject": "b"}],
)
def test_a_message_is_named_in_exactly_one_way(asked: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Selection(**asked)


def test_only_requests_that_change_nothing_may_be_repeated_blindly() -> None:
    assert stream_requests.info("S").repeatable
    assert consumer_requests.names("S").repeatable
    assert not stream_requests.purge("S").repeatable
    assert not consumer_requests.create("S", {"name": "c"}, "create").repeatable


def answer(request: Request, **fields: object) -> bytes:
    return json.dumps({"type": f"io.nats.jetstream.api.v1.{request.answer}", **fields}).encode()


def test_an_answer_is_read_and_what_it_has_beyond_is_kept() -> None:
    facts = read_answer(ACCOUNT_INFO, answer(ACCOUNT_INFO, streams=3, of_the_future={"x": 1}))
    assert facts.number("streams") == 3
    assert facts.raw["of_the_future"] == {"x": 1}


def test_a_refusal_says_what_was_to_be_done_to_what() -> None:
    refusal = {"code": 404, "err_code": 10059, "description": "stream not found"}
    with pytest.raises(MissingError, match=r"Stream ORDERS could not be purged.*10059"):
        read_answer(stream_requests.purge("ORDERS"), json.dumps({"type": "?", "error": refusal}).encode())


@pytest.mark.parametrize("malformed", ["text", 5, [], {"err_code": "x"}, {}])
def test_a_malformed_refusal_is_still_a_refusal(malformed: object) -> None:
    with pytest.raises(ApiError, match="could not be purged"):
        read_answer(stream_requests.purge("ORDERS"), json.dumps({"error": malformed}).encode())


@pytest.mark.parametrize(
    "payload",
    [b"", b"{", b"\xff", b"null", b"[]", b"5", b"{}", b'{"type": 5}', b'{"type": "x"}', b"[" * 100_000],
)
def test_what_is_no_answer_is_a_protocol_error_that_names_the_operation(payload: bytes) -> None:
    with pytest.raises(ProtocolError, match=r"[Tt]he account"):
        read_answer(ACCOUNT_INFO, payload)


def test_a_deletion_that_is_neither_refused_nor_confirmed_is_not_taken_for_done() -> None:
    request = stream_requests.delete("ORDERS")
    read_success(request, answer(request, success=True))
    with pytest.raises(ProtocolError, match="neither refused nor confirmed"):
        read_success(request, answer(request))


def test_a_list_ends_with_its_total_or_with_an_empty_page() -> None:
    facts = Facts({"total": 5, "offset": 2}, "list")
    assert read_page(facts, ["c", "d"]).next_offset == 4
    assert read_page(facts, ["c", "d", "e"]).next_offset is None
    assert read_page(facts, []).next_offset is None


def test_a_page_names_what_is_not_on_it() -> None:
    page = read_page(Facts({"missing": ["A"], "offline": {"B": "unsupported"}}, "list"), list[str]())
    assert page.unavailable == {"A": "its leader did not answer", "B": "unsupported"}


@pytest.mark.parametrize(
    ("raw", "reading", "sentence"),
    [
        ({}, lambda facts: facts.text("a"), "left out a of x"),
        ({"a": None}, lambda facts: facts.number("a"), "left out a of x"),
        ({"a": True}, lambda facts: facts.number("a"), "said true for a of x: not a number"),
        ({"a": 10**30}, lambda facts: facts.number("a"), "for a of x: not a number"),
        ({"a": "1"}, lambda facts: facts.number("a"), 'said "1" for a of x: not a number'),
        ({"a": 1}, lambda facts: facts.flag("a"), "not true or false"),
        ({"a": [1]}, lambda facts: facts.texts("a"), "not a list of strings"),
        ({"a": ["x"]}, lambda facts: facts.numbers("a"), "not a list of numbers"),
        ({"a": [1]}, lambda facts: list(facts.objects("a")), "not a list of objects"),
        ({"a": {}}, lambda facts: facts.object("a").text("b"), "left out b of a of x"),
        ({"a": "yesterday"}, lambda facts: facts.time("a"), "which is not a time"),
    ],
)
def test_a_fact_that_is_missing_or_malformed_is_named(
    raw: dict[str, Any], reading: Callable[[Facts], object], sentence: str
) -> None:
    with pytest.raises(ProtocolError, match=sentence):
        reading(Facts(raw, "x"))


def test_times_that_nobody_set_are_none() -> None:
    facts = parse(b'{"zero": "0001-01-01T00:00:00Z", "some": "2026-01-02T03:04:05.123456789+01:00"}', "x")
    assert facts.time("zero") is None
    assert facts.time("missing") is None
    assert facts.time("some") == datetime(2026, 1, 2, 2, 4, 5, 123456, tzinfo=UTC)
