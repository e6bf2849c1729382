"""Drives a machine of the core through a story: statuses as servers word them, and what the machine did, in brief.

Knows how to read actions. Does not know what ought to happen.
"""

import json
from typing import Any, TypeVar

from penstock_jetstream.core.actions import Action, Pull, Report, WakeAt
from penstock_jetstream.core.consume import Consume
from penstock_jetstream.core.fetch import Fetch
from penstock_jetstream.core.options import ConsumeOptions, FetchOptions
from penstock_jetstream.core.statuses import Status, read_status

SIZE = 100
"""What every message weighs here."""

A = TypeVar("A")


def consume(**options: Any) -> Consume:  # noqa: ANN401 - the fields of ConsumeOptions
    return Consume(ConsumeOptions(**options), stream="ORDERS", consumer="etl")


def fetch(**options: Any) -> Fetch:  # noqa: ANN401 - the fields of FetchOptions
    return Fetch(FetchOptions(**options), stream="ORDERS", consumer="etl")


def status(text: str, *, request: int = 0, messages: int | None = None, size_bytes: int | None = None) -> Status:
    """Read a status as `408 Request Timeout`, with or without the headers that say what was left."""
    code, _, description = text.partition(" ")
    headers = {}
    if messages is not None:
        headers["Nats-Pending-Messages"] = str(messages)
    if size_bytes is not None:
        headers["Nats-Pending-Bytes"] = str(size_bytes)
    return read_status(int(code), description, headers, request=request)


def only(kind: type[A], actions: list[Action]) -> list[A]:
    return [action for action in actions if isinstance(action, kind)]


def pulls(actions: list[Action]) -> list[dict[str, Any]]:
    """Return the bodies of the pulls among the actions."""
    return [json.loads(action.body) for action in only(Pull, actions)]


def batches(actions: list[Action]) -> list[int]:
    return [pull["batch"] for pull in pulls(actions)]


def wake_at(actions: list[Action]) -> float:
    """Return when it wants to be woken."""
    return only(WakeAt, actions)[-1].time


def reported(actions: list[Action]) -> list[str]:
    """Return the names of the errors that were reported."""
    return [type(action.error).__name__ for action in only(Report, actions)]
