"""What can go wrong, each with what happened, where, why, and what to do.

Knows the families of errors, and the server's error codes. Does not know who raises or catches them.
Guilt is in the type: UsageError is the caller's, ApiError and its kin the server's, LinkError the connection's, and
ConsumeError tells what happened to a consumer that is read.
"""

from penstock_jetstream.errors.api import (
    ApiError,
    ConflictError,
    MissingError,
    PermanentError,
    RetryableError,
    api_error,
)
from penstock_jetstream.errors.codes import ErrorCode
from penstock_jetstream.errors.consuming import (
    AckWaitOverError,
    BadRequestError,
    ConsumeError,
    ConsumerDeletedError,
    HeartbeatMissedError,
    MessageTooLargeError,
    NoLeaderOrMissingError,
    PinTimeoutError,
    PullUnansweredError,
    PullWithoutLinkError,
    PushBasedError,
    RequestLostError,
    RequestRefusedError,
    RequiredLevelError,
    UnknownStatusError,
)
from penstock_jetstream.errors.family import (
    AuthenticationError,
    BufferFullError,
    ClosedError,
    JetStreamError,
    LinkError,
    NoRespondersError,
    ProtocolError,
    RequestTimeoutError,
    UsageError,
)
from penstock_jetstream.errors.kinds import Kind
from penstock_jetstream.errors.listing import IncompleteListError
from penstock_jetstream.errors.subscribing import (
    ConsumerMismatchError,
    DuplicateSubscriptionError,
    GapError,
    NoMatchingStreamError,
    StreamRestartedError,
    SubscriptionError,
)

__all__ = [
    "AckWaitOverError",
    "ApiError",
    "AuthenticationError",
    "BadRequestError",
    "BufferFullError",
    "ClosedError",
    "ConflictError",
    "ConsumeError",
    "ConsumerDeletedError",
    "ConsumerMismatchError",
    "DuplicateSubscriptionError",
    "ErrorCode",
    "GapError",
    "HeartbeatMissedError",
    "IncompleteListError",
    "JetStreamError",
    "Kind",
    "LinkError",
    "MessageTooLargeError",
    "MissingError",
    "NoLeaderOrMissingError",
    "NoMatchingStreamError",
    "NoRespondersError",
    "PermanentError",
    "PinTimeoutError",
    "ProtocolError",
    "PullUnansweredError",
    "PullWithoutLinkError",
    "PushBasedError",
    "RequestLostError",
    "RequestRefusedError",
    "RequestTimeoutError",
    "RequiredLevelError",
    "RetryableError",
    "StreamRestartedError",
    "SubscriptionError",
    "UnknownStatusError",
    "UsageError",
    "api_error",
]
