"""The error for each status that a user should hear of.

Knows which error a status is. Does not know its words (errors/consuming.py), nor whether it ends anything.
"""

from penstock_jetstream.core.statuses import Kind, Status
from penstock_jetstream.errors import (
    BadRequestError,
    ConsumeError,
    ConsumerDeletedError,
    MessageTooLargeError,
    NoLeaderOrMissingError,
    PushBasedError,
    RequestLostError,
    RequestRefusedError,
    RequiredLevelError,
    UnknownStatusError,
)

PLAIN: dict[Kind, type[ConsumerDeletedError | PushBasedError | RequiredLevelError | NoLeaderOrMissingError]] = {
    Kind.DELETED: ConsumerDeletedError,
    Kind.PUSH_BASED: PushBasedError,
    Kind.API_LEVEL: RequiredLevelError,
    Kind.UNAVAILABLE: NoLeaderOrMissingError,
}
"""Those whose description says no more than their code."""

DESCRIBED: dict[Kind, type[BadRequestError | RequestRefusedError | RequestLostError]] = {
    Kind.BAD_REQUEST: BadRequestError,
    Kind.NO_PINS: BadRequestError,
    Kind.LIMIT_EXCEEDED: RequestRefusedError,
    Kind.QUEUE_FULL: RequestRefusedError,
    Kind.LEADER_MOVED: RequestLostError,
    Kind.SERVER_STOPPING: RequestLostError,
}


def refusal(status: Status, *, stream: str, consumer: str, max_bytes: int) -> ConsumeError:
    """Return the error; `max_bytes` is the most that a request could ask for."""
    if (plain := PLAIN.get(status.kind)) is not None:
        return plain(stream=stream, consumer=consumer)
    if (described := DESCRIBED.get(status.kind)) is not None:
        return described(status.description, stream=stream, consumer=consumer)
    if status.kind is Kind.TOO_LARGE:
        return MessageTooLargeError(stream=stream, consumer=consumer, max_bytes=max_bytes)
    return UnknownStatusError(status.code, status.description, stream=stream, consumer=consumer)
