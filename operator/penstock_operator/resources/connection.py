"""Connection: where NATS is, and who we are there.

Knows what may be written, and which fields exclude each other. Does not connect.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from penstock_operator.resources.conditions import Count, Status, Told
from penstock_operator.resources.kind import AGE, READY, REASON, Column, Kind
from penstock_operator.resources.part import Part, Rule
from penstock_operator.resources.references import (
    AllowedNamespaces,
    CertificateSecretRef,
    SecretKeyRef,
    UserPasswordSecretRef,
)

SCHEMES = ("nats", "tls")
"""WebSocket (ws, wss) is not spoken by the client library."""
ServerUrl = Annotated[str, StringConstraints(min_length=1, max_length=512)]


def _each_once(servers: list[str]) -> list[str]:
    """Refuse what the API server refuses in a list of type set."""
    twice = sorted({server for server in servers if servers.count(server) > 1})
    if twice:
        without_credentials = [server.rpartition("@")[2] for server in twice]
        raise ValueError(f"Listed more than once: {', '.join(without_credentials)}.")
    return servers


class Auth(Part):
    """Who we are to NATS. Nothing here means a server that asks nobody."""

    credentials_secret_ref: SecretKeyRef | None = None
    """A credentials file (a user's JWT and seed), as `nsc` writes it."""
    nkey_secret_ref: SecretKeyRef | None = None
    """An nkey's seed."""
    token_secret_ref: SecretKeyRef | None = None
    """A token."""
    user_password_secret_ref: UserPasswordSecretRef | None = None
    """A user name and a password."""

    RULES = (
        Rule(
            "Choose at most one of credentialsSecretRef, nkeySecretRef, tokenSecretRef and userPasswordSecretRef.",
            "[has(self.credentialsSecretRef), has(self.nkeySecretRef), has(self.tokenSecretRef),"
            " has(self.userPasswordSecretRef)].filter(given, given).size() <= 1",
            lambda auth: sum(value is not None for _, value in auth) <= 1,
        ),
    )


class Tls(Part):
    """How TLS is spoken. A tls:// server that a public authority vouches for needs nothing here."""

    ca_secret_ref: SecretKeyRef | None = None
    """The authorities to trust, in PEM, instead of the system's."""
    client_certificate_secret_ref: CertificateSecretRef | None = None
    """The certificate that the server asks us for."""
    handshake_first: bool = False
    """Whether TLS begins before the server says anything, which the server must be configured for."""


class JetStream(Part):
    """Which JetStream is meant, where there are several behind one server."""

    domain: Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=r"^[-A-Za-z0-9_]+$")] | None = None
    """The JetStream domain, for one behind a leaf node."""
    api_prefix: (
        Annotated[
            str, StringConstraints(min_length=1, max_length=255, pattern=r"^[^ \t\r\n\f.*>]+(\.[^ \t\r\n\f.*>]+)*$")
        ]
        | None
    ) = None
    """The subject prefix of the JetStream API, for one imported from another account."""

    RULES = (
        Rule(
            "Choose domain or apiPrefix: a domain is short for the prefix $JS.DOMAIN.API.",
            "!(has(self.domain) && has(self.apiPrefix))",
            lambda jetstream: jetstream.domain is None or jetstream.api_prefix is None,
        ),
    )


class LocalServer(StrEnum):
    """Which server a laptop uses."""

    NAMED = "Named"
    EMBEDDED = "Embedded"


class Local(Part):
    """What is different on a laptop, where `penstock up` runs what is declared. In a cluster it means nothing."""

    server: LocalServer = LocalServer.NAMED
    """Named: the servers above, as in a cluster. Embedded: a NATS server that `penstock up` runs itself, and that asks
    nobody who they are; servers, auth, tls and jetStream mean nothing to it."""
    port: Annotated[int, Field(ge=0, le=65535)] = 4222
    """The port of the embedded server, on the laptop's own address 127.0.0.1. 0: any that is free."""


class ConnectionSpec(Part):
    """Where NATS is, and who we are there."""

    servers: Annotated[
        list[ServerUrl],
        Field(min_length=1, max_length=32, json_schema_extra={"x-kubernetes-list-type": "set"}),
        AfterValidator(_each_once),
    ]
    """URLs of servers of one cluster: nats://host:port or tls://host:port. One that answers is enough. WebSocket is not
    supported."""
    auth: Auth | None = None
    """Who we are to NATS. Without it the server must ask nobody."""
    tls: Tls | None = None
    """How TLS is spoken."""
    jet_stream: JetStream | None = None
    """Which JetStream is meant, where there are several behind one server."""
    allowed_namespaces: AllowedNamespaces = AllowedNamespaces()
    """Which namespaces may refer to this Connection. Its Secrets stay where they are."""
    local: Local = Local()
    """What is different on a laptop, where `penstock up` runs what is declared. In a cluster it means nothing."""

    RULES = (
        Rule(
            "A server URL carries no credentials: name a Secret in auth.",
            "self.servers.all(server, !server.contains('@'))",
            lambda spec: not any("@" in server for server in spec.servers),
        ),
        Rule(
            "A server URL is nats:// or tls://, and a host, with a port or without."
            " WebSocket (ws://, wss://) is not supported: name a server's port for NATS clients.",
            f"self.servers.all(server, server.matches('^({'|'.join(SCHEMES)})://[^/?# ]+/?$'))",
            lambda spec: all(_is_server_url(server) for server in spec.servers),
        ),
    )


def _is_server_url(text: str) -> bool:
    scheme, separator, rest = text.partition("://")
    host = rest.removesuffix("/")
    return scheme in SCHEMES and bool(separator and host) and not set(host) & set("/?# ")


class ConnectionStatus(Status):
    """What the operator found."""

    server_name: Told | None = None
    """The server that the operator is connected to."""
    server_version: Told | None = None
    """Its version."""
    api_level: Count | None = None
    """The level of the JetStream API: what the servers can do. 5 came with 2.15, 0 is older than 2.11."""
    cluster: Told | None = None
    """The server's cluster, if it is in one."""
    domain: Told | None = None
    """The JetStream domain, if there is one."""
    account: Told | None = None
    """The account, as far as the server names it."""
    streams: Count | None = None
    """Streams in the account, whoever made them."""
    consumers: Count | None = None
    """Consumers in the account, whoever made them."""


CONNECTION = Kind(
    name="Connection",
    plural="connections",
    short_names=("conn",),
    description="Where NATS is, and who Penstock is there. Other kinds refer to it.",
    spec=ConnectionSpec,
    status=ConnectionStatus,
    columns=(
        READY,
        REASON,
        Column("Server", ".status.serverName"),
        Column("Version", ".status.serverVersion"),
        AGE,
        Column("API Level", ".status.apiLevel", type="integer", priority=1),
        Column("Streams", ".status.streams", type="integer", priority=1),
        Column("Consumers", ".status.consumers", type="integer", priority=1),
        Column("Servers", ".spec.servers", priority=1),
    ),
)
