"""The statuses that a server sends to a pull's inbox, told apart.

Knows every status of the servers 2.11 to 2.15, and the two headers that say how much of a request was left. Does not
know what follows from one: that differs between consume and fetch. A status has a code and a text because that is all
there is; errors of the API, which have codes of their own, are told apart by those alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto


class Kind(Enum):
    """What a status says."""

    HEARTBEAT = auto()
    FLOW_CONTROL = auto()
    NO_MESSAGES = auto()
    EXPIRED = auto()
    INTEREST_GONE = auto()
    OTHERS_WAIT = auto()
    TOO_LARGE = auto()
    COMPLETED = auto()
    LIMIT_EXCEEDED = auto()
    QUEUE_FULL = auto()
    DELETED = auto()
    PUSH_BASED = auto()
    LEADER_MOVED = auto()
    SERVER_STOPPING = auto()
    WRONG_PIN = auto()
    NO_PINS = auto()
    BAD_REQUEST = auto()
    API_LEVEL = auto()
    UNAVAILABLE = auto()
    UNKNOWN = auto()


BY_CODE = {
    400: Kind.BAD_REQUEST,
    404: Kind.NO_MESSAGES,
    408: Kind.EXPIRED,
    412: Kind.API_LEVEL,
    423: Kind.WRONG_PIN,
    503: Kind.UNAVAILABLE,
}
"""What a code means whatever its text: a pin is wrong in two wordings, and new ones must not surprise us."""

BY_TEXT = {
    (100, "idle heartbeat"): Kind.HEARTBEAT,
    (100, "flowcontrol request"): Kind.FLOW_CONTROL,
    (400, "bad request - not a pinned client"): Kind.NO_PINS,
    (408, "interest expired"): Kind.INTEREST_GONE,
    (408, "requests pending"): Kind.OTHERS_WAIT,
    (409, "message size exceeds maxbytes"): Kind.TOO_LARGE,
    (409, "batch completed"): Kind.COMPLETED,
    (409, "exceeded maxwaiting"): Kind.QUEUE_FULL,
    (409, "exceeded maxrequest"): Kind.LIMIT_EXCEEDED,
    (409, "consumer deleted"): Kind.DELETED,
    (409, "consumer is push based"): Kind.PUSH_BASED,
    (409, "leadership change"): Kind.LEADER_MOVED,
    (409, "server shutdown"): Kind.SERVER_STOPPING,
}
"""How the texts of the other statuses begin."""


def kind_of(code: int, description: str) -> Kind:
    text = description.casefold()
    for (known_code, beginning), kind in BY_TEXT.items():
        if code == known_code and text.startswith(beginning):
            return kind
    return BY_CODE.get(code, Kind.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Status:
    """One status. `request` is the number of the request that it answers, 0 where that cannot be told."""

    kind: Kind
    code: int
    description: str
    request: int = 0
    left_messages: int | None = None
    left_bytes: int | None = None


def read_status(code: int, description: str, headers: Mapping[str, str], *, request: int = 0) -> Status:
    return Status(
        kind_of(code, description),
        code,
        description,
        request,
        left_messages=_count(headers.get("Nats-Pending-Messages")),
        left_bytes=_count(headers.get("Nats-Pending-Bytes")),
    )


def _count(text: str | None) -> int | None:
    """Return a count; what is none is as good as absent, as the request ended either way."""
    return int(text) if text and text.isascii() and text.isdigit() else None
