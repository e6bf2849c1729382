"""A server's streams and consumers as manifests.

Knows which objects are somebody's to declare: not what servers or clients make for themselves. Each object keeps its
name on the server; the name of the Kubernetes object is made from it (naming.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from penstock_jetstream.config import is_made_by_server
from penstock_operator.plan.importing.imported import Imported, Imports, imported
from penstock_operator.plan.importing.naming import object_names
from penstock_operator.resources import CONNECTION, CONSUMER, STREAM
from penstock_operator.resources.translation import consumer_spec, stream_spec

BUCKETS = {"KV_": "a key-value bucket", "OBJ_": "an object store", "$MQTT_": "kept by the server's MQTT"}
CREDENTIALS_KEY = "user.creds"

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """A stream on the server, and its consumers: configurations as the server has them."""

    config: Json
    consumers: Sequence[Json]

    @property
    def name(self) -> str:
        return str(self.config["name"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """How the server was reached, and how that shall be called."""

    servers: tuple[str, ...]
    credentials: str = ""
    """A file."""
    domain: str = ""
    connection: str = "nats"
    namespace: str = ""


def from_server(found: Sequence[Found], where: Where, chosen: Sequence[str] = ()) -> Imports:
    """Return manifests of all streams and consumers, or of the chosen streams.

    `found` is all that there is either way, so that an object's name does not depend on what was chosen.
    """
    left_out: list[str] = []
    names = object_names([stream.name for stream in found])
    consumers = object_names([_path(stream, config) for stream in found for config in stream.consumers])
    objects = [_connection(where)]
    for stream in found:
        if not _is_wanted(stream.name, chosen, left_out):
            continue
        objects.append(_stream(stream.config, names[stream.name], where))
        objects += [
            _consumer(config, names[stream.name], consumers[_path(stream, config)], where)
            for config in stream.consumers
            if _is_declarable(stream.name, config, left_out)
        ]
    missing = sorted(set(chosen) - {stream.name for stream in found})
    left_out += [f"The server has no stream named {name}." for name in missing]
    return Imports(tuple(objects), tuple(left_out))


def _path(stream: Found, config: Json) -> str:
    return f"{stream.name}.{_name(config)}"  # no name has a dot in it


def _name(config: Json) -> str:
    return str(config.get("durable_name") or config.get("name") or "")


def _is_wanted(name: str, chosen: Sequence[str], left_out: list[str]) -> bool:
    if chosen:
        return name in chosen
    whose = next((whose for prefix, whose in BUCKETS.items() if name.startswith(prefix)), None)
    if whose:
        left_out.append(f"Stream {name} is left out, as it is {whose}. Name it with --stream to have it nevertheless.")
    return whose is None


def _is_declarable(stream: str, config: Json, left_out: list[str]) -> bool:
    consumer = f"Consumer {_name(config)} of stream {stream}"
    if is_made_by_server(config):
        left_out.append(f"{consumer} is left out, as a server made it to copy the stream.")
        return False
    if not config.get("durable_name"):
        left_out.append(f"{consumer} is left out, as it is ephemeral: it goes when nobody uses it.")
        return False
    return True


def _connection(where: Where) -> Imported:
    remarks: list[str] = []
    spec: dict[str, Any] = {"servers": [_without_login(server, remarks) for server in where.servers]}
    if where.credentials:
        secret = f"{where.connection}-creds"
        spec["auth"] = {"credentialsSecretRef": {"name": secret, "key": CREDENTIALS_KEY}}
        remarks.append(
            f"Put the credentials into a Secret: kubectl create secret generic {secret}"
            f" --from-file={CREDENTIALS_KEY}={where.credentials}"
        )
    if where.domain:
        spec["jetStream"] = {"domain": where.domain}
    return imported(CONNECTION, _metadata(where.connection, where), spec, tuple(remarks))


def _without_login(server: str, remarks: list[str]) -> str:
    """Return the URL without the user and the password in it, which belong into a Secret."""
    parts = urlsplit(server)
    login, at, host = parts.netloc.rpartition("@")
    if not at:
        return server
    way = "userPasswordSecretRef" if ":" in login else "tokenSecretRef"
    remarks.append(f"The login of {host} is left out: put it into a Secret, and name that in auth.{way}.")
    return parts._replace(netloc=host).geturl()


def _stream(config: Json, name: str, where: Where) -> Imported:
    reference = {"connectionRef": {"name": where.connection}, "name": config["name"]}
    return imported(STREAM, _metadata(name, where), {**reference, **stream_spec(config)}, ())


def _consumer(config: Json, stream: str, name: str, where: Where) -> Imported:
    reference = {"streamRef": {"name": stream}, "name": _name(config)}
    return imported(CONSUMER, _metadata(name, where), {**reference, **consumer_spec(config)}, ())


def _metadata(name: str, where: Where) -> dict[str, str]:
    return {"name": name} | ({"namespace": where.namespace} if where.namespace else {})
