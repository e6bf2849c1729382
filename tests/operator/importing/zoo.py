"""Streams and consumers that between them use every field that a server takes without others to talk to."""

from typing import Any

MINUTE = 60 * 10**9

STREAMS: tuple[dict[str, Any], ...] = (
    {"name": "PLAIN"},
    {"name": "plain", "subjects": ["plain.>"], "storage": "memory", "retention": "workqueue"},
    {
        "name": "All_Of-it",
        "description": "One of each: 'quoted', ünïcode, and a\nline",
        "subjects": ["all.>", "each.*"],
        "retention": "interest",
        "max_consumers": 12,
        "max_msgs": 100_000,
        "max_bytes": 10 << 20,
        "discard": "new",
        "discard_new_per_subject": True,
        "max_age": 90 * MINUTE,
        "max_msgs_per_subject": 50,
        "max_msg_size": 65_537,
        "no_ack": True,
        "duplicate_window": MINUTE + 1,
        "compression": "s2",
        "first_seq": 1000,
        "subject_transform": {"src": "each.*", "dest": "every.{{wildcard(1)}}"},
        "republish": {"src": "all.>", "dest": "again.all.>", "headers_only": True},
        "deny_delete": True,
        "deny_purge": True,
        "allow_direct": True,
        "metadata": {"owner": "orders"},
        "consumer_limits": {"inactive_threshold": 60 * MINUTE, "max_ack_pending": 500},
        "allow_msg_ttl": True,
    },
    {
        "name": "schedules",
        "subjects": ["schedules"],
        "allow_rollup_hdrs": True,
        "allow_msg_ttl": True,
        "subject_delete_marker_ttl": 5 * MINUTE,
        "allow_msg_schedules": True,
    },
    {"name": "batches", "allow_atomic": True, "allow_batched": True},
    {"name": "lazily", "persist_mode": "async"},
    {"name": "counted", "allow_msg_counter": True, "allow_direct": True},
    {
        "name": "mirrored",
        "mirror": {"name": "counted", "opt_start_seq": 5, "filter_subject": "counted"},
        "mirror_direct": True,
    },
    {
        "name": "gathered",
        "subjects": ["gathered"],
        "sources": [
            {"name": "counted", "opt_start_time": "2026-01-02T03:04:05Z"},
            {"name": "lazily", "subject_transforms": [{"src": "lazily", "dest": "at-last"}]},
            {"name": "FAR", "external": {"api": "far.api", "deliver": "far.deliver"}},
        ],
    },
)

NEWER_THAN_2_11 = {"allow_msg_counter", "allow_atomic", "allow_batched", "allow_msg_schedules", "persist_mode"}

BUCKETS: tuple[dict[str, Any], ...] = (
    {
        "name": "KV_settings",
        "subjects": ["$KV.settings.>"],
        "max_msgs_per_subject": 5,
        "discard": "new",
        "deny_delete": True,
        "allow_rollup_hdrs": True,
        "allow_direct": True,
    },
    {
        "name": "OBJ_files",
        "subjects": ["$O.files.C.>", "$O.files.M.>"],
        "discard": "new",
        "allow_rollup_hdrs": True,
        "allow_direct": True,
    },
)
"""As clients make them for a key-value bucket and an object store."""

CONSUMERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("PLAIN", {"durable_name": "silent"}),
    ("PLAIN", {"durable_name": "explicit", "ack_policy": "explicit"}),
    ("plain", {"durable_name": "explicit", "ack_policy": "explicit"}),
    (
        "batches",
        {
            "durable_name": "PULLS",
            "description": "One of each for pulling",
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": 7,
            "ack_policy": "explicit",
            "max_deliver": 5,
            "backoff": [10**9, 5 * 10**9, MINUTE],
            "filter_subjects": ["batches"],
            "replay_policy": "original",
            "sample_freq": "50%",
            "max_waiting": 20,
            "max_ack_pending": 300,
            "headers_only": True,
            "max_batch": 100,
            "max_expires": 30 * 10**9,
            "max_bytes": 1 << 20,
            "inactive_threshold": 30 * MINUTE,
            "num_replicas": 1,
            "mem_storage": True,
            "metadata": {"owner": "orders"},
        },
    ),
    (
        "batches",
        {
            "durable_name": "pushed",
            "deliver_subject": "pushed.here",
            "deliver_group": "workers",
            "deliver_policy": "by_start_time",
            "opt_start_time": "2026-01-02T03:04:05Z",
            "ack_policy": "all",
            "ack_wait": 10 * 10**9,
            "filter_subject": "batches",
            "flow_control": True,
            "idle_heartbeat": 5 * 10**9,
            "rate_limit_bps": 1_024_000,
        },
    ),
    (
        "lazily",
        {
            "durable_name": "pinned",
            "deliver_policy": "last_per_subject",
            "filter_subject": "lazily",
            "ack_policy": "explicit",
            "priority_policy": "pinned_client",
            "priority_timeout": 3 * MINUTE,
            "priority_groups": ["one"],
        },
    ),
    (
        "lazily",
        {
            "durable_name": "overflows",
            "deliver_policy": "new",
            "ack_policy": "explicit",
            "priority_policy": "overflow",
            "priority_groups": ["one"],
        },
    ),
    (
        "lazily",
        {
            "durable_name": "paused",
            "deliver_policy": "last",
            "ack_policy": "explicit",
            "pause_until": "2099-01-02T03:04:05Z",
            "max_ack_pending": -1,
        },
    ),
)
