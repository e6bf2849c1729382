"""Consumers that keep each rule, and Consumers that break it."""

from typing import Any

Json = dict[str, Any]
SMALLEST: Json = {"streamRef": {"name": "orders"}}
PUSH: Json = {"deliverSubject": "deliver.orders"}
BEATING: Json = {**PUSH, "idleHeartbeat": "5s"}
COPYING: Json = {**PUSH, "ackPolicy": "FlowControl"}
PINNED: Json = {"priorityPolicy": "PinnedClient", "priorityGroups": ["workers"]}
FROM_SEQUENCE: Json = {"deliverPolicy": "ByStartSequence", "startSequence": 7}
FROM_TIME: Json = {"deliverPolicy": "ByStartTime", "startTime": "2026-01-31T12:00:00Z"}
ELSEWHERE: Json = {"connectionRef": {"name": "nats"}, "stream": "ORDERS"}
SAME_TIME: Json = {"deliverPolicy": "ByStartTime", "startTime": "2026-01-31T13:00:00.000+01:00"}

RULES: dict[str, tuple[Json, Json]] = {
    "description has at most 4096 bytes": ({"description": "ü" * 2048}, {"description": "ü" * 2049}),
    "metadata names that begin with _nats": ({"metadata": {"nats": "yes"}}, {"metadata": {"_nats.level": "9"}}),
    "Choose streamRef, or connectionRef with stream": ({"streamRef": None, **ELSEWHERE}, ELSEWHERE),
    "startSequence belongs to deliverPolicy: ByStartSequence": (FROM_SEQUENCE, {"deliverPolicy": "ByStartSequence"}),
    "startTime belongs to deliverPolicy: ByStartTime": (FROM_TIME, {**FROM_TIME, "deliverPolicy": "New"}),
    "deliverPolicy: LastPerSubject needs filterSubjects": (
        {"deliverPolicy": "LastPerSubject", "filterSubjects": [">"]},
        {"deliverPolicy": "LastPerSubject"},
    ),
    "maxAckPending is at least 1, or -1 for no limit": ({"maxAckPending": -1}, {"maxAckPending": 0}),
    "maxDeliver is at least": ({"maxDeliver": 2, "backoff": ["1s", "1m"]}, {"maxDeliver": 1, "backoff": ["1s", "1m"]}),
    "ackPolicy: FlowControl is for push consumers": (COPYING, {"ackPolicy": "FlowControl"}),
    "ackPolicy: FlowControl switches flowControl on": (
        {**COPYING, "flowControl": True},
        {**COPYING, "flowControl": False},
    ),
    "ackPolicy: FlowControl has an idleHeartbeat": (
        {**COPYING, "idleHeartbeat": "1s"},
        {**COPYING, "idleHeartbeat": "5s"},
    ),
    "ackPolicy: FlowControl needs a limit": ({**COPYING, "maxAckPending": 5}, {**COPYING, "maxAckPending": -1}),
    "ackPolicy: FlowControl excludes ackWait": ({**COPYING, "ackWait": "30s"}, {**COPYING, "ackWait": "1m"}),
    "ackPolicy: FlowControl excludes backoff": ({**COPYING, "backoff": []}, {**COPYING, "backoff": ["1s"]}),
    "ackPolicy: FlowControl excludes maxDeliver": ({"maxDeliver": 5}, {**COPYING, "maxDeliver": 5}),
    "maxWaiting is for pull consumers": ({"maxWaiting": 64}, {**PUSH, "maxWaiting": 64}),
    "A push consumer with ackPolicy: None": (
        {"ackPolicy": "None", "maxAckPending": 5},
        {**PUSH, "ackPolicy": "None", "maxAckPending": 5},
    ),
    "flowControl needs idleHeartbeat": ({**BEATING, "flowControl": True}, {**PUSH, "flowControl": True}),
    "idleHeartbeat is at least 100ms": ({**PUSH, "idleHeartbeat": "100ms"}, {**PUSH, "idleHeartbeat": "99ms"}),
    "idleHeartbeat is for push consumers": (BEATING, {"idleHeartbeat": "5s"}),
    "flowControl is for push consumers": ({"flowControl": False}, {"flowControl": True}),
    "rateLimitBitsPerSecond is for push consumers": (
        {**PUSH, "rateLimitBitsPerSecond": "8M"},
        {"rateLimitBitsPerSecond": "8M"},
    ),
    "maxExpires is at least 1ms; leave it out for no limit": ({"maxExpires": "1ms"}, {"maxExpires": "999us"}),
    "A priorityPolicy needs a group in priorityGroups": (PINNED, {"priorityGroups": ["workers"]}),
    "priorityTimeout goes with priorityPolicy: PinnedClient only": (
        {**PINNED, "priorityTimeout": "1m"},
        {**PINNED, "priorityPolicy": "Overflow", "priorityTimeout": "1m"},
    ),
    "A priorityPolicy is for pull consumers": ({**PINNED, "maxWaiting": 5}, {**PINNED, **PUSH}),
    "A priorityPolicy needs ackPolicy: Explicit": ({**PINNED, "ackPolicy": "Explicit"}, {**PINNED, "ackPolicy": "All"}),
    "A duration": ({"backoff": ["1h30m", "1d"]}, {"backoff": ["1m", "1 s"]}),
    "A size": ({"maxBytes": "1Ki"}, {"maxBytes": "1KB"}),
    "A subject": ({"filterSubjects": ["a.*.>"]}, {"filterSubjects": ["a.>.b"]}),
    "This subject": (PUSH, {"deliverSubject": "deliver.*"}),
    "A name on the server": ({"name": "etl-1"}, {"name": "etl.1"}),
}
"""By the beginning of a rule: a spec that keeps it, and one that breaks it."""
ACCEPTED = {rule: kept for rule, (kept, _) in RULES.items()}
BROKEN = {rule: [broken] for rule, (_, broken) in RULES.items()}

REFUSED: dict[str, Json] = {
    "a field that does not exist": {"ackPolcy": "Explicit"},
    "no limit as -1": {"maxDeliver": -1},
    "less than no limit": {"maxAckPending": -2},
    "more than all": {"samplePercent": 101},
    "two groups": {"priorityPolicy": "Overflow", "priorityGroups": ["a", "b"]},
    "a group with a space": {"priorityPolicy": "Overflow", "priorityGroups": ["a b"]},
    "a filter twice": {"filterSubjects": ["a", "a"]},
    "a choice in the server's spelling": {"deliverPolicy": "by_start_time"},
    "a time that cannot be": {"deliverPolicy": "ByStartTime", "startTime": "2026-13-01T00:00:00Z"},
    "a time without a zone": {"pauseUntil": "2026-01-31T12:00:00"},
    "what servers keep for themselves": {"sourcing": True},
}

CHANGES: dict[str, tuple[Json, Json, Json]] = {
    "deliverPolicy is set at creation": ({}, {"maxDeliver": 5}, {"deliverPolicy": "New"}),
    "startSequence is set at creation": (
        FROM_SEQUENCE,
        {**FROM_SEQUENCE, "maxDeliver": 5},
        {**FROM_SEQUENCE, "startSequence": 8},
    ),
    "startTime is set at creation": (FROM_TIME, SAME_TIME, {**FROM_TIME, "startTime": "2026-01-31T12:00:01Z"}),
    "replayPolicy is set at creation": ({}, {"replayPolicy": "Instant"}, {"replayPolicy": "Original"}),
    "ackPolicy is set at creation": ({}, {"ackPolicy": "Explicit", "ackWait": "1m"}, {"ackPolicy": "All"}),
    "maxWaiting is set at creation": ({"maxWaiting": 64}, {"maxWaiting": 64, "maxBatch": 5}, {"maxWaiting": 65}),
    "priorityPolicy is set at creation": (PINNED, {**PINNED, "maxBatch": 5}, {**PINNED, "priorityPolicy": "Overflow"}),
    "priorityGroups is set at creation": (PINNED, {**PINNED, "maxBatch": 5}, {**PINNED, "priorityGroups": ["others"]}),
    "A pull consumer never becomes a push consumer": (PUSH, {"deliverSubject": "elsewhere"}, {}),
    "idleHeartbeat is set at creation": (BEATING, {**BEATING, "maxDeliver": 5}, {**BEATING, "idleHeartbeat": "6s"}),
    "flowControl is set at creation": (BEATING, {**BEATING, "flowControl": False}, {**BEATING, "flowControl": True}),
    "memoryStorage is set at creation": ({}, {"memoryStorage": False}, {"memoryStorage": True}),
    "The consumer's name on the server is for good": ({}, {"maxDeliver": 5}, {"name": "another"}),
}
"""By the beginning of a rule: what is there, a change that is accepted, and one that is refused."""
FOR_GOOD = {"The consumer's name on the server is for good"}
"""What immutableChange: Recreate does not help with."""
