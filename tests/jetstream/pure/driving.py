"""Helpers that drive the client's machines: statuses as servers word them, and readers of actions."""

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from penstock_jetstream.core.actions import Action, End, Pull, Report, WakeAt
from penstock_jetstream.core.consume import Consume
from penstock_jetstream.core.fetch import Fetch
from penstock_jetstream.core.options import ConsumeOptions, FetchOptions
from penstock_jetstream.core.statuses import Kind, Status, read_status

SIZE = 100
"""Bytes of each message."""

STATUSES: dict[str, Kind] = {
    "100 Idle Heartbeat": Kind.HEARTBEAT,
    "100 FlowControl Request": Kind.FLOW_CONTROL,
    "400 Bad Request - heartbeat value too large": Kind.BAD_REQUEST,
    "400 Bad Request - Not a Pinned Client Priority consumer": Kind.NO_PINS,
    "404 No Messages": Kind.NO_MESSAGES,
    "408 Request Timeout": Kind.EXPIRED,
    "408 Interest Expired": Kind.INTEREST_GONE,
    "408 Requests Pending": Kind.OTHERS_WAIT,
    "409 Message Size Exceeds MaxBytes": Kind.TOO_LARGE,
    "409 Batch Completed": Kind.COMPLETED,
    "409 Exceeded MaxRequestBatch of 10": Kind.LIMIT_EXCEEDED,
    "409 Exceeded MaxRequestExpires of 5s": Kind.LIMIT_EXCEEDED,
    "409 Exceeded MaxRequestMaxBytes of 1000": Kind.LIMIT_EXCEEDED,
    "409 Exceeded MaxWaiting": Kind.QUEUE_FULL,
    "409 Consumer Deleted": Kind.DELETED,
    "409 Consumer is push based": Kind.PUSH_BASED,
    "409 Leadership Change": Kind.LEADER_MOVED,
    "409 Server Shutdown": Kind.SERVER_STOPPING,
    "412 Required Api Level": Kind.API_LEVEL,
    "423 Nats-Wrong-Pin-Id": Kind.WRONG_PIN,
    "423 Nats-Pin-Id mismatch": Kind.WRONG_PIN,
    "503 ": Kind.UNAVAILABLE,
    "409 Consumer Moved To Mars": Kind.UNKNOWN,
    "418 I'm a teapot": Kind.UNKNOWN,
}
"""Each status in each wording of the servers, and two that no server sends yet."""

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


def only(kind: type[A], actions: Sequence[object]) -> list[A]:
    return [action for action in actions if isinstance(action, kind)]


def pulls(actions: Sequence[object]) -> list[dict[str, Any]]:
    """Return the bodies of the pulls among the actions."""
    return [json.loads(action.body) for action in only(Pull, actions)]


def batches(actions: Sequence[object]) -> list[int]:
    return [pull["batch"] for pull in pulls(actions)]


def wake_at(actions: Sequence[object]) -> float:
    """Return when the machine asks to be called again."""
    return only(WakeAt, actions)[-1].time


def reported(actions: Sequence[object]) -> list[str]:
    """Return the names of the errors that were reported."""
    return [type(action.error).__name__ for action in only(Report, actions)]


def end_error(actions: Sequence[object]) -> Exception | None:
    """Return the error of the end, which must be the only action."""
    (end,) = actions
    assert isinstance(end, End)
    return end.error
