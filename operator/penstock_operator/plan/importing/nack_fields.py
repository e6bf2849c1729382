"""Every field of NACK's Stream and Consumer (v1beta2, of NACK 0.23), and what it is on the server.

Knows the fields that configure the object, and, by NACK's own names, those that say where the server is; what becomes
of these is in nack_connections.py.
"""

from penstock_operator.plan.importing.nack_reading import (
    Table,
    To,
    choice,
    duration,
    durations,
    flag,
    labels,
    number,
    number_unless_0,
    part,
    parts,
    percentage,
    text,
    texts,
)

TRANSFORM: Table = {"source": To("src", text), "dest": To("dest", text)}

SOURCE: Table = {
    "name": To("name", text),
    "optStartSeq": To("opt_start_seq", number_unless_0),
    "optStartTime": To("opt_start_time", text),
    "filterSubject": To("filter_subject", text),
    "externalApiPrefix": To("external.api", text),
    "externalDeliverPrefix": To("external.deliver", text),
    "subjectTransforms": To("subject_transforms", parts(TRANSFORM)),
    "consumer": To("consumer", part({"name": To("name", text), "deliverSubject": To("deliver_subject", text)})),
}

STREAM: Table = {
    "name": To("name", text),
    "description": To("description", text),
    "subjects": To("subjects", texts),
    "retention": To("retention", choice("limits", "interest", "workqueue")),
    "maxConsumers": To("max_consumers", number),
    "maxMsgs": To("max_msgs", number),
    "maxBytes": To("max_bytes", number),
    "discard": To("discard", choice("old", "new")),
    "discardPerSubject": To("discard_new_per_subject", flag),
    "maxAge": To("max_age", duration),
    "maxMsgsPerSubject": To("max_msgs_per_subject", number_unless_0),
    "maxMsgSize": To("max_msg_size", number),
    "storage": To("storage", choice("file", "memory")),
    "replicas": To("num_replicas", number),
    "noAck": To("no_ack", flag),
    "duplicateWindow": To("duplicate_window", duration),
    "placement": To("placement", part({"cluster": To("cluster", text), "tags": To("tags", texts)})),
    "mirror": To("mirror", part(SOURCE)),
    "sources": To("sources", parts(SOURCE)),
    "compression": To("compression", choice("s2", "none")),
    "subjectTransform": To("subject_transform", part(TRANSFORM)),
    "republish": To(
        "republish",
        part({"source": To("src", text), "destination": To("dest", text), "headers_only": To("headers_only", flag)}),
    ),
    "sealed": To("sealed", flag),
    "denyDelete": To("deny_delete", flag),
    "denyPurge": To("deny_purge", flag),
    "allowDirect": To("allow_direct", flag),
    "allowRollup": To("allow_rollup_hdrs", flag),
    "mirrorDirect": To("mirror_direct", flag),
    "firstSequence": To("first_seq", number_unless_0),
    "metadata": To("metadata", labels),
    "consumerLimits": To(
        "consumer_limits",
        part({"inactiveThreshold": To("inactive_threshold", duration), "maxAckPending": To("max_ack_pending", number)}),
    ),
    "allowMsgTtl": To("allow_msg_ttl", flag),
    "subjectDeleteMarkerTtl": To("subject_delete_marker_ttl", duration),
    "allowMsgCounter": To("allow_msg_counter", flag),
    "allowAtomicPublish": To("allow_atomic", flag),
    "allowMsgSchedules": To("allow_msg_schedules", flag),
    "allowBatched": To("allow_batched", flag),
    "persistMode": To("persist_mode", choice("async", "default")),
}

CONSUMER: Table = {
    "durableName": To("durable_name", text),
    "description": To("description", text),
    "deliverPolicy": To(
        "deliver_policy",
        choice(
            "all",
            "last",
            "new",
            byStartSequence="by_start_sequence",
            byStartTime="by_start_time",
            lastPerSubject="last_per_subject",
        ),
    ),
    "optStartSeq": To("opt_start_seq", number_unless_0),
    "optStartTime": To("opt_start_time", text),
    "deliverSubject": To("deliver_subject", text),
    "deliverGroup": To("deliver_group", text),
    "ackPolicy": To("ack_policy", choice("none", "all", "explicit", "flow_control")),
    "ackWait": To("ack_wait", duration),
    "maxDeliver": To("max_deliver", number_unless_0),
    "backoff": To("backoff", durations),
    "filterSubject": To("filter_subject", text),
    "filterSubjects": To("filter_subjects", texts),
    "replayPolicy": To("replay_policy", choice("instant", "original")),
    "sampleFreq": To("sample_freq", percentage),
    "maxWaiting": To("max_waiting", number_unless_0),
    "rateLimitBps": To("rate_limit_bps", number_unless_0),
    "maxAckPending": To("max_ack_pending", number_unless_0),
    "flowControl": To("flow_control", flag),
    "heartbeatInterval": To("idle_heartbeat", duration),
    "headersOnly": To("headers_only", flag),
    "maxRequestBatch": To("max_batch", number_unless_0),
    "maxRequestExpires": To("max_expires", duration),
    "maxRequestMaxBytes": To("max_bytes", number_unless_0),
    "inactiveThreshold": To("inactive_threshold", duration),
    "replicas": To("num_replicas", number_unless_0),
    "memStorage": To("mem_storage", flag),
    "metadata": To("metadata", labels),
    "pauseUntil": To("pause_until", text),
    "priorityPolicy": To("priority_policy", choice("none", "pinned_client", "overflow", "prioritized")),
    "pinnedTtl": To("priority_timeout", duration),
    "priorityGroups": To("priority_groups", texts),
}

OPTIONS: Table = {
    "account": To("account", text),
    "creds": To("creds", text),
    "nkey": To("nkey", text),
    "servers": To("servers", texts),
    "tls": To(
        "tls",
        part(
            {
                "clientCert": To("clientCert", text),
                "clientKey": To("clientKey", text),
                "rootCas": To("rootCas", texts),
            }
        ),
    ),
    "tlsFirst": To("tlsFirst", flag),
    "jsDomain": To("jsDomain", text),
}
"""Of Streams and Consumers: the server, and who NACK is there."""

_SECRET = {"secret": To("secret", part({"name": To("name", text)}))}

ACCOUNT: Table = {
    "name": To("name", text),
    "servers": To("servers", texts),
    "tls": To("tls", part(_SECRET | {"ca": To("ca", text), "cert": To("cert", text), "key": To("key", text)})),
    "tlsFirst": To("tlsFirst", flag),
    "creds": To("creds", part(_SECRET | {"file": To("file", text)})),
    "nkey": To("nkey", part(_SECRET | {"seed": To("seed", text)})),
    "token": To("token", part(_SECRET | {"token": To("token", text)})),
    "user": To("user", part(_SECRET | {"user": To("user", text), "password": To("password", text)})),
}
