"""Configurations as types, for callers whose editor and type checker are to know the fields.

Knows names and types of fields; a test holds them equal to the tables, which say all the rest. Durations are whole
nanoseconds, times are RFC 3339, as on the wire.
"""

from typing import Literal, TypedDict


class SubjectTransform(TypedDict, total=False):
    src: str
    dest: str


class External(TypedDict, total=False):
    api: str
    deliver: str


class SourceConsumer(TypedDict, total=False):
    name: str
    deliver_subject: str


class StreamSource(TypedDict, total=False):
    name: str
    opt_start_seq: int
    opt_start_time: str
    filter_subject: str
    subject_transforms: list[SubjectTransform]
    external: External
    consumer: SourceConsumer


class Placement(TypedDict, total=False):
    cluster: str
    tags: list[str]
    preferred: str


class Republish(TypedDict, total=False):
    src: str
    dest: str
    headers_only: bool


class ConsumerLimits(TypedDict, total=False):
    inactive_threshold: int
    max_ack_pending: int


class StreamConfig(TypedDict, total=False):
    """The configuration of a stream."""

    name: str
    description: str
    subjects: list[str]
    metadata: dict[str, str]
    retention: Literal["limits", "interest", "workqueue"]
    storage: Literal["file", "memory"]
    discard: Literal["old", "new"]
    discard_new_per_subject: bool
    max_msgs: int
    max_bytes: int
    max_age: int
    max_msgs_per_subject: int
    max_msg_size: int
    max_consumers: int
    compression: Literal["none", "s2"]
    persist_mode: Literal["default", "async"]
    first_seq: int
    consumer_limits: ConsumerLimits
    num_replicas: int
    placement: Placement
    mirror: StreamSource
    sources: list[StreamSource]
    subject_transform: SubjectTransform
    republish: Republish
    no_ack: bool
    duplicate_window: int
    allow_direct: bool
    mirror_direct: bool
    allow_rollup_hdrs: bool
    deny_delete: bool
    deny_purge: bool
    sealed: bool
    allow_msg_ttl: bool
    subject_delete_marker_ttl: int
    allow_msg_counter: bool
    allow_atomic: bool
    allow_msg_schedules: bool
    allow_batched: bool


class ConsumerConfig(TypedDict, total=False):
    """The configuration of a consumer."""

    durable_name: str
    name: str
    description: str
    metadata: dict[str, str]
    deliver_policy: Literal["all", "last", "new", "by_start_sequence", "by_start_time", "last_per_subject"]
    opt_start_seq: int
    opt_start_time: str
    filter_subject: str
    filter_subjects: list[str]
    headers_only: bool
    replay_policy: Literal["instant", "original"]
    ack_policy: Literal["none", "all", "explicit", "flow_control"]
    ack_wait: int
    backoff: list[int]
    max_deliver: int
    max_ack_pending: int
    sample_freq: str
    max_waiting: int
    max_batch: int
    max_expires: int
    max_bytes: int
    priority_policy: Literal["none", "overflow", "pinned_client", "prioritized"]
    priority_groups: list[str]
    priority_timeout: int
    deliver_subject: str
    deliver_group: str
    idle_heartbeat: int
    flow_control: bool
    rate_limit_bps: int
    inactive_threshold: int
    num_replicas: int
    mem_storage: bool
    pause_until: str
    direct: bool
    sourcing: bool
