"""The NATS micro service `penstock-worker`: who works here, how it stands, and the orders it takes.

Knows the protocol of NATS services (ADR-32), and that each endpoint is heard on two subjects: the worker's own, and its
group's, on which every worker answers for itself. Does not know what a status says or what an order does.
"""

import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

from penstock_jetstream import Connection
from penstock_jetstream.core.tokens import as_token
from penstock_worker.engine.standing import VERSION

NAME = "penstock-worker"
PREFIX = "penstock.worker"
CONTROL = "$SRV"
TYPE = "io.nats.micro.v1"
OF_THE_SERVER = b"$"
"""Requests have a reply subject, and it does not begin like this. Any user of JetStream can have the server send its
answers and messages to any subject of the account: those have no reply subject, or one of `$JS.ACK`.
"""

logger = logging.getLogger(__name__)

Answer = Mapping[str, Any]
Work = Callable[[bytes], Answer]


class RefusedError(Exception):
    """The request cannot be carried out; the text says why."""

    CODE = 400


@dataclass(slots=True)
class Endpoint:
    """Something that can be asked for, and how often it was."""

    name: str
    subject: str
    work: Work
    requests: int = 0
    errors: int = 0
    last_error: str = ""
    nanoseconds: int = 0

    def described(self) -> Answer:
        return {"name": self.name, "subject": self.subject, "queue_group": "", "metadata": {}}

    def counted(self) -> Answer:
        return {
            "name": self.name,
            "subject": self.subject,
            "queue_group": "",
            "num_requests": self.requests,
            "num_errors": self.errors,
            "last_error": self.last_error,
            "processing_time": self.nanoseconds,
            "average_processing_time": self.nanoseconds // self.requests if self.requests else 0,
        }

    def answer(self, payload: bytes) -> tuple[Answer, dict[str, str]]:
        """Return what is answered, and its headers."""
        self.requests += 1
        began = time.perf_counter_ns()
        try:
            return self.work(payload), {}
        except RefusedError as problem:
            self.errors += 1
            self.last_error = f"{problem.CODE}:{problem}"
            return {"error": str(problem)}, {
                "Nats-Service-Error": str(problem),
                "Nats-Service-Error-Code": str(problem.CODE),
            }
        finally:
            self.nanoseconds += time.perf_counter_ns() - began


@dataclass(slots=True)
class Service:
    """One instance of it: one worker."""

    connection: Connection
    group: str
    worker: str
    works: Mapping[str, Work]
    """What each endpoint does, by its name."""
    id: str
    facts: Mapping[str, str] = field(default_factory=dict)
    endpoints: list[Endpoint] = field(default_factory=list)
    started: datetime = field(default_factory=lambda: datetime.now(UTC))

    def start(self) -> Self:
        """Listen for as long as the connection is open."""
        for name, work in self.works.items():
            for subject in (subject_of(self.group, name), subject_of(self.group, name, worker=self.worker)):
                self._offer(Endpoint(name, subject, work))
        for verb, tell in (("PING", self._ping), ("INFO", self._info), ("STATS", self._stats)):
            for subject in (f"{CONTROL}.{verb}", f"{CONTROL}.{verb}.{NAME}", f"{CONTROL}.{verb}.{NAME}.{self.id}"):
                self._listen(subject, _told_to_anyone(tell))
        return self

    def _offer(self, endpoint: Endpoint) -> None:
        self.endpoints.append(endpoint)
        self._listen(endpoint.subject, endpoint.answer)

    def _listen(self, subject: str, answer: Callable[[bytes], tuple[Answer, dict[str, str]]]) -> None:
        def handle(_subject: bytes, reply: bytes, _header: bytes, payload: bytes) -> None:
            if not reply or reply.startswith(OF_THE_SERVER):
                return
            body, headers = answer(payload)
            data = json.dumps(body, ensure_ascii=False).encode()
            self.connection.publish(reply.decode(), data, headers=headers or None)

        self.connection.subscribe(subject, handle)

    def _identity(self, kind: str) -> dict[str, Any]:
        return {
            "type": f"{TYPE}.{kind}_response",
            "name": NAME,
            "id": self.id,
            "version": VERSION,
            "metadata": {"group": self.group, "worker": self.worker, **self.facts},
        }

    def _ping(self) -> Answer:
        return self._identity("ping")

    def _info(self) -> Answer:
        endpoints = [endpoint.described() for endpoint in self.endpoints]
        return {
            **self._identity("info"),
            "description": "Runs a Spark job for each batch of messages",
            "endpoints": endpoints,
        }

    def _stats(self) -> Answer:
        endpoints = [endpoint.counted() for endpoint in self.endpoints]
        return {**self._identity("stats"), "started": self.started.isoformat(), "endpoints": endpoints}


def _told_to_anyone(tell: Callable[[], Answer]) -> Callable[[bytes], tuple[Answer, dict[str, str]]]:
    return lambda _payload: (tell(), {})


def subject_of(group: str, endpoint: str, *, worker: str | None = None) -> str:
    """Return where a worker, or every worker of a group, is asked."""
    tokens = [PREFIX, as_token(group), *([as_token(worker)] if worker is not None else []), endpoint]
    return ".".join(tokens)
