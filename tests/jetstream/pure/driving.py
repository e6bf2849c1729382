"""Helpers that drive the machines of consume and fetch: statuses as servers word them, and readers of actions."""

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from penstock_jetstream.core.actions import Action, End, Pull, Report, WakeAt
from penstock_jetstream.core.consume import Consume
from penstock_jetstream.core.fetch import Fetch
from penstock_jetstream.core.options import ConsumeOptions, FetchOptions
from penstock_jetstream.core.statuses import Status, read_status

SIZE = 100
"""Bytes of each message."""

A = TypeVar("A")


def consume(**options: Any) -> Consume:  # noqa: ANN401 - the fields of ConsumeOptions
    """Return a consume that has not started; its buffer has ten messages unless the options give a limit."""
    limits = {} if "max_bytes" in options else {"max_messages": 10}
    return Consume(ConsumeOptions(**{**limits, **options}), stream="ORDERS", consumer="etl")


def started(**options: Any) -> Consume:  # noqa: ANN401 - the fields of ConsumeOptions
    """Return a consume that made its first pull at 0 s."""
    machine = consume(**options)
    machine.start(0)
    return machine


def fetch(*, pin_id: str = "", **options: Any) -> Fetch:  # noqa: ANN401 - the fields of FetchOptions
    return Fetch(FetchOptions(**options), stream="ORDERS", consumer="etl", pin_id=pin_id)


def status(text: str, *, request: int = 0, messages: int | None = None, size_bytes: int | None = None) -> Status:
    """Read a status as `408 Request Timeout`, with or without the headers that say what was left."""
    code, _, description = text.partition(" ")
    left = {"Nats-Pending-Messages": messages, "Nats-Pending-Bytes": size_bytes}
    headers = {name: str(value) for name, value in left.items() if value is not None}
    return read_status(int(code), description, headers, request=request)


def consumed(machine: Consume, messages: int, now: float) -> list[Action]:
    """Let messages arrive and be processed at once."""
    size_bytes = messages * SIZE
    return [*machine.arrived(messages, size_bytes, now), *machine.processed(messages, size_bytes, now)]


def only(kind: type[A], actions: list[Action]) -> list[A]:
    return [action for action in actions if isinstance(action, kind)]


def pulls(actions: list[Action]) -> list[dict[str, Any]]:
    """Return the bodies of the pulls among the actions."""
    return [json.loads(action.body) for action in only(Pull, actions)]


def batches(actions: list[Action]) -> list[int]:
    return [pull["batch"] for pull in pulls(actions)]


def wake_at(actions: list[Action]) -> float:
    """Return when the machine asks to be called again."""
    return only(WakeAt, actions)[-1].time


def reported(actions: list[Action]) -> list[str]:
    """Return the names of the errors that were reported."""
    return [type(action.error).__name__ for action in only(Report, actions)]


def end_error(actions: Sequence[object]) -> Exception | None:
    """Return the error of the end, which must be the only action."""
    (end,) = actions
    assert isinstance(end, End)
    return end.error
