"""What to do about the error codes that a user meets, one sentence or two for each.

Knows advice. A code without advice of its own speaks for itself in the server's description, or concerns nobody but
the server. Does not know how an error is shown.
"""

from collections.abc import Mapping

from penstock_jetstream.errors.codes import ErrorCode

_LIMIT_OF_ACCOUNT = "Delete what is not needed, or have the limits of the account raised."
_SERVER_FULL = "Free or add storage; the same request works once there is room."
_AGAIN_SOON = "Try again in a moment: the servers are electing or starting."

ADVICE: Mapping[ErrorCode, str] = {
    # the servers, the account
    ErrorCode.ACCOUNT_RESOURCES_EXCEEDED: _LIMIT_OF_ACCOUNT,
    ErrorCode.MAXIMUM_STREAMS_LIMIT: _LIMIT_OF_ACCOUNT,
    ErrorCode.MAXIMUM_CONSUMERS_LIMIT: "Delete consumers that are not needed, or raise max_consumers of the stream.",
    ErrorCode.NO_LIMITS: "Have JetStream limits given to the account for this number of replicas.",
    ErrorCode.NOT_ENABLED: "Enable JetStream in the server's configuration, or connect to a server that has it.",
    ErrorCode.NOT_ENABLED_FOR_ACCOUNT: "Enable JetStream for the account, or use another user or domain.",
    ErrorCode.INSUFFICIENT_RESOURCES: _SERVER_FULL,
    ErrorCode.MEMORY_RESOURCES_EXCEEDED: _SERVER_FULL,
    ErrorCode.STORAGE_RESOURCES_EXCEEDED: _SERVER_FULL,
    ErrorCode.CLUSTER_NO_PEERS: "Not enough servers fit now: start servers, free storage, or ask for fewer replicas "
    "or other placement tags.",
    ErrorCode.CLUSTER_NOT_AVAILABLE: _AGAIN_SOON,
    ErrorCode.CLUSTER_NOT_LEADER: _AGAIN_SOON,
    ErrorCode.CLUSTER_INCOMPLETE: "Not every server answered: try again.",
    ErrorCode.REQUIRED_API_LEVEL: "Upgrade the servers, or leave out what needs the newer API level.",
    ErrorCode.INVALID_JSON: "If a field is said to be unknown, the server is older than the field, or the name is "
    "misspelt: validate the configuration.",
    ErrorCode.PEDANTIC_MODE: "Set the field to what the server would make of it, or ask without pedantic.",
    # streams
    ErrorCode.STREAM_NOT_FOUND: "Create the stream; or check its name, the account and the domain.",
    ErrorCode.STREAM_NAME_EXISTS: "A stream of this name has another configuration: update it, or choose a name.",
    ErrorCode.STREAM_SUBJECT_OVERLAP: "Another stream takes some of these subjects: find it by "
    "subject, and give each subject to one stream.",
    ErrorCode.STREAM_INVALID_CONFIG: "Change the configuration as the reason says; repeating it does not help.",
    ErrorCode.STREAM_MISMATCH: "The name in the configuration must be the one the request is for.",
    ErrorCode.STREAM_MIRROR_NOT_UPDATABLE: "A mirror can only be removed, which promotes the stream; to mirror "
    "something else, create another stream.",
    ErrorCode.STREAM_UPDATE_FAILED: "Existing consumers exceed the new limits: change or delete them first.",
    ErrorCode.STREAM_REPLICAS_NOT_SUPPORTED: "One server alone keeps one replica: set num_replicas to 1, or use a "
    "cluster.",
    ErrorCode.STREAM_MOVE_AND_SCALE: "Change placement and num_replicas in two updates, one after the other.",
    ErrorCode.STREAM_MOVE_IN_PROGRESS: "Wait until the stream has moved, then ask again.",
    ErrorCode.STREAM_RECONFIGURE_IN_PROGRESS: "Wait until the change that is under way is done, then ask again.",
    ErrorCode.STREAM_CREATE_FAILED: "Try again: right after a stream of this name was deleted, its store may still be "
    "in use.",
    ErrorCode.STREAM_DELETE_FAILED: "Try again; if it stays so, look into the server's log.",
    ErrorCode.STREAM_OFFLINE: "The servers that hold the stream are down: start them.",
    ErrorCode.STREAM_OFFLINE_REASON: "Read the reason; a stream that a newer server made needs that server.",
    ErrorCode.STREAM_INVALID: "The stream is being closed: look again whether it exists.",
    ErrorCode.STREAM_SEALED: "A sealed stream can only be read or deleted.",
    ErrorCode.STREAM_MAX_BYTES_REQUIRED: "Set max_bytes: the account requires it of every stream.",
    ErrorCode.STREAM_MAX_STREAM_BYTES_EXCEEDED: "Lower max_bytes, or have the account's limit for one stream raised.",
    ErrorCode.STREAM_LIMITS_EXCEEDED: _LIMIT_OF_ACCOUNT,
    ErrorCode.STREAM_PURGE_FAILED: "The stream has deny_purge, which can never be taken back.",
    ErrorCode.STREAM_ROLLUP_FAILED: "Set allow_rollup_hdrs on the stream; it excludes deny_purge.",
    ErrorCode.STREAM_MESSAGE_DELETE_FAILED: "The stream has deny_delete, which can never be taken back.",
    ErrorCode.STREAM_NAME_CONTAINS_PATH_SEPARATORS: "Use a name without / and \\.",
    ErrorCode.NO_MESSAGE_FOUND: "The message was never there, was deleted, or has expired.",
    ErrorCode.SEQUENCE_NOT_FOUND: "The message was never there, was deleted, or has expired.",
    ErrorCode.SOURCE_DUPLICATE_DETECTED: "Name each source once, or give equal ones different filters.",
    # publishing
    ErrorCode.STREAM_WRONG_LAST_SEQUENCE: "Someone wrote in between: read again, then decide anew.",
    ErrorCode.STREAM_WRONG_LAST_SEQUENCE_UNNAMED: "Someone wrote in between: read again, then decide anew.",
    ErrorCode.STREAM_WRONG_LAST_MESSAGE_ID: "Someone wrote in between: read again, then decide anew.",
    ErrorCode.STREAM_NOT_MATCH: "The subject belongs to another stream than expected: look which one takes it.",
    ErrorCode.STREAM_MESSAGE_EXCEEDS_MAXIMUM: "Make the message smaller, or raise max_msg_size of the stream.",
    ErrorCode.STREAM_HEADER_EXCEEDS_MAXIMUM: "Move what is large from the headers into the payload.",
    ErrorCode.STREAM_STORE_FAILED: "If the stream is full and discards what is new: wait until messages are gone, or "
    "raise its limits.",
    ErrorCode.STREAM_DUPLICATE_MESSAGE_CONFLICT: "A message of this id is being stored: wait, then publish it again.",
    ErrorCode.STREAM_EXPECTED_LAST_SEQUENCE_PER_SUBJECT_NOT_READY: "Other writes to the subject are under way: wait a "
    "moment, then read and decide anew.",
    ErrorCode.STREAM_TOO_MANY_REQUESTS: "Publish more slowly, or wait for acknowledgements.",
    ErrorCode.MESSAGE_TTL_DISABLED: "Set allow_msg_ttl on the stream; it can then never be unset.",
    ErrorCode.MESSAGE_TTL_INVALID: "Give whole seconds, at least 1; or \u201cnever\u201d.",
    ErrorCode.ATOMIC_PUBLISH_DISABLED: "Set allow_atomic on the stream.",
    ErrorCode.ATOMIC_PUBLISH_INCOMPLETE_BATCH: "Some of the batch was lost, or came too late: publish all of it again "
    "under a new id.",
    ErrorCode.ATOMIC_PUBLISH_TOO_LARGE_BATCH: "Publish fewer messages in one batch.",
    ErrorCode.ATOMIC_PUBLISH_TOO_MANY_INFLIGHT: "Commit or give up other batches first; abandoned ones end by "
    "themselves within seconds.",
    ErrorCode.BATCH_PUBLISH_DISABLED: "Set allow_batched on the stream.",
    ErrorCode.MESSAGE_SCHEDULES_DISABLED: "Set allow_msg_schedules on the stream; it can then never be unset.",
    # consumers
    ErrorCode.CONSUMER_NOT_FOUND: "Create the consumer. One without durable_name disappears when it is idle.",
    ErrorCode.CONSUMER_DOES_NOT_EXIST: "Create the consumer before updating it; or use create_or_update.",
    ErrorCode.CONSUMER_ALREADY_EXISTS: "It has another configuration: update it, or choose another name.",
    ErrorCode.CONSUMER_NAME_EXISTS: "Choose another name; or wait until whoever is bound to it lets go.",
    ErrorCode.CONSUMER_NOT_UPDATABLE: "The field that is named is fixed when a consumer is created: delete and create "
    "it, which loses its position, or make another one.",
    ErrorCode.CONSUMER_STORE_FAILED: "Try again; if it stays so, look at the server's disk.",
    ErrorCode.CONSUMER_OFFLINE: "The servers that hold the consumer are down: start them.",
    ErrorCode.CONSUMER_OFFLINE_REASON: "Read the reason; a consumer that a newer server made needs that server.",
    ErrorCode.CONSUMER_CREATE_DURABLE_AND_NAME_MISMATCH: "Give durable_name alone, or name and durable_name alike.",
    ErrorCode.CONSUMER_NAME_CONTAINS_PATH_SEPARATORS: "Use a name without / and \\.",
    ErrorCode.CONSUMER_PULL_REQUIRES_ACK: "A work queue deletes what is acked: set ack_policy to explicit.",
    ErrorCode.CONSUMER_WORKQUEUE_REQUIRES_EXPLICIT_ACK: "A work queue deletes what is acked: set ack_policy to "
    "explicit.",
    ErrorCode.CONSUMER_WORKQUEUE_MULTIPLE_UNFILTERED: "A message of a work queue belongs to one consumer: give each a "
    "filter, or share one consumer.",
    ErrorCode.CONSUMER_WORKQUEUE_CONSUMER_NOT_UNIQUE: "A message of a work queue belongs to one consumer: give each "
    "consumer filters that no other has.",
    ErrorCode.CONSUMER_WORKQUEUE_CONSUMER_NOT_DELIVER_ALL: "A work queue is read from its beginning: set "
    "deliver_policy to all.",
    ErrorCode.CONSUMER_PULL_WITH_RATE_LIMIT: "Leave rate_limit_bps out: whoever pulls sets the pace.",
    ErrorCode.CONSUMER_HEARTBEAT_REQUIRES_PUSH: "Leave idle_heartbeat out: a pull asks for heartbeats itself.",
    ErrorCode.CONSUMER_FLOW_CONTROL_REQUIRES_PUSH: "Leave flow_control out: pulling is the control.",
    ErrorCode.CONSUMER_PUSH_MAX_WAITING: "Leave max_waiting out: it counts pull requests.",
    ErrorCode.CONSUMER_WITH_FLOW_CONTROL_NEEDS_HEARTBEATS: "Set idle_heartbeat too, such as 5 s.",
    ErrorCode.CONSUMER_DELIVER_CYCLE: "Choose a deliver_subject that the stream itself does not take.",
    ErrorCode.CONSUMER_MAX_DELIVER_BACKOFF: "Make max_deliver at least as large as backoff is long, or -1.",
    ErrorCode.CONSUMER_REPLICAS_EXCEEDS_STREAM: "Set num_replicas to at most the stream's, or to 0 to inherit it.",
    ErrorCode.CONSUMER_REPLICAS_SHOULD_MATCH_STREAM: "With interest or work-queue retention leave num_replicas out: "
    "it must be the stream's.",
    ErrorCode.CONSUMER_MAX_ACK_PENDING_EXCESS: "Lower max_ack_pending to the limit of stream, account or server.",
    ErrorCode.CONSUMER_INACTIVE_THRESHOLD_EXCESS: "Lower inactive_threshold to the limit that the stream sets.",
    ErrorCode.CONSUMER_MAX_REQUEST_BATCH_EXCEEDED: "Lower max_batch to the limit of the server.",
    ErrorCode.CONSUMER_CREATE_FILTER_SUBJECT_MISMATCH: "The filter in the request's subject must be filter_subject.",
    ErrorCode.CONSUMER_DUPLICATE_FILTER_SUBJECTS: "Give filter_subject or filter_subjects, not both.",
    ErrorCode.CONSUMER_MULTIPLE_FILTERS_NOT_ALLOWED: "Several filters go into filter_subjects only, never into the "
    "request's subject.",
    ErrorCode.CONSUMER_OVERLAPPING_SUBJECT_FILTERS: "Leave out filters that others include.",
    ErrorCode.CONSUMER_INVALID_POLICY: "opt_start_seq goes with deliver_policy by_start_sequence, opt_start_time with "
    "by_start_time, and last_per_subject needs a filter.",
    ErrorCode.CONSUMER_PRIORITY_POLICY_WITHOUT_GROUP: "Name a group in priority_groups.",
    ErrorCode.CONSUMER_PRIORITY_GROUP_WITH_POLICY_NONE: "Set priority_policy, or leave priority_groups out.",
    ErrorCode.CONSUMER_PINNED_TTL_WITHOUT_PRIORITY_POLICY_NONE: "priority_timeout goes with priority_policy "
    "pinned_client only.",
    ErrorCode.CONSUMER_INVALID_PRIORITY_GROUP: "Use a group that stands in the consumer's priority_groups.",
    ErrorCode.CONSUMER_INVALID_GROUP_NAME: "A group has 1 to 16 letters, digits, or - _ / =.",
    ErrorCode.CONSUMER_PUSH_WITH_PRIORITY_GROUP: "Priority groups are for pull consumers: leave deliver_subject out.",
    ErrorCode.CONSUMER_INVALID_RESET: "With deliver_policy all any sequence will do; by_start_sequence and "
    "by_start_time only reach back to their start; others take no sequence.",
    ErrorCode.CONSUMER_STREAM_IDENTITY_MISMATCH: "The stream was deleted and made anew: begin anew as well.",
}


def advice_for(err_code: int) -> str:
    """Return what to do; nothing where the server's description must do."""
    try:
        return ADVICE.get(ErrorCode(err_code), "")
    except ValueError:
        return ""
