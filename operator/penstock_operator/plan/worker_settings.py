"""What a worker of a queue group is told: its settings file, made from the group's spec and from where the worker is.

Pure, and the same in both homes. Knows the words of both sides: Kubernetes' spelling here, plain seconds and bytes
there (penstock_worker.policy.settings, which reads the file and refuses what it does not know). Secrets are paths.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock_jetstream.core.tokens import as_token
from penstock_operator.plan.declared import Identity
from penstock_operator.plan.group_places import GroupPlace
from penstock_operator.resources import ConnectionSpec, QueueGroupSpec
from penstock_operator.resources.queue_group_work import Batch, Retry
from penstock_operator.resources.references import SecretKeyRef
from penstock_operator.resources.scalars import seconds, size_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPlace:
    """One worker, and where its things are. Paths are as its processes see them."""

    name: str
    """Empty: the engine is told its name otherwise, as pods of one template are."""
    socket: str
    work_folder: str
    python_path: tuple[str, ...] = ()
    code_source: str | None = None
    """Where the code is copied from, as the kubelet changes a ConfigMap's files while the worker runs."""
    servers: tuple[str, ...]
    secret_files: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Where each value of a Secret is that the Connection or Spark names, by the Secret's name and the key."""
    grace_seconds: float = 25
    probes: str | None = None
    """HOST:PORT of the engine's probes, and of the driver's."""
    driver_probes: str | None = None
    java_archives: str | None = None
    """Where archives of Java's classes are kept from one start of Spark to the next."""


def worker_settings(
    group: Identity, spec: QueueGroupSpec, connection: ConnectionSpec, place: GroupPlace, worker: WorkerPlace
) -> dict[str, Any]:
    """Return the whole file."""
    return {
        "socket": worker.socket,
        "connection": {**_connection(connection, worker), "inbox_prefix": inbox_prefix(group)},
        "engine": {
            "group": group_name(group),
            "worker": worker.name,
            "stream": place.stream,
            "consumer": place.consumer,
            "dead_letter_stream": place.dead_letter_stream,
            "dead_letter_subject": place.dead_letter_subject,
            "batch": _batch(spec.batch),
            "retry": _retry(spec.retry),
            "grace_seconds": worker.grace_seconds,
            "probes": worker.probes,
        },
        "driver": {
            "entrypoint": spec.handler.entrypoint,
            "python_path": list(worker.python_path),
            "code_source": worker.code_source,
            "master": spec.spark.master,
            "token_file": _file(worker, spec.spark.token_secret_ref),
            "conf": dict(spec.spark.conf),
            "in_flight": spec.batch.in_flight,
            "work_folder": worker.work_folder,
            "java_archives": worker.java_archives,
            "probes": worker.driver_probes,
        },
    }


def as_workers_reach_it(connection: ConnectionSpec, spec: QueueGroupSpec) -> ConnectionSpec:
    """Return a Connection with the user that a group's workers log in as."""
    return connection if spec.auth is None else connection.model_copy(update={"auth": spec.auth})


def group_name(group: Identity) -> str:
    """Return what workers call their group: in their logs, in metrics, and where they can be asked."""
    return f"{group.namespace}/{group.name}"


def inbox_prefix(group: Identity) -> str:
    """Return what the inboxes of a group's workers begin with: a prefix per group, so that none hears another's.

    Names in Kubernetes have no underscore: two groups never share one.
    """
    return f"_INBOX_{group.namespace}_{as_token(group.name)}"


def _connection(spec: ConnectionSpec, worker: WorkerPlace) -> dict[str, Any]:
    auth, tls, jetstream = spec.auth, spec.tls, spec.jet_stream
    pair = auth.user_password_secret_ref if auth else None
    certificate = tls.client_certificate_secret_ref if tls else None
    return {
        "servers": list(worker.servers),
        "credentials_file": _file(worker, auth.credentials_secret_ref if auth else None),
        "nkey_file": _file(worker, auth.nkey_secret_ref if auth else None),
        "token_file": _file(worker, auth.token_secret_ref if auth else None),
        "user_file": worker.secret_files[pair.name, pair.username_key] if pair else None,
        "password_file": worker.secret_files[pair.name, pair.password_key] if pair else None,
        "ca_file": _file(worker, tls.ca_secret_ref if tls else None),
        "certificate_file": worker.secret_files[certificate.name, certificate.certificate_key] if certificate else None,
        "key_file": worker.secret_files[certificate.name, certificate.private_key_key] if certificate else None,
        "handshake_first": tls.handshake_first if tls else False,
        "domain": jetstream.domain if jetstream else None,
        "api_prefix": jetstream.api_prefix if jetstream else None,
    }


def _file(worker: WorkerPlace, reference: SecretKeyRef | None) -> str | None:
    return None if reference is None else worker.secret_files[reference.name, reference.key]


def secret_keys(connection: ConnectionSpec) -> frozenset[tuple[str, str]]:
    """Return which values of Secrets a worker needs files of, for its Connection: the Secret's name and the key."""
    auth, tls = connection.auth, connection.tls
    single = [
        *((auth.credentials_secret_ref, auth.nkey_secret_ref, auth.token_secret_ref) if auth else ()),
        *((tls.ca_secret_ref,) if tls else ()),
    ]
    found = {(reference.name, reference.key) for reference in single if reference}
    if auth and (pair := auth.user_password_secret_ref):
        found |= {(pair.name, pair.username_key), (pair.name, pair.password_key)}
    if tls and (certificate := tls.client_certificate_secret_ref):
        found |= {(certificate.name, certificate.certificate_key), (certificate.name, certificate.private_key_key)}
    return frozenset(found)


def _batch(batch: Batch) -> dict[str, Any]:
    return {
        "max_messages": batch.max_messages,
        "max_bytes": size_bytes(batch.max_bytes),
        "max_wait_seconds": seconds(batch.max_wait),
        "in_flight": batch.in_flight,
        "deadline_seconds": seconds(batch.deadline),
    }


def _retry(retry: Retry) -> dict[str, Any]:
    return {
        "max_attempts": retry.max_attempts,
        "initial_delay_seconds": seconds(retry.initial_delay),
        "max_delay_seconds": seconds(retry.max_delay),
    }
