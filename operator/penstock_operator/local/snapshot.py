"""What a person who runs `penstock up` wants to know at a glance: how everything stands at one moment, as values.

Pure. Knows what there is to know, and what it is called. Does not know where the numbers come from (whoever runs the
home fills them in), nor how they are drawn (cli/screen.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from penstock_operator.resources.message_loss import MessageLoss


class Level(StrEnum):
    """How much something concerns who reads it."""

    INFO = "info"
    """It went as it should."""
    WARNING = "warning"
    """It works, or will again without anybody's help."""
    ERROR = "error"
    """Somebody has to do something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionShown:
    """A Connection, and where it leads."""

    namespace: str
    name: str
    url: str
    is_embedded: bool = False
    """Whether the server is a process of ours."""
    state: str
    """One word: Connected, Connecting, or why not, as a reason says it (Unreachable)."""
    level: Level = Level.INFO
    message: str = ""
    """A sentence, where there is more to say than the state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamShown:
    """A Stream."""

    namespace: str
    name: str
    """The resource's name."""
    stream: str
    """The server's."""
    messages: int | None = None
    """None: not known, or not there yet."""
    bytes: int | None = None
    state: str
    """One word: Ready, or a reason."""
    level: Level = Level.INFO
    message: str = ""


class Phase(StrEnum):
    """What a group is doing. Of several that hold, the last of them here is the one to show."""

    WORKING = "Working"
    IDLE = "Idle"
    """Nothing is pending, nothing is in flight."""
    STARTING = "Starting"
    """There is work, and no worker is ready yet."""
    STOPPING = "Stopping"
    """It finishes what it holds, and pulls no more: of a drain, or because everything ends."""
    STOPPED = "Stopped"
    """Its workers have ended, as everything ends. What is left is done the next time."""
    PAUSED = "Paused"
    """By a person, or by `suspend: true`."""
    WAITING = "Waiting"
    """Something that it depends on is not there: its Consumer, its Connection."""
    CIRCUIT_OPEN = "CircuitOpen"
    """Batches failed one after the other: nothing new is pulled until one has succeeded."""
    FAILED = "Failed"
    """Its workers cannot work until somebody changes something, such as the code."""
    FINISHED = "Finished"
    """With --drain: nothing is left to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkersShown:
    """How many workers there are."""

    ready: int = 0
    running: int = 0
    """With those that are still starting."""
    desired: int = 0
    busy: int = 0
    """With messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupShown:
    """A QueueGroup."""

    namespace: str
    name: str
    stream: str
    """The server's names of what it reads from."""
    consumer: str
    phase: Phase
    message: str = ""
    """Why it is in this phase, where that does not go without saying; for FAILED, what to do."""
    pending: int | None = None
    """Messages that were not delivered yet. None: not known, as with all that follows."""
    ack_pending: int | None = None
    """Messages that were delivered, and are not answered yet."""
    in_flight: int = 0
    """Batches that are with drivers."""
    verdicts: Mapping[str, int] = field(default_factory=dict)
    """How many runs ended how since `up` began, by the worker's words: ok, data, transient …"""
    messages_per_second: float | None = None
    """How many messages were settled in the last seconds."""
    settled: int = 0
    """How many messages were settled since `up` began."""
    held: int = 0
    """Messages that workers hold: collected, with a driver, or being settled."""
    workers: WorkersShown = WorkersShown()
    dead_letters: int | None = None
    """How many lie in the dead letters' stream that are this group's, or all of a stream of its own."""
    loss: MessageLoss | None = None
    """Messages that the consumer never processed."""
    scaling: str = ""
    """The last decision about the number of workers, as a sentence."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened."""

    at: datetime
    level: Level
    about: str
    """What it happened to: QueueGroup default/orders, or nothing where it is about all."""
    message: str
    """A sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything, at one moment."""

    at: datetime
    started: datetime
    connections: tuple[ConnectionShown, ...] = ()
    streams: tuple[StreamShown, ...] = ()
    groups: tuple[GroupShown, ...] = ()
    events: tuple[Event, ...] = ()
    """The most recent ones, oldest first; hundreds at most. An event is the same value in every snapshot."""
    state: str = ""
    """What `up` itself is doing, where it is not just running: "Stopping: Ctrl-C once more ends all at once."."""
