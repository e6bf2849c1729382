"""Errors that JetStream's API answers with, as types that `except` can tell apart.

Knows how to read an error object, however malformed, and how to say it. Does not know the codes (codes.py), what they
mean (kinds.py) or what to do about them (advice.py).
"""

from collections.abc import Mapping

from penstock_jetstream.errors.advice import advice_for
from penstock_jetstream.errors.family import JetStreamError
from penstock_jetstream.errors.kinds import Kind, kind_of

_SHOWN_TEXT = 500
"""A description is the server's, and may quote a whole request: beyond this many letters nobody reads it."""


class ApiError(JetStreamError):
    """The server understood a request and refused it. Only `err_code` tells why; `code` is HTTP-like, and lies."""

    kind = Kind.PERMANENT

    def __init__(
        self,
        *,
        operation: str,
        object: str,  # noqa: A002 - at the call nothing else reads as well
        code: int = 0,
        err_code: int = 0,
        description: str = "",
    ) -> None:
        reason = f": \u201c{description[:_SHOWN_TEXT]}\u201d" if description else ""
        super().__init__(
            f"{object[:1].upper()}{object[1:]} could not be {operation}{reason} (err_code {err_code}).",
            advice=advice_for(err_code),
        )
        self.operation = operation
        self.object = object
        self.code = code
        self.err_code = err_code
        self.description = description


class PermanentError(ApiError):
    """The same request fails until a person changes it, or the server."""

    kind = Kind.PERMANENT


class RetryableError(ApiError):
    """The same request may work later."""

    kind = Kind.RETRYABLE


class MissingError(ApiError):
    """The stream, consumer, message or server that the request is about does not exist."""

    kind = Kind.MISSING


class ConflictError(ApiError):
    """Someone else was first: a name in use, subjects taken, another last sequence."""

    kind = Kind.CONFLICT


_CLASSES: Mapping[Kind, type[ApiError]] = {
    each.kind: each for each in (PermanentError, RetryableError, MissingError, ConflictError)
}


def api_error(error: object, *, operation: str, object: str) -> ApiError:  # noqa: A002 - as ApiError has it
    """Make an error of an answer's `error`: the operation as "created" or "purged", the object as "stream ORDERS".

    A malformed one still becomes an error: what can be read is kept, the rest is 0 or empty.
    """
    fields = error if isinstance(error, Mapping) else {"description": error}
    err_code = _number(fields.get("err_code"))
    return _CLASSES[kind_of(err_code)](
        operation=operation,
        object=object,
        code=_number(fields.get("code")),
        err_code=err_code,
        description=_text(fields.get("description")),
    )


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else repr(value)
