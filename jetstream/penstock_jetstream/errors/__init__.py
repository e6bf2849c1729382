"""What can go wrong, each with what happened, where, why, and what to do.

Knows the families of errors; codes.py knows the server's error codes. Does not know who raises or catches them.
Guilt is in the type: UsageError is the caller's, ApiError and its kin the server's, LinkError the connection's.
"""

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

__all__ = [
    "AuthenticationError",
    "BufferFullError",
    "ClosedError",
    "JetStreamError",
    "LinkError",
    "NoRespondersError",
    "ProtocolError",
    "RequestTimeoutError",
    "UsageError",
]
