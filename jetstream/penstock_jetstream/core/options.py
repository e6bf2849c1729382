"""What users may ask of consume and fetch, and what cannot be asked: judged here, before anything is sent.

Knows the defaults and limits of ADR-37 (C-11, C-12, C-20 to C-27) and the rules of priority groups (ADR-42). Does not
know what the server's consumer is configured to be: the server refuses what does not fit it.
"""

import math
import re
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from typing_extensions import override

from penstock_jetstream.core.pulls import UNLIMITED_BATCH
from penstock_jetstream.errors import UsageError

DEFAULT_MAX_MESSAGES = 500
DEFAULT_EXPIRES_SECONDS = 30.0
MIN_EXPIRES_SECONDS = 1.0
MIN_HEARTBEAT_SECONDS = 0.5
MAX_HEARTBEAT_SECONDS = 30.0

FETCH_WITHOUT_HEARTBEAT_SECONDS = 30.0
"""A fetch that lasts longer has heartbeats unless it says otherwise (C-12): a lost one would be noticed too late."""
FETCH_HEARTBEAT_SECONDS = 5.0

WORKER_EXPIRES_SECONDS = 10.0
WORKER_HEARTBEAT_SECONDS = 2.0

GROUP_NAME = re.compile(r"[A-Za-z0-9/_=-]{1,16}")
MAX_PRIORITY = 9


@dataclass(frozen=True, kw_only=True)
class GroupOptions:
    """What belongs to a consumer with priority groups; all of it is left out for other consumers."""

    group: str = ""
    """The group's name. Every request to a consumer with a priority policy must name one."""
    min_pending: int = 0
    """Policy overflow: be served only while at least so many messages wait …"""
    min_ack_pending: int = 0
    """… or while at least so many are not acknowledged yet."""
    priority: int | None = None
    """Policy prioritized: 0 is served first, 9 last."""
    priority_timeout_seconds: float | None = None
    """Policy pinned_client: the consumer's priority_timeout, if you know it: too long a request for it is reported."""

    def __post_init__(self) -> None:
        if self.group and not GROUP_NAME.fullmatch(self.group):
            raise UsageError(
                f"{self.group!r} cannot be the name of a priority group.",
                advice="Use 1 to 16 of the letters A-Z, a-z, 0-9 and / _ = -.",
            )
        self._check_without_group()
        if min(self.min_pending, self.min_ack_pending) < 0:
            raise UsageError("min_pending and min_ack_pending cannot be negative.")
        if self.priority is not None and not 0 <= self.priority <= MAX_PRIORITY:
            raise UsageError(
                f"A priority of {self.priority} does not exist.", advice="Use 0 (served first) to 9 (served last)."
            )
        if self.priority is not None and (self.min_pending or self.min_ack_pending):
            raise UsageError(
                "priority cannot go together with min_pending or min_ack_pending: no consumer has both policies.",
                advice="Use priority with policy prioritized, the others with policy overflow.",
            )

    def _check_without_group(self) -> None:
        if not self.group and (self.min_pending or self.min_ack_pending or self.priority is not None):
            raise UsageError(
                "min_pending, min_ack_pending and priority mean nothing without a priority group.",
                advice="Name the consumer's group with group=….",
            )

    @property
    def may_be_pinned(self) -> bool:
        """Tell whether the consumer's policy may be pinned_client: what is said of others belongs to another policy."""
        return bool(self.group) and not (self.min_pending or self.min_ack_pending or self.priority is not None)

    def group_fields(self) -> dict[str, Any]:
        """Return the keys that every request carries. Priority 0 is the server's default and may be left out."""
        fields = {
            "group": self.group,
            "min_pending": self.min_pending,
            "min_ack_pending": self.min_ack_pending,
            "priority": self.priority,
        }
        return {key: value for key, value in fields.items() if value}


@dataclass(frozen=True, kw_only=True)
class ConsumeOptions(GroupOptions):
    """How much to hold, how long each request lasts, and when to ask for more."""

    max_messages: int | None = None
    """Messages buffered and asked for, together; 500 unless max_bytes is given."""
    max_bytes: int | None = None
    """The same in bytes, as the server counts them: subject, ack reply, headers, payload. Instead of max_messages."""
    expires_seconds: float = DEFAULT_EXPIRES_SECONDS
    idle_heartbeat_seconds: float | None = None
    """Half of expires, between 0.5 and 30 s, unless given. There is no consume without heartbeats."""
    threshold_messages: int | None = None
    """Ask for more when so many, or fewer, are buffered and asked for; half of max_messages, rounded up."""
    threshold_bytes: int | None = None
    verify_on_reconnect: bool = False
    """Ask after each reconnect whether the consumer exists, and end if not. Without it consume reports and waits."""

    @classmethod
    def for_worker(cls, **options: Any) -> "ConsumeOptions":  # noqa: ANN401 - they are the fields above
        """Return options that notice a lost request in 4 s instead of 30 s, for more heartbeats."""
        timing = {"expires_seconds": WORKER_EXPIRES_SECONDS, "idle_heartbeat_seconds": WORKER_HEARTBEAT_SECONDS}
        return cls(**{**timing, **options})

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_messages is not None and self.max_bytes is not None:
            raise UsageError(
                "max_messages and max_bytes exclude each other.", advice="Limit the buffer by one of the two."
            )
        _check_positive("max_messages", self.max_messages)
        _check_positive("max_bytes", self.max_bytes)
        _check_threshold("threshold_messages", self.threshold_messages, self.max_messages or DEFAULT_MAX_MESSAGES)
        _check_threshold("threshold_bytes", self.threshold_bytes, self.max_bytes or 0)
        if self.by_bytes and self.threshold_messages is not None:
            raise UsageError("threshold_messages means nothing where max_bytes limits the buffer.")
        if not self.expires_seconds >= MIN_EXPIRES_SECONDS or math.isinf(self.expires_seconds):
            raise UsageError(f"expires_seconds is {self.expires_seconds:g}; it must be at least 1 s, and finite.")
        _check_heartbeat(self.idle_heartbeat_seconds, self.expires_seconds)

    @property
    def by_bytes(self) -> bool:
        return self.max_bytes is not None

    @property
    def maximum(self) -> int:
        """Return how many messages, or bytes, may be buffered and asked for together."""
        return self.max_bytes or self.max_messages or DEFAULT_MAX_MESSAGES

    @property
    def threshold(self) -> int:
        given = self.threshold_bytes if self.by_bytes else self.threshold_messages
        return given if given is not None else math.ceil(self.maximum / 2)

    @property
    def heartbeat_seconds(self) -> float:
        if self.idle_heartbeat_seconds is not None:
            return self.idle_heartbeat_seconds
        return min(max(self.expires_seconds / 2, MIN_HEARTBEAT_SECONDS), MAX_HEARTBEAT_SECONDS)


class Wait(Enum):
    """What a fetch waits for."""

    BATCH = "batch"
    """For all that it asked for, until it expires (ADR-37)."""
    FIRST = "first"
    """It takes what is there; only if nothing is, it waits for the first messages (ADR-13's two steps)."""
    NOTHING = "nothing"
    """It takes what is there."""


@dataclass(frozen=True, kw_only=True)
class FetchOptions(GroupOptions):
    """What one fetch asks for, and how long it waits for it."""

    max_messages: int | None = None
    max_bytes: int | None = None
    expires_seconds: float = DEFAULT_EXPIRES_SECONDS
    """How long the server may keep the request; the client gives up a little later (Wait.BATCH), or at this time."""
    idle_heartbeat_seconds: float | None = None
    """None: 5 s for a fetch that lasts longer than 30 s, otherwise no heartbeats. 0: none."""
    wait: Wait = Wait.BATCH

    SHORTEST_SECONDS: ClassVar[float] = 0.001

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_messages is None and self.max_bytes is None:
            raise UsageError(
                "A fetch without a limit would never be complete.", advice="Give max_messages, max_bytes, or both."
            )
        _check_positive("max_messages", self.max_messages)
        _check_positive("max_bytes", self.max_bytes)
        if not self.expires_seconds >= self.SHORTEST_SECONDS or math.isinf(self.expires_seconds):
            raise UsageError(f"expires_seconds is {self.expires_seconds:g}; it must be at least 1 ms, and finite.")
        if self.idle_heartbeat_seconds and not 0 < self.idle_heartbeat_seconds <= self.expires_seconds / 2:
            raise UsageError(
                f"A heartbeat every {self.idle_heartbeat_seconds:g} s does not fit a request that expires after "
                f"{self.expires_seconds:g} s.",
                advice="It may be half of expires_seconds at most.",
            )

    @property
    def batch(self) -> int:
        return self.max_messages or UNLIMITED_BATCH

    @property
    def heartbeat_seconds(self) -> float:
        if self.wait is Wait.NOTHING:
            return 0
        if self.idle_heartbeat_seconds is not None:
            return self.idle_heartbeat_seconds
        return FETCH_HEARTBEAT_SECONDS if self.expires_seconds > FETCH_WITHOUT_HEARTBEAT_SECONDS else 0


def _check_positive(name: str, value: int | None) -> None:
    if value is not None and value < 1:
        raise UsageError(f"{name} is {value}; it must be at least 1.")


def _check_threshold(name: str, value: int | None, maximum: int) -> None:
    if value is not None and not 0 <= value <= maximum:
        raise UsageError(
            f"{name} is {value}; it must be between 0 and the maximum, {maximum}.",
            advice="Leave it out for half of the maximum.",
        )


def _check_heartbeat(seconds: float | None, expires_seconds: float) -> None:
    if seconds is None:
        return
    if not MIN_HEARTBEAT_SECONDS <= seconds <= MAX_HEARTBEAT_SECONDS:
        raise UsageError(f"idle_heartbeat_seconds is {seconds:g}; it must be between 0.5 and 30 s.")
    if seconds > expires_seconds / 2:
        raise UsageError(
            f"A heartbeat every {seconds:g} s does not fit a request that expires after {expires_seconds:g} s.",
            advice="It may be half of expires_seconds at most.",
        )
