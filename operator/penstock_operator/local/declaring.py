"""From a declared queue group to what its workers are told on this machine: code, servers, secrets, folders.

Knows where each of these is here. What a worker is told follows in plan.worker_settings, the same as in a cluster. Says
in a sentence what keeps a group from being run.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from penstock_operator.local import code_places, edits
from penstock_operator.local.code_places import CannotRunError, Code
from penstock_operator.local.connections import Connections, is_embedded
from penstock_operator.local.group import Orders, Wanted
from penstock_operator.local.live_home import LiveHome
from penstock_operator.local.manifests import Manifests
from penstock_operator.local.state import GroupFolder, GroupRecord, StateFolder, write_whole
from penstock_operator.plan.declared import Identity
from penstock_operator.plan.group_places import GroupPlace, group_place
from penstock_operator.plan.surroundings import Waiting
from penstock_operator.plan.worker_settings import WorkerPlace, as_workers_reach_it, secret_keys, worker_settings
from penstock_operator.resources import ConnectionSpec, ConsumerSpec, QueueGroupSpec
from penstock_operator.services.home import HomeError

JAVA = "java"


@dataclass(frozen=True, slots=True)
class _Found:
    """All that a group's workers have in common."""

    group: Identity
    spec: QueueGroupSpec
    place: GroupPlace
    connection: ConnectionSpec
    code: Code
    folder: GroupFolder
    manifests: Manifests


@dataclass(frozen=True, slots=True)
class Declaring:
    """For one home."""

    state: StateFolder
    home: LiveHome
    connections: Connections
    grace_seconds: float

    def wanted(self, group: Identity, spec: QueueGroupSpec, manifests: Manifests) -> Wanted:
        """Return what a group is to be, or raise a CannotRunError."""
        code_places.refuse(spec)
        place = group_place(group, spec, manifests.declared)
        if isinstance(place, Waiting):
            raise CannotRunError(place.message)
        consumer, connection = (
            manifests.declared[place.consumer_identity].spec,
            manifests.declared.get(place.connection),
        )
        contact = self.connections.contact_of(place.connection)
        if connection is None or not isinstance(connection.spec, ConnectionSpec) or contact is None:
            raise CannotRunError(f"There is no {place.connection} that leads to its stream.")
        if not isinstance(consumer, ConsumerSpec):
            raise CannotRunError(f"The spec of {place.consumer_identity} cannot be understood.")
        folder = self.state.group(group.namespace, group.name)
        code = code_places.code_of(group, spec, manifests, folder.path)
        code.lay()
        reached = self.connections.effective(place.connection, connection.spec)
        if not is_embedded(connection.spec):
            reached = as_workers_reach_it(reached, spec)
        found = _Found(group, spec, place, reached, code, folder, manifests)
        code_print = edits.code_print(code.folder)
        told = worker_settings(group, spec, reached, place, self._worker_place(found, ""))
        return Wanted(
            spec=spec,
            consumer=consumer,
            place=place,
            code=code,
            contact=contact,
            make=lambda name: self._orders(found, name),
            code_print=code_print,
            print=code_places.digest(told, spec.handler.env, code_print, contact.made_from.digest),
            record=_record(found),
        )

    async def _orders(self, found: _Found, name: str) -> Orders:
        worker = self._worker_place(found, name)
        env = found.spec.handler.env
        try:
            for (secret, key), file in worker.secret_files.items():
                await self._write_secret(found.group, secret, key, Path(file))
            variables = await code_places.environment(found.group, env, name, found.manifests, self.home)
        except HomeError as problem:
            raise CannotRunError(str(problem)) from problem
        return Orders(worker_settings(found.group, found.spec, found.connection, found.place, worker), variables)

    def _worker_place(self, found: _Found, name: str) -> WorkerPlace:
        folder, token = found.folder.worker(name), found.spec.spark.token_secret_ref
        keys = secret_keys(found.connection) | ({(token.name, token.key)} if token else set())
        return WorkerPlace(
            name=name,
            socket=str(self.state.socket(folder)),
            work_folder=str(folder / "work"),
            python_path=(str(found.code.folder),),
            servers=tuple(found.connection.servers),
            secret_files={(secret, key): str(folder / "secrets" / secret / key) for secret, key in keys},
            grace_seconds=self.grace_seconds,
            java_archives=str(cache_folder() / JAVA),
        )

    async def _write_secret(self, group: Identity, secret: str, key: str, file: Path) -> None:
        data = await self.home.secret(group.namespace, secret)
        if data is None or key not in data:
            raise CannotRunError(f"Secret {group.namespace}/{secret} with the key {key} is not there.")
        write_whole(file, data[key])


def cache_folder() -> Path:
    """Return where things are kept that can be made anew, for all homes of a user."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock"


def _record(found: _Found) -> GroupRecord:
    place = found.place
    return GroupRecord(
        namespace=found.group.namespace,
        name=found.group.name,
        connection=f"{place.connection.namespace}/{place.connection.name}",
        stream=place.stream,
        consumer=place.consumer,
        dead_letter_stream=place.dead_letter_stream,
        dead_letter_subject=place.dead_letter_subject,
        code=str(found.code.folder),
    )
