"""How a subscription finds or makes its consumer: the workflow of ADR-15, step by step.

    start ─ FindStream ─ LookUp ─┬─ it is there ─ checks ─────────── Listen ─────────── Ready
                                 └─ it is missing ─ Listen ─ Create ─┬─ created ─────── Ready
                                           (never when bound)        └─ exists by now ─ LookUp …

Knows the order of the steps, and what was made here and so is taken away at the end. What a consumer is checked for
stands in bound.py. Does not know how a step is carried out: whoever drives this does each step, tells what came of it,
and carries out the steps that it gets for that. An error is raised; then nothing was made, and listening is to stop.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock_jetstream.core import bound
from penstock_jetstream.core.wanted import Wanted, check_request, new_config
from penstock_jetstream.errors import ErrorCode, NoMatchingStreamError, SubscriptionError

ALREADY_EXISTS = frozenset(
    {ErrorCode.CONSUMER_NAME_EXISTS, ErrorCode.CONSUMER_EXISTING_ACTIVE, ErrorCode.CONSUMER_ALREADY_EXISTS}
)
"""Somebody made a consumer of this name while we were about to."""
RACES_MAX = 5
"""A consumer that comes and goes as fast as we look is somebody's mistake, which waiting longer does not repair."""


@dataclass(frozen=True, slots=True)
class FindStream:
    """Ask which streams have the subject (STREAM.NAMES)."""

    subject: str


@dataclass(frozen=True, slots=True)
class LookUp:
    """Ask for the info of the consumer."""

    stream: str
    consumer: str


@dataclass(frozen=True, slots=True)
class Listen:
    """Subscribe to this subject, and no longer to any that was told before."""

    subject: str
    queue: str


@dataclass(frozen=True, slots=True)
class Create:
    """Create the consumer, as `create` and not as `update`."""

    stream: str
    config: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ready:
    """Messages come, or can be pulled, from now on."""

    stream: str
    consumer: str
    config: dict[str, Any]
    """As the server has it; as much as is known, where it could not be asked."""
    created: bool


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the consumer: it was made here, and nobody else's wish is known."""

    stream: str
    consumer: str


Step = FindStream | LookUp | Listen | Create | Ready | Delete


class Subscribing:
    """One subscription's way to its consumer, and what is to be done when it is over."""

    def __init__(self, wanted: Wanted, *, inbox: str) -> None:
        check_request(wanted)
        self._wanted = wanted
        self._inbox = inbox
        self._stream = wanted.stream
        self._made_here = ""
        self._races = 0

    def start(self) -> list[Step]:
        if not self._stream:
            return [FindStream(self._wanted.filter)]
        return self._look_up_or_create()

    def streams_found(self, names: Sequence[str]) -> list[Step]:
        if len(names) != 1:
            raise NoMatchingStreamError(self._wanted.filter, names)
        self._stream = names[0]
        return self._look_up_or_create()

    def consumer_found(self, info: Mapping[str, Any]) -> list[Step]:
        """Take the consumer that is there, if it is what was asked for."""
        bound.check(self._wanted, info)
        config = dict(info["config"])
        ready = Ready(self._stream, info["name"], config, created=False)
        if self._wanted.pull:
            return [ready]
        return [Listen(config["deliver_subject"], config.get("deliver_group") or ""), ready]

    def consumer_missing(self) -> list[Step]:
        if self._wanted.bind:
            raise SubscriptionError(
                f"The consumer {self._wanted.bind} of stream {self._stream}, which was to be bound, does not exist.",
                stream=self._stream,
                consumer=self._wanted.bind,
                advice="Create it first, or give durable=… instead of bind=… to have it made.",
            )
        return self._create()

    def look_up_failed(self, error: Exception) -> list[Step]:
        """Go on without the info if that is possible: who pulls from another account may not be allowed to ask."""
        if self._wanted.pull and self._wanted.consumer:
            return [Ready(self._stream, self._wanted.consumer, {}, created=False)]
        raise error

    def created(self, info: Mapping[str, Any]) -> list[Step]:
        self._made_here = info["name"]
        return [Ready(self._stream, info["name"], dict(info["config"]), created=True)]

    def create_failed(self, error: Exception, err_code: int) -> list[Step]:
        """Look once more if somebody else was faster (S-13); any other refusal is the caller's."""
        self._races += 1
        if err_code not in ALREADY_EXISTS or not self._wanted.consumer or self._races > RACES_MAX:
            raise error
        return [LookUp(self._stream, self._wanted.consumer)]

    @property
    def deletes(self) -> bool:
        """Tell whether the consumer goes when it is over."""
        return bool(self._made_here) and not self._wanted.keep

    def over(self) -> list[Step]:
        """Return what is to be done when nobody listens any more. Asked twice, there is nothing the second time."""
        deletes, name, self._made_here = self.deletes, self._made_here, ""
        return [Delete(self._stream, name)] if deletes else []

    def _look_up_or_create(self) -> list[Step]:
        if self._wanted.consumer:
            return [LookUp(self._stream, self._wanted.consumer)]
        return self._create()

    def _create(self) -> list[Step]:
        config = new_config(self._wanted, inbox=self._inbox)
        create = Create(self._stream, config)
        if self._wanted.pull:
            return [create]
        return [Listen(config["deliver_subject"], self._wanted.queue), create]
