"""NACK's manifests (jetstream.nats.io/v1beta2) as ours.

Knows what NACK makes of its own: its fields' defaults, and what it adds to them. Fields are in nack_fields.py, servers
and credentials in nack_connections.py. The names of objects stay.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock_operator.plan.importing.imported import Imported, Imports, imported
from penstock_operator.plan.importing.nack_connections import Connections
from penstock_operator.plan.importing.nack_fields import ACCOUNT as ACCOUNT_FIELDS
from penstock_operator.plan.importing.nack_fields import CONSUMER as CONSUMER_FIELDS
from penstock_operator.plan.importing.nack_fields import OPTIONS
from penstock_operator.plan.importing.nack_fields import STREAM as STREAM_FIELDS
from penstock_operator.plan.importing.nack_reading import read
from penstock_operator.resources import CONSUMER, STREAM, Kind
from penstock_operator.resources.translation import consumer_spec, stream_spec

GROUP = "jetstream.nats.io"
YEAR_NANOSECONDS = 365 * 24 * 3600 * 10**9
NANOSECOND = 1

BUCKETS = ("KeyValue", "ObjectStore")
OWN_ANNOTATIONS = ("nats.io/state", "kubectl.kubernetes.io/last-applied-configuration")
"""Ends of annotations in which programs keep what they know; not said by anybody."""

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Nack:
    """An object of NACK's, its parts where they belong."""

    kind: str
    metadata: Json
    spec: Json
    options: Json
    """Where the server is, and who NACK is there."""
    remarks: tuple[str, ...]

    @classmethod
    def read(cls, document: Json) -> "Nack":
        remarks: list[str] = []
        spec = _object(document, "spec", remarks)
        options = {} if document.get("kind") == "Account" else {n: v for n, v in spec.items() if n in OPTIONS}
        return cls(
            kind=str(document.get("kind")),
            metadata=_object(document, "metadata", remarks),
            spec={name: value for name, value in spec.items() if name not in options},
            options=read(OPTIONS, options, remarks),
            remarks=tuple(remarks),
        )

    @property
    def namespace(self) -> str:
        return str(self.metadata.get("namespace") or "")

    @property
    def name(self) -> str:
        return str(self.metadata.get("name") or "")

    @property
    def title(self) -> str:
        return f"{self.kind} {'/'.join(part for part in (self.namespace, self.name) if part)}".rstrip()


def _object(document: Json, part: str, remarks: list[str]) -> dict[str, Any]:
    found = document.get(part)
    if isinstance(found, dict):
        return found
    if found is not None:
        remarks.append(f"{part} is left out, as it is no object: {found!r}.")
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """What NACK was told where it was started, which no manifest shows."""

    connection: str = "nats"
    """What we call the Connection to the servers below."""
    servers: tuple[str, ...] = ()
    """Of objects that name none."""
    control_loop: bool = False
    """Whether it ran with --control-loop, and not in its older mode, which is its default."""


def from_nack(documents: Iterable[Json], told: CommandLine = CommandLine()) -> Imports:
    """Return ours for NACK's."""
    listed = list(documents)
    nacks, left_out = _each_once([Nack.read(document) for document in listed if _is_nacks(document)])
    left_out += [_foreign(document) for document in listed if not _is_nacks(document)]
    connections = Connections(_accounts(nacks), told.connection, told.servers)
    streams = _objects_of_streams(nacks)
    objects: list[Imported] = []
    for each in nacks:
        match each.kind:
            case "Account":
                connections.of_account(each.namespace, each.name)
            case "Stream":
                objects.append(_stream(each, connections, told))
            case "Consumer":
                objects.append(_consumer(each, connections, streams))
            case _:
                left_out.append(_without_equivalent(each))
    return Imports((*connections.made, *objects), tuple(left_out))


def _is_nacks(document: Json) -> bool:
    return str(document.get("apiVersion")).startswith(f"{GROUP}/")


def _each_once(nacks: Iterable[Nack]) -> tuple[list[Nack], list[str]]:
    """Return each object as kubectl would have it: where several manifests are of one, as the last says."""
    last: dict[tuple[str, str, str], Nack] = {}
    told = []
    for each in nacks:
        identity = (each.kind, each.namespace, each.name)
        if identity in last:
            told.append(f"{each.title} stands there more than once: what the last says is taken.")
        last[identity] = each
    return list(last.values()), told


def _accounts(nacks: Iterable[Nack]) -> dict[tuple[str, str], tuple[Json, tuple[str, ...]]]:
    """Return the specs of the Accounts, and what is to be remarked on each."""
    found: dict[tuple[str, str], tuple[Json, tuple[str, ...]]] = {}
    for each in nacks:
        if each.kind == "Account":
            remarks = list(each.remarks)
            found[each.namespace, each.name] = (read(ACCOUNT_FIELDS, each.spec, remarks), tuple(remarks))
    return found


def _stream(given: Nack, connections: Connections, told: CommandLine) -> Imported:
    remarks = list(given.remarks)
    config = read(STREAM_FIELDS, _configuring(given), remarks)
    _as_nack_fills_in_a_stream(config, remarks, told)
    reference = {"connectionRef": {"name": connections.named(given.namespace, given.options)}}
    return _ours(STREAM, given, {**reference, **stream_spec(config)}, remarks)


def _consumer(given: Nack, connections: Connections, streams: Mapping[tuple[str, str, str], str]) -> Imported:
    remarks = list(given.remarks)
    stream = str(given.spec.get("streamName") or "")
    config = read(CONSUMER_FIELDS, _configuring(given), remarks)
    _as_nack_fills_in_a_consumer(config, remarks)
    declared = streams.get((given.namespace, repr(given.options), stream))
    reference: dict[str, Any] = {"streamRef": {"name": declared}}
    if declared is None:
        connection = connections.named(given.namespace, given.options)
        reference = {"connectionRef": {"name": connection}, "stream": stream}
    return _ours(CONSUMER, given, {**reference, **consumer_spec(config)}, remarks)


def _as_nack_fills_in_a_stream(config: dict[str, Any], remarks: list[str], told: CommandLine) -> None:
    """Say what NACK says where its manifest is silent."""
    if "storage" not in config:
        config["storage"] = "memory"
        remarks.append(
            "storage: Memory is NACK's default: all is gone when the server restarts. A stream keeps its storage for"
            " good; a new one would better have File, which is ours."
        )
    if not config.get("max_age") and told.control_loop:
        config["max_age"] = YEAR_NANOSECONDS
        remarks.append(
            "maxAge: 365d is what NACK's control loop gives a stream that says none. Leave it out to keep messages for"
            " ever."
        )
    if config.get("consumer_limits") and not told.control_loop:
        remarks.append("consumerLimits is what NACK's older mode ignores; Penstock sets it.")
    if config.get("discard_new_per_subject"):
        config["discard"] = "new"


def _as_nack_fills_in_a_consumer(config: dict[str, Any], remarks: list[str]) -> None:
    """Say what NACK says where its manifest is silent."""
    if "ack_policy" not in config:
        config["ack_policy"] = "none"
        remarks.append("ackPolicy: None is NACK's default: what a client loses is lost. Ours is Explicit.")
    if "ack_wait" not in config:
        config["ack_wait"] = NANOSECOND
        remarks.append(
            "ackWait: 1ns is NACK's default: with acknowledgements, messages come again at once. Leave it out for 30s."
        )
    if config.get("deliver_policy") != "by_start_sequence" and config.pop("opt_start_seq", None):
        remarks.append("optStartSeq is left out: NACK heeds it with deliverPolicy byStartSequence only.")
    if config.get("deliver_policy") != "by_start_time" and config.pop("opt_start_time", None):
        remarks.append("optStartTime is left out: NACK heeds it with deliverPolicy byStartTime only.")
    _priority_as_nack_has_it(config, remarks)


def _priority_as_nack_has_it(config: dict[str, Any], remarks: list[str]) -> None:
    policy = config.get("priority_policy")
    if policy == "pinned_client" and not config.get("priority_timeout"):
        policy = None
        remarks.append("priorityPolicy: pinned_client is left out: NACK drops it where there is no pinnedTtl.")
    if policy in (None, "none"):
        for field in ("priority_policy", "priority_groups", "priority_timeout"):
            config.pop(field, None)
    elif policy != "pinned_client":
        config.pop("priority_timeout", None)


def _ours(kind: Kind, given: Nack, spec: Json, remarks: list[str]) -> Imported:
    return imported(kind, _metadata(given), {**spec, **_management(given, remarks)}, tuple(remarks))


def _metadata(given: Nack) -> dict[str, Any]:
    kept = {name: given.metadata[name] for name in ("name", "namespace", "labels") if given.metadata.get(name)}
    annotations = given.metadata.get("annotations")
    if isinstance(annotations, dict):
        said = {name: value for name, value in annotations.items() if not name.endswith(OWN_ANNOTATIONS)}
        kept |= {"annotations": said} if said else {}
    return kept


def _management(given: Nack, remarks: list[str]) -> dict[str, Any]:
    if not given.spec.get("preventDelete"):
        remarks.append(
            "NACK deletes it from the server when its manifest is deleted; Penstock keeps it. Write management:"
            " {deletion: Delete} if it shall go."
        )
    if not given.spec.get("preventUpdate"):
        return {}
    remarks.append("preventUpdate became policy: Observe, which does not create either, and reports what differs.")
    return {"management": {"policy": "Observe"}}


def _configuring(given: Nack) -> dict[str, Any]:
    """Return the fields that are about the stream or consumer itself."""
    others = {"preventDelete", "preventUpdate", "streamName"}
    return {name: value for name, value in given.spec.items() if name not in others}


def _objects_of_streams(nacks: Iterable[Nack]) -> dict[tuple[str, str, str], str]:
    """Return the name of the Stream object by namespace, server and the stream's name there."""
    return {
        (each.namespace, repr(each.options), str(each.spec.get("name") or "")): each.name
        for each in nacks
        if each.kind == "Stream"
    }


def _foreign(document: Json) -> str:
    if not document.get("kind"):
        return "What is no manifest, as it has no kind, is not NACK's; it is left out."
    return f"{Nack.read(document).title} ({document.get('apiVersion')}) is not NACK's; it is left out."


def _without_equivalent(given: Nack) -> str:
    if given.kind not in BUCKETS:
        return f"{given.title} is left out: Penstock has nothing like it."
    return (
        f"{given.title} is left out: Penstock does not declare buckets. The bucket {given.spec.get('bucket')} stays on"
        " the server as it is, unless NACK is there to delete it: set preventDelete before you delete its manifest."
    )
