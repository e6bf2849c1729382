"""From an error of the client library to what plans understand: a reason, a sentence, and whether it may pass.

Knows the library's errors, and the server's codes by name. Does not know what was asked, beyond what the error says.
The library speaks to programmers; where a sentence names an argument of its own, it is told here as manifests have it.
"""

import ssl

from penstock_jetstream.errors import (
    ApiError,
    AuthenticationError,
    ConflictError,
    ErrorCode,
    JetStreamError,
    LinkError,
    MissingError,
    NoRespondersError,
    ProtocolError,
    RequestTimeoutError,
    RetryableError,
)
from penstock_operator.plan.decision import Failure
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Missing, Unknown

NO_JETSTREAM = frozenset({ErrorCode.NOT_ENABLED_FOR_ACCOUNT, ErrorCode.NOT_ENABLED, ErrorCode.NO_ACCOUNT})
LEADERLESS = frozenset(
    {
        ErrorCode.CLUSTER_NOT_ACTIVE,
        ErrorCode.CLUSTER_NOT_ASSIGNED,
        ErrorCode.CLUSTER_NOT_AVAILABLE,
        ErrorCode.CLUSTER_NOT_LEADER,
        ErrorCode.STREAM_OFFLINE,
        ErrorCode.STREAM_OFFLINE_REASON,
        ErrorCode.CONSUMER_OFFLINE,
        ErrorCode.CONSUMER_OFFLINE_REASON,
    }
)
"""It is there, but whoever could tell of it is not."""
ROOM_MAY_BE_MADE = frozenset(
    {
        ErrorCode.ACCOUNT_RESOURCES_EXCEEDED,
        ErrorCode.MAXIMUM_CONSUMERS_LIMIT,
        ErrorCode.MAXIMUM_STREAMS_LIMIT,
        ErrorCode.STREAM_LIMITS_EXCEEDED,
    }
)
"""The request stays as it is, and works when something else is deleted."""

_IN_MANIFESTS = (
    (", or say which it has: Tls(server_name=...)", ""),
    ("Tls(ca=...)", "tls.caSecretRef"),
    ("Tls(certificate=..., key=...)", "tls.clientCertificateSecretRef"),
    ("Tls(handshake_first=True)", "tls.handshakeFirst: true"),
    ("handshake_first", "tls.handshakeFirst"),
    ("; or use create_or_update", ""),
)


def failure(problem: JetStreamError) -> Failure:
    """Return why something could not be done."""
    reason, passing = _meaning(problem)
    return Failure(reason, told(problem), passing, _err_code(problem))


def unseen(problem: JetStreamError, *, consumer: bool) -> Missing | Unknown:
    """Return what is known of a stream or a consumer that could not be seen."""
    itself = ErrorCode.CONSUMER_NOT_FOUND if consumer else ErrorCode.STREAM_NOT_FOUND
    if isinstance(problem, MissingError) and problem.err_code == itself:
        return Missing()
    return Unknown(_meaning(problem)[0], told(problem), _err_code(problem))


def no_link(problem: JetStreamError) -> Reason:
    """Return why there is no link, from what became of an attempt to have one."""
    if isinstance(problem, AuthenticationError):
        return Reason.UNAUTHORIZED
    return Reason.TLS_FAILED if isinstance(problem.__cause__, ssl.SSLError) else Reason.UNREACHABLE


def told(problem: JetStreamError) -> str:
    """Return the sentence, in the words of manifests."""
    text = str(problem)
    for argument, field in _IN_MANIFESTS:
        text = text.replace(argument, field)
    return text


def _err_code(problem: JetStreamError) -> int | None:
    return problem.err_code if isinstance(problem, ApiError) else None


def _meaning(problem: JetStreamError) -> tuple[Reason, bool]:
    if isinstance(problem, ApiError):
        return _meaning_of_refusal(problem)
    if isinstance(problem, NoRespondersError):
        return Reason.NO_JETSTREAM, True
    if isinstance(problem, AuthenticationError):
        return Reason.UNAUTHORIZED, True
    if isinstance(problem, LinkError | RequestTimeoutError | ProtocolError):
        return Reason.UNREACHABLE, True
    return Reason.INVALID, False


def _meaning_of_refusal(problem: ApiError) -> tuple[Reason, bool]:
    if problem.err_code in NO_JETSTREAM:
        return Reason.NO_JETSTREAM, True
    if problem.err_code in LEADERLESS:
        return Reason.UNREACHABLE, True
    if problem.err_code == ErrorCode.REQUIRED_API_LEVEL:
        return Reason.LEVEL_TOO_LOW, False
    if isinstance(problem, MissingError):
        missing_stream = problem.err_code == ErrorCode.STREAM_NOT_FOUND
        return (Reason.STREAM_NOT_FOUND if missing_stream else Reason.MISSING), True
    passing = isinstance(problem, RetryableError | ConflictError) or problem.err_code in ROOM_MAY_BE_MADE
    return Reason.REFUSED, passing
