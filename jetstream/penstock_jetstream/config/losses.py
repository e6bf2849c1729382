"""What in a stream's configuration has the server drop messages that it has confirmed, or was to keep."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

HOUR_NS = 3600 * 10**9
SHORTEST_AGE_NS = 24 * HOUR_NS
"""Less than a day is no time to find out that something is wrong, and to look at what was kept."""


@dataclass(frozen=True, slots=True)
class Loss:
    """One field, and what happens because of it."""

    field: str
    sentence: str
    at_once: bool
    """Whether a message may be gone, or not taken, the moment after it was published."""


def losses(config: Mapping[str, Any], *, per_subject: bool = False) -> Iterator[Loss]:
    """Yield what keeps a stream from keeping messages; `per_subject`: there may be many on one subject."""
    retention = config.get("retention", "limits")
    if retention != "limits":
        yield Loss(
            "retention", f"retention is {retention}: messages that no consumer wants are not stored.", at_once=True
        )
    if config.get("no_ack"):
        yield Loss("no_ack", "no_ack is set: nobody learns whether a message was stored.", at_once=True)
    if config.get("sealed"):
        yield Loss("sealed", "it is sealed: it takes no messages.", at_once=True)
    if config.get("mirror"):
        yield Loss("mirror", "it is a mirror: it takes no messages.", at_once=True)
    if per_subject and config.get("max_msgs_per_subject", -1) == 1:
        yield Loss(
            "max_msgs_per_subject", "max_msgs_per_subject is 1: each message removes the one before it.", at_once=True
        )
    yield from _in_time(config)


def _in_time(config: Mapping[str, Any]) -> Iterator[Loss]:
    if config.get("storage", "file") == "memory":
        yield Loss("storage", "storage is memory: all of it is lost when its servers restart.", at_once=False)
    if config.get("discard", "old") == "old":
        for field in ("max_msgs", "max_bytes"):
            if (most := config.get(field, -1)) > 0:
                sentence = f"{field} is {most} and discard is old: the oldest messages are removed for new ones."
                yield Loss(field, sentence, at_once=False)
    if 0 < (age := config.get("max_age", 0)) < SHORTEST_AGE_NS:
        yield Loss("max_age", f"max_age is {age / HOUR_NS:.3g} h: messages are removed after that.", at_once=False)
