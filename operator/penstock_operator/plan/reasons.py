"""Why a condition is as it is, in one word for programs. Every reason that Penstock gives stands here."""

from enum import StrEnum


class Reason(StrEnum):
    """In the order in which an object's life may meet them."""

    # Ready and Synced: all is well
    IN_SYNC = "InSync"
    CREATED = "Created"
    ADOPTED = "Adopted"
    UPDATED = "Updated"
    RECREATED = "Recreated"
    FITS = "Fits"
    # it works, and may surprise
    DOUBTFUL = "Doubtful"
    # on purpose
    PAUSED = "Paused"
    OBSERVED = "Observed"
    # it waits
    CONNECTION_NOT_FOUND = "ConnectionNotFound"
    CONNECTION_NOT_ALLOWED = "ConnectionNotAllowed"
    CONNECTION_NOT_READY = "ConnectionNotReady"
    STREAM_NOT_FOUND = "StreamNotFound"
    STREAM_NOT_READY = "StreamNotReady"
    CONSUMER_NOT_FOUND = "ConsumerNotFound"
    CONSUMER_NOT_READY = "ConsumerNotReady"
    SECRET_NOT_FOUND = "SecretNotFound"  # noqa: S105 - a reason, not a secret
    SECRET_INVALID = "SecretInvalid"  # noqa: S105 - a reason, not a secret
    # it cannot be
    INVALID = "Invalid"
    CONFLICT = "Conflict"
    LEVEL_TOO_LOW = "ServerTooOld"
    IMMUTABLE = "Immutable"
    REFUSED = "Refused"
    MADE_BY_SERVER = "MadeByServer"
    MOVED = "Moved"
    # it differs
    DRIFTED = "Drifted"
    MISSING = "Missing"
    # a queue group works, or will in a moment
    WORKING = "Working"
    SCALED_TO_ZERO = "ScaledToZero"
    SUSPENDED = "Suspended"
    STARTING = "Starting"
    ROLLING_OUT = "RollingOut"
    SCALED = "Scaled"
    EXTERNAL = "External"
    # how many workers it has, and why: the same words as plan.scaling has
    BACKLOG = "Backlog"
    IDLE = "Idle"
    WAITING_FOR_IDLE = "WaitingForIdle"
    AT_MINIMUM = "AtMinimum"
    AT_MAXIMUM = "AtMaximum"
    LIMITED_BY_MAX_ACK_PENDING = "LimitedByMaxAckPending"
    LIMITED_BY_QUOTA = "LimitedByQuota"
    MORE_WORKERS_DO_NO_MORE = "MoreWorkersDoNoMore"
    STABILIZING = "Stabilizing"
    BACKLOG_UNKNOWN = "BacklogUnknown"
    # a queue group cannot have workers, or they cannot work
    TEMPLATE_REFUSED = "TemplateRefused"
    SECRET_ELSEWHERE = "SecretElsewhere"  # noqa: S105 - a reason, not a secret
    NAME_TAKEN = "NameTaken"
    PODS_REFUSED = "PodsRefused"
    UNSCHEDULABLE = "Unschedulable"
    IMAGE_NOT_PULLED = "ImageNotPulled"
    CODE_NOT_FOUND = "CodeNotFound"
    CODE_FAILED = "CodeFailed"
    SPARK_FAILED = "SparkFailed"
    CRASHING = "Crashing"
    CIRCUIT_OPEN = "CircuitOpen"
    # messages that a queue group never processed
    NOTHING_LOST = "NothingLost"
    MESSAGES_EXPIRED = "MessagesExpired"
    MESSAGES_GIVEN_UP = "MessagesGivenUp"
    # the server cannot be asked
    CONNECTING = "Connecting"
    UNREACHABLE = "Unreachable"
    TLS_FAILED = "TlsFailed"
    UNAUTHORIZED = "Unauthorized"
    NO_JETSTREAM = "NoJetStream"
    CONNECTED = "Connected"
    # the end
    DELETING = "Deleting"
    RETAINED = "Retained"
    DELETED = "Deleted"
    ABANDONED = "Abandoned"
