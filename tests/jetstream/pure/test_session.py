"""The INFO of a server, the CONNECT that answers it, and the errors that refusals become."""

from typing import Any

import pytest

from penstock_jetstream.core.session import ServerInfo, connect_options, denied_publish, is_permission, refusal_error
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


def test_info_is_read_and_its_unknown_fields_are_kept() -> None:
    info = ServerInfo.from_facts(FACTS)
    assert (info.id, info.name, info.version, info.max_payload_bytes) == ("NA", "n1", "2.15.1", 1048576)
    assert (info.headers, info.jetstream, info.domain, info.cluster) == (True, True, "hub", "c1")
    assert (info.client_id, info.client_ip, info.connect_urls) == (7, "10.0.0.1", ("10.0.0.2:4222",))
    assert info.facts["something"] == "new"
    assert not info.tls_required
    assert ServerInfo.from_facts({"domain": None, "connect_urls": None}) == ServerInfo()


def test_a_fact_of_the_wrong_type_is_a_protocol_error(subtests: pytest.Subtests) -> None:
    cases: list[dict[str, Any]] = [
        {"max_payload": "1"},
        {"max_payload": True},
        {"max_payload": 1.5},
        {"headers": 1},
        {"server_id": []},
        {"connect_urls": "a:4222"},
        {"connect_urls": [1]},
        {"connect_urls": ["http://a"]},
    ]
    for wrong in cases:
        with subtests.test(str(wrong)), pytest.raises(ProtocolError, match="The server's INFO"):
            ServerInfo.from_facts(wrong)


def test_connect_has_the_name_and_the_user_and_asks_for_headers_and_no_responders() -> None:
    options = connect_options("me", "1.0", {"user": "u", "pass": "p"}, encrypted=True)
    assert (options["name"], options["user"], options["pass"]) == ("me", "u", "p")
    assert options["headers"]
    assert options["no_responders"]
    assert options["tls_required"]
    assert not options["verbose"]


def test_a_refusal_is_an_authentication_error_a_link_error_or_a_permission_violation_that_names_a_subject(
    subtests: pytest.Subtests,
) -> None:
    kinds = ("Authorization Violation", "Authentication Timeout", "User Authentication Expired")
    for text in (*kinds, "User Authentication Revoked", "Account Authentication Expired"):
        with subtests.test(text):
            problem = refusal_error("nats://a:4222", text)
            assert isinstance(problem, AuthenticationError)
            assert problem.sentence == f"nats://a:4222 refused the connection: {text}."
    for text in ("maximum connections exceeded", "maximum account active connections exceeded"):
        with subtests.test(text):
            problem = refusal_error("nats://a:4222", text)
            assert not isinstance(problem, AuthenticationError)
            assert "max_connections" in problem.advice
    for text in ("Stale Connection", "Parser Error", "something new"):
        with subtests.test(text):
            assert type(refusal_error("nats://a:4222", text)) is LinkError
    publish = 'Permissions Violation for Publish to "a.b"'
    subscribe = 'Permissions Violation for Subscription to "a.b"'
    texts = (publish, subscribe, f'{subscribe} using queue "q"', "Authorization Violation")
    assert [is_permission(text) for text in texts] == [True, True, True, False]
    assert [denied_publish(text) for text in texts] == ["a.b", None, None, None]
