"""Connections that keep each rule, Connections that break it, and what the API server refuses without one."""

from typing import Any

Json = dict[str, Any]
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

ACCEPTED: dict[str, Json] = {
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

BROKEN: dict[str, tuple[Json, str]] = {
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

REFUSED: dict[str, Json] = {
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
