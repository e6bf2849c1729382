"""What a direct get is refused with.

Knows the statuses that have no error code. Does not know those that have one: they are an ApiError, as elsewhere.
"""

from collections.abc import Mapping

from penstock_jetstream.errors.family import JetStreamError

_ADVICE: Mapping[int, str] = {
    408: "The server takes the request for empty or for contradicting itself: is it older than what was asked for?",
    413: "More than 1024 subjects match: ask for fewer, or read the range.",
}


class DirectGetError(JetStreamError):
    """The server answered a direct get with a status, such as 408 (cannot be read) or 413 (too many results)."""

    def __init__(self, object: str, *, status: int, description: str) -> None:  # noqa: A002 - as ApiError has it
        super().__init__(
            f"{object[:1].upper()}{object[1:]} could not be read: \u201c{description}\u201d (status {status}).",
            advice=_ADVICE.get(status, ""),
        )
        self.status = status
        self.description = description
