"""Scenarios that are played with a simulated server and with real ones, to see whether they answer alike.

What expires does so after 100 ms where nothing else has to happen before, and after 3 s where the steps before it must
not take that long. Servers may stop for a while at any moment.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

MILLISECOND = 1_000_000
LATER = 60_000 * MILLISECOND


@dataclass(frozen=True)
class Store:
    """So many messages are published, of so many bytes each."""

    count: int
    payload_bytes: int = 10


@dataclass(frozen=True)
class Ask:
    """A pull is published; its number is the last token of its reply."""

    number: int
    body: Mapping[str, Any]


@dataclass(frozen=True)
class Acknowledge:
    """The answer to the message with that sequence, if it was delivered."""

    sequence: int


@dataclass(frozen=True)
class Wait:
    """Time passes."""

    seconds: float


@dataclass(frozen=True)
class Pause:
    """The consumer is paused for so long."""

    seconds: float


class Do(Enum):
    """What happens to the consumer without a parameter."""

    DELETE = auto()
    RESET = auto()
    """It goes back to what is not acknowledged."""
    UNPIN = auto()
    STEP_DOWN = auto()
    """Another server leads it."""


Step = Store | Ask | Acknowledge | Wait | Pause | Do


@dataclass(frozen=True)
class Scenario:
    """A consumer, and what happens."""

    steps: tuple[Step, ...]
    config: Mapping[str, Any] = field(default_factory=dict)
    """The server's own fields."""
    since: tuple[int, int] = (2, 11)


def pull(batch: int = 5, **keys: Any) -> dict[str, Any]:  # noqa: ANN401 - the body is JSON
    return {"batch": batch, "expires": LATER, **keys}


NO_WAIT = {"batch": 5, "no_wait": True}
SHORT = 100 * MILLISECOND
LONGER = 3_000 * MILLISECOND
PINNED = {"priority_groups": ["jobs"], "priority_policy": "pinned_client", "priority_timeout": LATER}
OVERFLOW = {"priority_groups": ["jobs"], "priority_policy": "overflow"}
PRIORITIZED = {"priority_groups": ["jobs"], "priority_policy": "prioritized"}

SCENARIOS: dict[str, Scenario] = {
    "an empty stream, and no time": Scenario((Ask(1, NO_WAIT),)),
    "some, and no time": Scenario((Store(3), Ask(1, NO_WAIT))),
    "all, and no time": Scenario((Store(5), Ask(1, NO_WAIT))),
    "expiry of nothing": Scenario((Ask(1, pull(expires=SHORT)), Wait(0.3))),
    "expiry of a part": Scenario((Store(3), Ask(1, pull(expires=SHORT)), Wait(0.3))),
    "messages that come later": Scenario((Ask(1, pull()), Store(2), Store(3), Store(1))),
    "two requests in turn": Scenario(
        (Ask(1, pull(3, expires=LONGER)), Ask(2, pull(3, expires=LONGER)), Store(4), Wait(4)),
    ),
    "heartbeats": Scenario((Ask(1, pull(expires=LONGER, idle_heartbeat=SHORT)), Wait(4))),
    "a heartbeat that is too long": Scenario((Ask(1, pull(expires=SHORT, idle_heartbeat=SHORT)),)),
    "the first of several": Scenario((Ask(1, pull(no_wait=True)), Store(1), Store(1))),
    "the first of several, which do not come": Scenario((Ask(1, pull(no_wait=True, expires=SHORT)), Wait(0.3))),
    "what is there is promised to others": Scenario(
        (Ask(1, pull(2)), Ask(2, pull(10)), Ask(3, NO_WAIT), Store(1), Ask(4, NO_WAIT)),
    ),
    "more than may be unacknowledged": Scenario(
        (Store(4), Ask(1, pull(expires=LONGER)), Acknowledge(1), Wait(4)), {"max_ack_pending": 2}
    ),
    "no time, and as many unacknowledged as may be": Scenario(
        (Store(4), Ask(1, pull(2)), Ask(2, NO_WAIT), Acknowledge(1)), {"max_ack_pending": 2}
    ),
    "bytes that are used up": Scenario((Store(5), Ask(1, pull(100, max_bytes=250, expires=SHORT)), Wait(0.3))),
    "bytes that come out even": Scenario((Store(5, 50), Ask(1, pull(100, max_bytes=-2)), Wait(0.1))),
    "a message that is too large": Scenario((Store(1, 500), Ask(1, pull(100, max_bytes=250)))),
    "a batch that is complete before its bytes": Scenario((Store(3), Ask(1, pull(2, max_bytes=1000)))),
    "bytes that expire": Scenario((Store(1), Ask(1, pull(100, max_bytes=1000, expires=SHORT)), Wait(0.3))),
    "too large a batch": Scenario((Ask(1, pull(6)),), {"max_batch": 5}),
    "too long an expiry": Scenario((Ask(1, pull()),), {"max_expires": 1000 * MILLISECOND}),
    "too many bytes": Scenario((Ask(1, pull(max_bytes=1001)),), {"max_bytes": 1000}),
    "a full queue": Scenario((Ask(1, pull()), Ask(2, pull())), {"max_waiting": 1}),
    "a full queue, with heartbeats": Scenario(
        (Ask(1, pull(expires=LONGER)), Ask(2, pull(idle_heartbeat=SHORT)), Wait(4)), {"max_waiting": 1}
    ),
    "a consumer that is deleted": Scenario((Ask(1, pull()), Ask(2, pull()), Do.DELETE, Ask(3, pull()))),
    "a pause": Scenario((Pause(0.3), Store(2), Ask(1, pull(2)), Wait(0.5))),
    "a pause, and no time": Scenario((Store(2), Pause(60), Ask(1, NO_WAIT))),
    "a pause that outlasts the request": Scenario(
        (Store(2), Pause(60), Ask(1, pull(expires=LONGER, idle_heartbeat=SHORT)), Wait(4))
    ),
    "a redelivery": Scenario(
        (Store(2), Ask(1, pull(2)), Acknowledge(1), Ask(2, pull(1)), Wait(4)), {"ack_wait": LONGER}
    ),
    "a reset": Scenario((Store(3), Ask(1, pull(3)), Acknowledge(1), Do.RESET, Ask(2, NO_WAIT)), since=(2, 14)),
    "a reset under a request that waits": Scenario(
        (Store(2), Ask(1, pull(5, expires=LONGER)), Do.RESET, Wait(4)), since=(2, 14)
    ),
    "no group": Scenario((Ask(1, pull()),), OVERFLOW),
    "another group": Scenario((Ask(1, pull(group="other")),), OVERFLOW),
    "overflow of too little": Scenario(
        (Store(2), Ask(1, pull(group="jobs", min_pending=3, expires=LONGER, idle_heartbeat=SHORT)), Wait(4)), OVERFLOW
    ),
    "overflow of enough": Scenario((Store(3), Ask(1, pull(5, group="jobs", min_pending=2)), Store(2)), OVERFLOW),
    "overflow of what is unacknowledged": Scenario(
        (Store(4), Ask(1, pull(2, group="jobs")), Ask(2, pull(2, group="jobs", min_ack_pending=2))), OVERFLOW
    ),
    "thresholds without overflow": Scenario((Ask(1, pull(group="jobs", min_pending=3)),), PINNED),
    "a pin without pinning": Scenario((Ask(1, pull(group="jobs", id="x")),), OVERFLOW),
    "a priority that there is not": Scenario((Ask(1, pull(group="jobs", priority=10)),), PRIORITIZED, (2, 12)),
    "the lowest number first": Scenario(
        (
            Ask(1, pull(1, group="jobs", priority=2, expires=LONGER)),
            Ask(2, pull(1, group="jobs", priority=1)),
            Store(1),
            Wait(4),
        ),
        PRIORITIZED,
        (2, 12),
    ),
    "a pin": Scenario(
        (Ask(1, pull(1, group="jobs")), Ask(2, pull(1, group="jobs", expires=LONGER)), Store(2), Wait(4)), PINNED
    ),
    "a client in reserve": Scenario(
        (
            Store(2),
            Ask(1, pull(1, group="jobs")),
            Ask(2, pull(1, group="jobs", expires=LONGER, idle_heartbeat=SHORT)),
            Wait(4),
        ),
        PINNED,
    ),
    "a pin that is taken away": Scenario(
        (Ask(1, pull(2, group="jobs")), Store(1), Do.UNPIN, Store(1), Ask(2, pull(1, group="jobs"))), PINNED, (2, 12)
    ),
    "a former pin": Scenario(
        (Ask(1, pull(1, group="jobs")), Store(1), Ask(2, pull(1, group="jobs", id="former"))), PINNED
    ),
    "a pin when none is held": Scenario((Ask(1, pull(1, group="jobs", id="former")), Store(1)), PINNED, (2, 12)),
}

IN_A_CLUSTER: dict[str, Scenario] = {
    "a leader that steps down": Scenario((Ask(1, pull()), Do.STEP_DOWN)),
    "a batch that is complete before its bytes": Scenario((Store(3), Ask(1, pull(2, max_bytes=1000)))),
    "a part, and no time": Scenario((Store(3), Ask(1, NO_WAIT))),
    "expiry of a part": Scenario((Store(3), Ask(1, pull(expires=SHORT)), Wait(0.3))),
    "a message that is too large for the rest": Scenario((Store(3), Ask(1, pull(100, max_bytes=200)))),
}
