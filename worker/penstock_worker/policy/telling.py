"""Read the settings file that a worker is told everything by.

Knows the bounds of its numbers. Says what is wrong by the file's own words. Does not open the file.
"""

from dataclasses import replace

from penstock_worker.policy.settings import WorkerSettings
from penstock_worker.policy.typed import MalformedError, read

LONGEST_SOCKET_PATH = 103
"""Bytes, which every Unix can bind."""


def read_settings(document: bytes | str) -> WorkerSettings:
    """Return the settings, or say by a MalformedError what in them cannot be."""
    settings = read(WorkerSettings, document, is_strict=True)
    for name, value, least in _bounded(settings):
        if value < least:
            raise MalformedError(f"{name}: it is {value:g}, and has to be {least:g} or more.")
    if len(settings.socket.encode()) > LONGEST_SOCKET_PATH:
        raise MalformedError(f"socket: a path of a socket has at most {LONGEST_SOCKET_PATH} bytes; use a shorter one.")
    if not settings.connection.servers:
        raise MalformedError("connection.servers: it is empty; name at least one, such as nats://localhost:4222.")
    return settings


def named(settings: WorkerSettings, worker: str | None) -> WorkerSettings:
    """Return the settings of a worker of that name, which goes before the file's: one file may be told to many."""
    name = worker or settings.engine.worker
    if not name:
        raise MalformedError("engine.worker: it is missing; write it there, or say --worker NAME.")
    return replace(settings, engine=replace(settings.engine, worker=name))


def _bounded(settings: WorkerSettings) -> list[tuple[str, float, float]]:
    batch, retry = settings.engine.batch, settings.engine.retry
    return [
        ("engine.batch.max_messages", batch.max_messages, 1),
        ("engine.batch.max_bytes", batch.max_bytes, 1),
        ("engine.batch.max_wait_seconds", batch.max_wait_seconds, 0),
        ("engine.batch.in_flight", batch.in_flight, 1),
        ("engine.batch.deadline_seconds", batch.deadline_seconds, 1),
        ("engine.retry.max_attempts", retry.max_attempts, 1),
        ("engine.retry.initial_delay_seconds", retry.initial_delay_seconds, 0),
        ("engine.retry.max_delay_seconds", retry.max_delay_seconds, 0),
        ("engine.grace_seconds", settings.engine.grace_seconds, 0),
        ("driver.in_flight", settings.driver.in_flight, 1),
        ("driver.hang_seconds", settings.driver.hang_seconds, 0),
    ]
