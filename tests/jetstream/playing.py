"""A server played by the test below a prefix of its own, for answers that no real one can be made to give."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from penstock_jetstream.client.jetstream import JetStream
from penstock_jetstream.transport.connection import Connection

TYPES = "io.nats.jetstream.api.v1."
Answer = bytes | Mapping[str, Any]


class Played:
    """Gives these answers, one after another, and then always the last one. `asked` has what was requested."""

    def __init__(self, connection: Connection, prefix: str, answers: Sequence[Answer]) -> None:
        self.asked: list[tuple[str, bytes]] = []
        self.jetstream = JetStream(connection, api_prefix=prefix)
        self._connection = connection
        self._answers = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in answers]
        connection.subscribe(f"{prefix}.>", self._answer)

    def _answer(self, subject: bytes, reply: bytes, _header: bytes, payload: bytes) -> None:
        answer = self._answers[min(len(self.asked), len(self._answers) - 1)]
        self.asked.append((subject.decode(), payload))
        self._connection.publish(reply.decode(), answer)
