"""What a code means for whoever meets it: try again, look elsewhere, resolve a conflict, or change the request.

Knows which codes are worth another attempt. Does not know the HTTP-like number beside them, which lies: the server says
500 to most requests that no repetition will ever make right, and 400 to some that only need a little patience.
"""

from enum import StrEnum

from penstock_jetstream.errors.codes import ErrorCode


class Kind(StrEnum):
    """How an error is to be met."""

    PERMANENT = "permanent"
    """The same request fails until a person changes it, or the server."""
    RETRYABLE = "retryable"
    """The same request may work later: something was not there yet, or there is no room now."""
    MISSING = "missing"
    """What the request is about does not exist."""
    CONFLICT = "conflict"
    """Someone else was first: look at what is there, then decide anew."""


RETRYABLE = frozenset(
    {
        ErrorCode.CLUSTER_INCOMPLETE,
        ErrorCode.CLUSTER_NO_PEERS,
        ErrorCode.CLUSTER_NOT_ASSIGNED,
        ErrorCode.CLUSTER_NOT_AVAILABLE,
        ErrorCode.CLUSTER_NOT_LEADER,
        ErrorCode.CLUSTER_SERVER_MEMBER_CHANGE_INFLIGHT,
        ErrorCode.INSUFFICIENT_RESOURCES,
        ErrorCode.MEMORY_RESOURCES_EXCEEDED,
        ErrorCode.STORAGE_RESOURCES_EXCEEDED,
        ErrorCode.TEMP_STORAGE_FAILED,
        ErrorCode.RAFT_GENERAL_ERROR,
        ErrorCode.PEER_REMAP_FAILED,
        ErrorCode.STREAM_ASSIGNMENT_FAILED,
        ErrorCode.STREAM_CREATE_FAILED,
        ErrorCode.STREAM_DELETE_FAILED,
        ErrorCode.STREAM_INVALID,
        ErrorCode.STREAM_OFFLINE,
        ErrorCode.STREAM_SNAPSHOT_FAILED,
        ErrorCode.STREAM_STORE_FAILED,
        ErrorCode.STREAM_MOVE_IN_PROGRESS,
        ErrorCode.STREAM_RECONFIGURE_IN_PROGRESS,
        ErrorCode.STREAM_DUPLICATE_MESSAGE_CONFLICT,
        ErrorCode.STREAM_EXPECTED_LAST_SEQUENCE_PER_SUBJECT_NOT_READY,
        ErrorCode.STREAM_TOO_MANY_REQUESTS,
        ErrorCode.CONSUMER_OFFLINE,
        ErrorCode.CONSUMER_STORE_FAILED,
        ErrorCode.MIRROR_CONSUMER_SETUP_FAILED,
        ErrorCode.SOURCE_CONSUMER_SETUP_FAILED,
        ErrorCode.SOURCE_CONSUMER_FLOW_CONTROL_STALLED,
        ErrorCode.ATOMIC_PUBLISH_TOO_MANY_INFLIGHT,
        ErrorCode.BATCH_PUBLISH_TOO_MANY_INFLIGHT,
    }
)

MISSING = frozenset(
    {
        ErrorCode.STREAM_NOT_FOUND,
        ErrorCode.STREAM_TEMPLATE_NOT_FOUND,
        ErrorCode.CONSUMER_NOT_FOUND,
        ErrorCode.CONSUMER_DOES_NOT_EXIST,
        ErrorCode.NO_MESSAGE_FOUND,
        ErrorCode.SEQUENCE_NOT_FOUND,
        ErrorCode.CLUSTER_PEER_NOT_MEMBER,
        ErrorCode.CLUSTER_SERVER_NOT_MEMBER,
    }
)

CONFLICT = frozenset(
    {
        ErrorCode.STREAM_NAME_EXISTS,
        ErrorCode.STREAM_NAME_EXISTS_RESTORE_FAILED,
        ErrorCode.STREAM_SUBJECT_OVERLAP,
        ErrorCode.STREAM_NOT_MATCH,
        ErrorCode.STREAM_SEQUENCE_NOT_MATCH,
        ErrorCode.STREAM_WRONG_LAST_MESSAGE_ID,
        ErrorCode.STREAM_WRONG_LAST_SEQUENCE,
        ErrorCode.STREAM_WRONG_LAST_SEQUENCE_UNNAMED,
        ErrorCode.STREAM_MIN_LAST_SEQUENCE,
        ErrorCode.CONSUMER_NAME_EXISTS,
        ErrorCode.CONSUMER_ALREADY_EXISTS,
        ErrorCode.CONSUMER_EXISTING_ACTIVE,
        ErrorCode.CONSUMER_REPLACEMENT_WITH_DIFFERENT_NAME,
        ErrorCode.CONSUMER_WORKQUEUE_MULTIPLE_UNFILTERED,
        ErrorCode.CONSUMER_WORKQUEUE_CONSUMER_NOT_UNIQUE,
        ErrorCode.CONSUMER_STREAM_IDENTITY_MISMATCH,
    }
)


def kind_of(err_code: int) -> Kind:
    """Return how to meet a code. One that is not known is permanent: better a person looks than a loop spins."""
    if err_code in RETRYABLE:
        return Kind.RETRYABLE
    if err_code in MISSING:
        return Kind.MISSING
    if err_code in CONFLICT:
        return Kind.CONFLICT
    return Kind.PERMANENT
