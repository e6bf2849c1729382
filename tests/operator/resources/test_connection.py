"""Connection: what may be written, and what is said about the rest, by a real API server and on a laptop alike."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pydantic
import pytest

from penstock_operator.constants import API_VERSION
from penstock_operator.resources import ConnectionSpec
from penstock_operator.resources.part import Part
from tests.testbed.kubernetes.access import KubectlError, Namespace

SERVERS = ["nats://nats.nats:4222"]
KEY = {"name": "nats-user", "key": "user.creds"}
NO_CREDENTIALS = "A server URL carries no credentials: name a Secret in auth."
URLS = (
    "A server URL is nats:// or tls://, and a host, with a port or without."
    " WebSocket (ws://, wss://) is not supported: name a server's port for NATS clients."
)
ONE_AUTH = "Choose at most one of credentialsSecretRef, nkeySecretRef, tokenSecretRef and userPasswordSecretRef."
ONE_JETSTREAM = "Choose domain or apiPrefix: a domain is short for the prefix $JS.DOMAIN.API."
SELECTOR = "A selector belongs to from: Selector, and from: Selector needs one."
LABEL_KEY = "The key of a label has 1 to 316 letters."
REQUIREMENT = "In and NotIn need values; Exists and DoesNotExist take none."

ACCEPTED: dict[str, dict[str, Any]] = {
    "the smallest": {"servers": SERVERS},
    "every scheme": {"servers": ["nats://a", "tls://b:4222", "nats://c:80/", "nats://[::1]:4222"]},
    "credentials": {"servers": SERVERS, "auth": {"credentialsSecretRef": KEY}},
    "an nkey": {"servers": SERVERS, "auth": {"nkeySecretRef": KEY}},
    "a token": {"servers": SERVERS, "auth": {"tokenSecretRef": KEY}},
    "a user and a password": {"servers": SERVERS, "auth": {"userPasswordSecretRef": {"name": "nats-user"}}},
    "TLS": {
        "servers": ["tls://nats.nats:4222"],
        "tls": {
            "caSecretRef": {"name": "nats-ca", "key": "ca.crt"},
            "clientCertificateSecretRef": {"name": "nats-client"},
            "handshakeFirst": True,
        },
    },
    "a domain": {"servers": SERVERS, "jetStream": {"domain": "hub"}},
    "a prefix": {"servers": SERVERS, "jetStream": {"apiPrefix": "$JS.hub.API"}},
    "all namespaces": {"servers": SERVERS, "allowedNamespaces": {"from": "All"}},
    "some namespaces": {
        "servers": SERVERS,
        "allowedNamespaces": {
            "from": "Selector",
            "selector": {
                "matchLabels": {"team": "orders"},
                "matchExpressions": [
                    {"key": "stage", "operator": "In", "values": ["test", "live"]},
                    {"key": "penstock.dev/barred", "operator": "DoesNotExist"},
                ],
            },
        },
    },
}

BREAKING_A_RULE: dict[str, tuple[dict[str, Any], str]] = {
    "a password in a URL": ({"servers": ["nats://me:secret@nats:4222"]}, NO_CREDENTIALS),
    "a token in the second URL": ({"servers": ["nats://a:4222", "nats://token@b:4222"]}, NO_CREDENTIALS),
    "another scheme": ({"servers": ["http://nats:4222"]}, URLS),
    "no scheme": ({"servers": ["nats:4222"]}, URLS),
    "a path": ({"servers": ["nats://nats:4222/orders"]}, URLS),
    "two kinds of auth": ({"servers": SERVERS, "auth": {"credentialsSecretRef": KEY, "tokenSecretRef": KEY}}, ONE_AUTH),
    "domain and prefix": (
        {"servers": SERVERS, "jetStream": {"domain": "hub", "apiPrefix": "$JS.hub.API"}},
        ONE_JETSTREAM,
    ),
    "a selector for all": ({"servers": SERVERS, "allowedNamespaces": {"from": "All", "selector": {}}}, SELECTOR),
    "no selector": ({"servers": SERVERS, "allowedNamespaces": {"from": "Selector"}}, SELECTOR),
    "a label without a key": (
        {"servers": SERVERS, "allowedNamespaces": {"from": "Selector", "selector": {"matchLabels": {"": "a"}}}},
        LABEL_KEY,
    ),
    "In without values": (
        {
            "servers": SERVERS,
            "allowedNamespaces": {
                "from": "Selector",
                "selector": {"matchExpressions": [{"key": "stage", "operator": "In"}]},
            },
        },
        REQUIREMENT,
    ),
}

REFUSED: dict[str, dict[str, Any]] = {
    "nothing": {},
    "no server": {"servers": []},
    "too many servers": {"servers": [f"nats://nats-{number}" for number in range(33)]},
    "the same server twice": {"servers": [*SERVERS, *SERVERS]},
    "an endless URL": {"servers": [f"nats://{'n' * 512}"]},
    "a field that does not exist": {"servers": SERVERS, "sevrers": SERVERS},
    "a Secret without its key": {"servers": SERVERS, "auth": {"tokenSecretRef": {"name": "nats-user"}}},
    "a Secret that cannot be": {"servers": SERVERS, "auth": {"tokenSecretRef": {"name": "NATS user", "key": "t"}}},
    "a domain with a dot": {"servers": SERVERS, "jetStream": {"domain": "hub.one"}},
    "an open prefix": {"servers": SERVERS, "jetStream": {"apiPrefix": "$JS.hub.API."}},
    "namespaces from elsewhere": {"servers": SERVERS, "allowedNamespaces": {"from": "Elsewhere"}},
    "words for a yes": {"servers": SERVERS, "tls": {"handshakeFirst": "perhaps"}},
}


def manifest(spec: dict[str, Any]) -> str:
    return json.dumps(
        {"apiVersion": API_VERSION, "kind": "Connection", "metadata": {"name": "nats"}, "spec": spec},
    )


def dry_run(namespace: Namespace, spec: dict[str, Any]) -> dict[str, Any]:
    """Have the API server judge a spec, and return what it would have kept."""
    kept: dict[str, Any] = json.loads(
        namespace.kubectl(
            "create", "--dry-run=server", "--validate=strict", "--output=json", "--filename=-", stdin=manifest(spec)
        )
    )
    return kept


@pytest.mark.parametrize("spec", ACCEPTED.values(), ids=ACCEPTED)
def test_what_is_right_is_accepted_by_the_api_server_and_on_a_laptop(
    penstock_namespace: Namespace, spec: dict[str, Any]
) -> None:
    assert dry_run(penstock_namespace, spec)["spec"]["servers"] == spec["servers"]
    ConnectionSpec.model_validate(spec)


@pytest.mark.parametrize(("spec", "sentence"), BREAKING_A_RULE.values(), ids=BREAKING_A_RULE)
def test_what_breaks_a_rule_is_refused_in_the_same_words_everywhere(
    penstock_namespace: Namespace, spec: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(KubectlError, match=re.escape(sentence)):
        dry_run(penstock_namespace, spec)
    with pytest.raises(pydantic.ValidationError, match=re.escape(sentence)):
        ConnectionSpec.model_validate(spec)


@pytest.mark.parametrize("spec", REFUSED.values(), ids=REFUSED)
def test_what_a_field_cannot_hold_is_refused_everywhere(penstock_namespace: Namespace, spec: dict[str, Any]) -> None:
    with pytest.raises(KubectlError):
        dry_run(penstock_namespace, spec)
    with pytest.raises(pydantic.ValidationError):
        ConnectionSpec.model_validate(spec)


def test_every_rule_has_a_manifest_that_breaks_it() -> None:
    said = {sentence for _, sentence in BREAKING_A_RULE.values()}
    assert said == {rule.sentence for part in parts_of(ConnectionSpec) for rule in part.RULES}


def test_defaults_are_visible_in_what_is_kept(penstock_namespace: Namespace) -> None:
    kept = dry_run(penstock_namespace, {"servers": SERVERS, "auth": {"userPasswordSecretRef": {"name": "nats-user"}}})
    assert kept["spec"]["allowedNamespaces"] == {"from": "Same"}
    assert kept["spec"]["auth"]["userPasswordSecretRef"] == {
        "name": "nats-user",
        "usernameKey": "username",
        "passwordKey": "password",
    }


def test_the_api_servers_defaults_are_the_laptops(penstock_namespace: Namespace) -> None:
    for spec in ACCEPTED.values():
        kept = ConnectionSpec.model_validate(dry_run(penstock_namespace, spec)["spec"])
        assert kept == ConnectionSpec.model_validate(spec)


def test_kubectl_get_shows_whether_it_is_ready_and_why(penstock_namespace: Namespace) -> None:
    penstock_namespace.kubectl("create", "--filename=-", stdin=manifest(ACCEPTED["the smallest"]))
    condition = {
        "type": "Ready",
        "status": "False",
        "reason": "NotReachable",
        "message": "No server answers.",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "observedGeneration": 1,
    }
    status = json.dumps({"status": {"observedGeneration": 1, "conditions": [condition]}})
    penstock_namespace.kubectl("patch", "conn/nats", "--subresource=status", "--type=merge", f"--patch={status}")
    heading, line = penstock_namespace.kubectl("get", "penstock").splitlines()
    assert heading.split() == ["NAME", "READY", "REASON", "SERVER", "VERSION", "AGE"]
    assert line.split()[:3] == ["connection.penstock.dev/nats", "False", "NotReachable"]


def parts_of(part: type[Part]) -> Iterator[type[Part]]:
    yield part
    for field in part.model_fields.values():
        for inner in parts_in(field.annotation):
            yield from parts_of(inner)


def parts_in(annotation: Any) -> Iterator[type[Part]]:  # noqa: ANN401 - whatever a field is declared as
    if isinstance(annotation, type) and issubclass(annotation, Part):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from parts_in(argument)
