"""What INFO says, what CONNECT answers, and what refusals mean."""

from typing import Any

import pytest

from penstock_jetstream.core.session import (
    ServerInfo,
    connect_options,
    denied_publish,
    is_permission,
    refusal_error,
)
from penstock_jetstream.errors import AuthenticationError, LinkError, ProtocolError

FACTS = {
    "server_id": "NA",
    "server_name": "n1",
    "version": "2.15.1",
    "max_payload": 1048576,
    "headers": True,
    "jetstream": True,
    "domain": "hub",
    "cluster": "c1",
    "client_id": 7,
    "client_ip": "10.0.0.1",
    "nonce": "abc",
    "connect_urls": ["10.0.0.2:4222"],
    "something": "new",
}


def test_what_a_server_says_is_known_by_our_names_and_all_of_it_is_kept() -> None:
    info = ServerInfo.from_facts(FACTS)
    assert (info.id, info.name, info.version, info.max_payload_bytes) == ("NA", "n1", "2.15.1", 1048576)
    assert (info.headers, info.jetstream, info.domain, info.cluster) == (True, True, "hub", "c1")
    assert (info.client_id, info.client_ip, info.connect_urls) == (7, "10.0.0.1", ("10.0.0.2:4222",))
    assert info.facts["something"] == "new"
    assert not info.tls_required


def test_what_a_server_leaves_out_or_nulls_has_a_value_all_the_same() -> None:
    assert ServerInfo.from_facts({"domain": None, "connect_urls": None}) == ServerInfo()


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_payload": "1"},
        {"max_payload": True},
        {"max_payload": 1.5},
        {"headers": 1},
        {"server_id": []},
        {"connect_urls": "a:4222"},
        {"connect_urls": [1]},
        {"connect_urls": ["http://a"]},
    ],
)
def test_a_fact_of_the_wrong_kind_is_a_protocol_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError, match="The server's INFO"):
        ServerInfo.from_facts(wrong)


def test_connect_says_who_we_are_and_asks_for_headers_and_no_responders() -> None:
    options = connect_options("me", "1.0", {"user": "u", "pass": "p"}, encrypted=True)
    assert options["name"] == "me"
    assert options["headers"]
    assert options["no_responders"]
    assert options["tls_required"]
    assert (options["user"], options["pass"]) == ("u", "p")
    assert not options["verbose"]


@pytest.mark.parametrize(
    "text",
    [
        "Authorization Violation",
        "Authentication Timeout",
        "User Authentication Expired",
        "User Authentication Revoked",
        "Account Authentication Expired",
    ],
)
def test_a_refusal_of_who_we_are_is_an_authentication_error(text: str) -> None:
    problem = refusal_error("nats://a:4222", text)
    assert isinstance(problem, AuthenticationError)
    assert problem.sentence == f"nats://a:4222 refused the connection: {text}."


@pytest.mark.parametrize("text", ["maximum connections exceeded", "maximum account active connections exceeded"])
def test_a_full_server_says_what_to_raise(text: str) -> None:
    problem = refusal_error("nats://a:4222", text)
    assert not isinstance(problem, AuthenticationError)
    assert "max_connections" in problem.advice


@pytest.mark.parametrize("text", ["Stale Connection", "Parser Error", "something new"])
def test_any_other_refusal_is_a_link_error(text: str) -> None:
    assert type(refusal_error("nats://a:4222", text)) is LinkError


def test_a_permission_concerns_one_subject() -> None:
    assert is_permission('Permissions Violation for Publish to "a.b"')
    assert is_permission('Permissions Violation for Subscription to "a.b" using queue "q"')
    assert not is_permission("Authorization Violation")
    assert denied_publish('Permissions Violation for Publish to "a.b"') == "a.b"
    assert denied_publish('Permissions Violation for Subscription to "a.b"') is None
    assert denied_publish("Authorization Violation") is None
