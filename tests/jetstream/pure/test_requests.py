"""Requests to JetStream's API: where they go, what they carry, and what counts as an answer."""

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
def test_requests_go_to_the_default_prefix_or_that_of_a_domain_or_a_given_one(subtests: pytest.Subtests) -> None:
    assert prefix() == "$JS.API"
    assert prefix(domain="hub") == "$JS.hub.API"
    assert prefix(api_prefix="JS.hub.API") == "JS.hub.API"
    refused = ({"domain": "a", "api_prefix": "b"}, {"domain": ""}, {"domain": "a.b"}, {"api_prefix": "a..b"})
    for given in (*refused, {"api_prefix": ">"}):
        with subtests.test(str(given)), pytest.raises(UsageError):
            prefix(**given)


@pytest.mark.requirement("C-03", "V-09", "X-16")
def test_a_consumer_request_has_its_action_and_an_ack_policy_and_only_a_pause_pauses() -> None:
    actions: dict[consumer_requests.Action, str] = {"create": "created", "update": "updated", "": "created or updated"}
    for action, past in actions.items():
        request = consumer_requests.create("ORDERS", {"durable_name": "etl"}, action)
        assert (request.body["action"], request.operation) == (action, past)
        assert request.body["config"] == {"durable_name": "etl", "ack_policy": "explicit"}
    config = {"durable_name": "etl", "ack_policy": "none", "pause_until": "2030-01-01T00:00:00Z"}
    assert consumer_requests.create("S", config, "create").body["config"] == config
    without_pause = {"durable_name": "etl", "ack_policy": "none"}
    assert consumer_requests.create("S", config, "update").body["config"] == without_pause
    pause = consumer_requests.pause("S", "C", datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert (pause.subject, pause.body) == ("CONSUMER.PAUSE.S.C", {"pause_until": "2030-01-02T03:04:05Z"})
    assert consumer_requests.resume("S", "C").payload == b""
    with pytest.raises(UsageError, match="no zone"):
        consumer_requests.pause("S", "C", datetime(2030, 1, 2))  # noqa: DTZ001 - that is the point


@pytest.mark.requirement("X-05")
def test_a_single_filter_is_part_of_the_subject_and_filters_that_a_server_dropped_are_noticed() -> None:
    """Permissions see what is part of the subject."""
    subjects: list[tuple[dict[str, Any], str]] = [
        ({"name": "etl", "filter_subject": "orders.eu"}, "CONSUMER.CREATE.ORDERS.etl.orders.eu"),
        ({"name": "etl", "filter_subjects": ["orders.eu", "orders.us"]}, "CONSUMER.CREATE.ORDERS.etl"),
        ({}, "CONSUMER.CREATE.ORDERS"),
        ({"name": "c", "filter_subject": 5}, "CONSUMER.CREATE.ORDERS.c"),  # left to the server to refuse
    ]
    for config, subject in subjects:
        assert consumer_requests.create("ORDERS", config, "").subject == subject
    for stored, agrees in (({"filter_subjects": ["b", "a"]}, True), ({"filter_subject": "a"}, False), ({}, False)):
        assert consumer_requests.has_filters(Facts(stored, "x"), {"filter_subjects": ["a", "b"]}) is agrees


@pytest.mark.requirement("X-18")
def test_no_request_is_made_with_a_wrong_or_missing_name(subtests: pytest.Subtests) -> None:
    for name in ("", "a.b", "a b", "a*", ">", "a/b", "a\\b", "a\tb", "a\nb", "n" * 256):
        with subtests.test(repr(name[:9])):
            with pytest.raises(UsageError):
                stream_requests.info(name)
            with pytest.raises(UsageError):
                consumer_requests.info("ORDERS", name)
    with pytest.raises(UsageError, match="no name"):
        stream_requests.create({"subjects": ["a"]})
    with pytest.raises(UsageError, match="the name a and the durable_name b"):
        consumer_requests.create("S", {"name": "a", "durable_name": "b"}, "")
    for config in ({"durable_name": 5}, {"name": ["a"]}):
        with pytest.raises(UsageError, match="name is"):
            consumer_requests.create("ORDERS", config, "create")


def test_what_cannot_be_json_is_refused() -> None:
    for value in (float("nan"), b"bytes", {1, 2}, datetime(2026, 1, 1, tzinfo=UTC)):
        with pytest.raises(UsageError, match=r"said of stream ORDERS cannot be written as JSON"):
            _ = stream_requests.create({**ORDERS, "max_age": value}).payload


def test_a_purge_sends_only_what_is_set_and_keeps_no_number_up_to_a_sequence() -> None:
    assert stream_requests.info("ORDERS").payload == b""
    assert stream_requests.purge("ORDERS", subject="orders.eu", keep=3).body == {"filter": "orders.eu", "keep": 3}
    with pytest.raises(UsageError, match="keep 3"):
        stream_requests.purge("ORDERS", up_to_sequence=2, keep=3)


def test_only_requests_that_change_nothing_may_be_repeated() -> None:
    assert all(request.repeatable for request in (stream_requests.info("S"), consumer_requests.names("S")))
    changes = (stream_requests.purge("S"), consumer_requests.create("S", {"name": "c"}, "create"))
    assert not any(request.repeatable for request in changes)


def test_a_message_is_named_in_exactly_one_way(subtests: pytest.Subtests) -> None:
    by_subjects = {"last_by_subject": "a", "next_by_subject": "b"}
    cases: list[dict[str, Any]] = [{}, {"sequence": -1}, {"sequence": 1, "last_by_subject": "a"}, by_subjects]
    for asked in cases:
        with subtests.test(str(asked)), pytest.raises(UsageError):
            Selection(**asked)


def answer(request: Request, **fields: object) -> bytes:
    return json.dumps({"type": f"io.nats.jetstream.api.v1.{request.answer}", **fields}).encode()


def test_an_answer_is_read_with_its_unknown_fields_and_a_deletion_must_be_refused_or_confirmed() -> None:
    facts = read_answer(ACCOUNT_INFO, answer(ACCOUNT_INFO, streams=3, of_the_future={"x": 1}))
    assert facts.number("streams") == 3
    assert facts.raw["of_the_future"] == {"x": 1}
    delete = stream_requests.delete("ORDERS")
    read_success(delete, answer(delete, success=True))
    with pytest.raises(ProtocolError, match="neither refused nor confirmed"):
        read_success(delete, answer(delete))


def test_a_refusal_names_the_operation_and_the_object_even_if_it_is_malformed(subtests: pytest.Subtests) -> None:
    purge = stream_requests.purge("ORDERS")
    refusal = {"code": 404, "err_code": 10059, "description": "stream not found"}
    with pytest.raises(MissingError, match=r"Stream ORDERS could not be purged.*10059"):
        read_answer(purge, json.dumps({"type": "?", "error": refusal}).encode())
    malformed: list[object] = ["text", 5, [], {"err_code": "x"}, {}]
    for error in malformed:
        with subtests.test(str(error)), pytest.raises(ApiError, match="could not be purged"):
            read_answer(purge, json.dumps({"error": error}).encode())


@pytest.mark.interpreter
def test_what_is_no_answer_is_a_protocol_error_that_names_the_operation(subtests: pytest.Subtests) -> None:
    broken = (b"", b"{", b"\xff", b"null", b"[]", b"5", b"{}", b'{"type": 5}', b'{"type": "x"}', b"[" * 100_000)
    for payload in broken:
        with subtests.test(repr(payload[:9])), pytest.raises(ProtocolError, match=r"[Tt]he account"):
            read_answer(ACCOUNT_INFO, payload)


def test_a_list_ends_with_its_total_or_an_empty_page_and_names_what_is_unavailable() -> None:
    facts = Facts({"total": 5, "offset": 2}, "list")
    assert [read_page(facts, page).next_offset for page in (["c", "d"], ["c", "d", "e"], [])] == [4, None, None]
    page = read_page(Facts({"missing": ["A"], "offline": {"B": "unsupported"}}, "list"), list[str]())
    assert page.unavailable == {"A": "its leader did not answer", "B": "unsupported"}


WRONG_FACTS: list[tuple[dict[str, Any], Callable[[Facts], object], str]] = [
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
]


def test_a_fact_that_is_missing_or_malformed_is_named_and_an_unset_time_is_none(subtests: pytest.Subtests) -> None:
    for raw, read, sentence in WRONG_FACTS:
        with subtests.test(f"{raw} {sentence}"), pytest.raises(ProtocolError, match=sentence):
            read(Facts(raw, "x"))
    facts = parse(b'{"zero": "0001-01-01T00:00:00Z", "some": "2026-01-02T03:04:05.123456789+01:00"}', "x")
    times = [facts.time(name) for name in ("zero", "missing", "some")]
    assert times == [None, None, datetime(2026, 1, 2, 2, 4, 5, 123456, tzinfo=UTC)]
