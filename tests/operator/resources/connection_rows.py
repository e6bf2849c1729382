"""Connections that keep each rule, that break it, or that the schema alone refuses."""

from typing import Any

import yaml

Json = dict[str, Any]
SMALLEST: Json = {"servers": ["nats://nats.nats:4222"]}

ACCEPTED: dict[str, Json] = yaml.safe_load("""
the smallest: {}
every scheme: {servers: ["nats://a", "tls://b:4222", "nats://c:80/", "nats://[::1]:4222"]}
credentials: {auth: {credentialsSecretRef: {name: nats-user, key: user.creds}}}
an nkey: {auth: {nkeySecretRef: {name: nats-user, key: user.nk}}}
a token: {auth: {tokenSecretRef: {name: nats-user, key: token}}}
a user and a password: {auth: {userPasswordSecretRef: {name: nats-user}}}
TLS:
  servers: ["tls://nats.nats:4222"]
  tls:
    caSecretRef: {name: nats-ca, key: ca.crt}
    clientCertificateSecretRef: {name: nats-client}
    handshakeFirst: true
a domain: {jetStream: {domain: hub}}
a prefix: {jetStream: {apiPrefix: $JS.hub.API}}
all namespaces: {allowedNamespaces: {from: All}}
some namespaces:
  allowedNamespaces:
    from: Selector
    selector:
      matchLabels: {team: orders}
      matchExpressions:
      - {key: stage, operator: In, values: [test, live]}
      - {key: penstock.dev/barred, operator: DoesNotExist}
""")

BROKEN: dict[str, list[Json]] = yaml.safe_load("""
A server URL carries no credentials:
- {servers: ["nats://me:secret@nats:4222"]}
- {servers: ["nats://a:4222", "nats://token@b:4222"]}
A server URL is nats:// or tls://:
- {servers: ["http://nats:4222"]}
- {servers: ["nats:4222"]}
- {servers: ["nats://nats:4222/orders"]}
Choose at most one of credentialsSecretRef:
- {auth: {credentialsSecretRef: {name: nats-user, key: user.creds}, tokenSecretRef: {name: nats-user, key: token}}}
Choose domain or apiPrefix:
- {jetStream: {domain: hub, apiPrefix: $JS.hub.API}}
"A selector belongs to from: Selector":
- {allowedNamespaces: {from: All, selector: {}}}
- {allowedNamespaces: {from: Selector}}
The key of a label has:
- {allowedNamespaces: {from: Selector, selector: {matchLabels: {"": a}}}}
In and NotIn need values:
- {allowedNamespaces: {from: Selector, selector: {matchExpressions: [{key: stage, operator: In}]}}}
""")
"""By the beginning of a rule."""

REFUSED: dict[str, Json] = {
    "nothing": {"servers": None},
    "no server": {"servers": []},
    "too many servers": {"servers": [f"nats://nats-{number}" for number in range(33)]},
    "the same server twice": {"servers": ["nats://nats.nats:4222", "nats://nats.nats:4222"]},
    "an endless URL": {"servers": [f"nats://{'n' * 512}"]},
    "a field that does not exist": {"sevrers": ["nats://nats.nats:4222"]},
    "a Secret without its key": {"auth": {"tokenSecretRef": {"name": "nats-user"}}},
    "a Secret that cannot be": {"auth": {"tokenSecretRef": {"name": "NATS user", "key": "t"}}},
    "a domain with a dot": {"jetStream": {"domain": "hub.one"}},
    "an open prefix": {"jetStream": {"apiPrefix": "$JS.hub.API."}},
    "namespaces from elsewhere": {"allowedNamespaces": {"from": "Elsewhere"}},
}
