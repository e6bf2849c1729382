"""Streams that keep each rule, and Streams that break it."""

from typing import Any

Json = dict[str, Any]
SMALLEST: Json = {"connectionRef": {"name": "nats"}}
ORIGIN: Json = {"name": "ORIGIN"}
TO: Json = {"source": "a.*", "destination": "b.{{wildcard(1)}}"}
COUNTING: Json = {"allowMessageCounter": True}
SCHEDULING: Json = {"allowMessageSchedules": True}
MARKING: Json = {"subjectDeleteMarkerTtl": "1m"}
NO_PURGE: Json = {"denyPurge": True}
ASYNC: Json = {"persistMode": "Async"}
MIRROR: Json = {"mirror": ORIGIN}
THROUGH: Json = {"consumer": {"name": "c", "deliverSubject": "d"}}

RULES: dict[str, tuple[Json, Json]] = {
    "description has at most 4096 bytes": ({"description": "ü" * 2048}, {"description": "ü" * 2049}),
    "metadata names that begin with _nats": ({"metadata": {"nats": "yes"}}, {"metadata": {"_nats.level": "9"}}),
    "maxAge is at least 100ms": ({"maxAge": "100ms"}, {"maxAge": "99ms"}),
    "duplicateWindow is at least 100ms": ({"duplicateWindow": "1d"}, {"duplicateWindow": "0d99ms999us"}),
    "duplicateWindow is at most maxAge": (
        {"duplicateWindow": "1d1h", "maxAge": "25h"},
        {"duplicateWindow": "1d1h1ns", "maxAge": "25h"},
    ),
    "subjectDeleteMarkerTtl is at least 1s": ({"subjectDeleteMarkerTtl": "1s"}, {"subjectDeleteMarkerTtl": "999ms"}),
    "maxBytes is at least 1": ({"maxBytes": "1"}, {"maxBytes": "0Gi"}),
    "maxMessageSize is at least 1": ({"maxMessageSize": "1k"}, {"maxMessageSize": "0"}),
    "maxMessageSize is at most 2147483647 bytes": ({"maxMessageSize": "2047Mi"}, {"maxMessageSize": "2Gi"}),
    "A stream of all subjects (>) needs noAck": ({"subjects": [">"], "noAck": True}, {"subjects": [">"]}),
    "A stream of all subjects (>) has one replica": (
        {"subjects": ["a.>"], "replicas": 3},
        {"subjects": [">"], "noAck": True, "replicas": 3},
    ),
    "A stream that takes what servers talk about": (
        {"subjects": ["$JS.EVENT.ADVISORY.>", "$SYS.ACCOUNT.*.CONNECT", "*", "$JSX.a"]},
        {"subjects": ["orders", "*.created"]},
    ),
    "discardNewPerSubject needs discard: New": (
        {"discardNewPerSubject": True, "discard": "New", "maxMessagesPerSubject": 1},
        {"discardNewPerSubject": True, "maxMessagesPerSubject": 1},
    ),
    "discardNewPerSubject needs maxMessagesPerSubject": (
        {"discardNewPerSubject": False, "discard": "New"},
        {"discardNewPerSubject": True, "discard": "New"},
    ),
    "denyPurge excludes allowRollup": ({**NO_PURGE, "allowRollup": False}, {**NO_PURGE, "allowRollup": True}),
    "denyPurge excludes subjectDeleteMarkerTtl": ({"denyDelete": True, **MARKING}, {**NO_PURGE, **MARKING}),
    "denyPurge excludes allowMessageSchedules": ({"denyDelete": True, **SCHEDULING}, {**NO_PURGE, **SCHEDULING}),
    "subjectDeleteMarkerTtl switches allowMessageTtl on": (
        {**MARKING, "allowMessageTtl": True},
        {**MARKING, "allowMessageTtl": False},
    ),
    "subjectDeleteMarkerTtl and allowMessageSchedules switch allowRollup on": (
        {**SCHEDULING, "allowRollup": True},
        {**SCHEDULING, "allowRollup": False},
    ),
    "allowMessageCounter excludes discard: New": ({**COUNTING, "discard": "Old"}, {**COUNTING, "discard": "New"}),
    "allowMessageCounter excludes allowMessageTtl": (
        {**COUNTING, "allowMessageTtl": False},
        {**COUNTING, "allowMessageTtl": True},
    ),
    "allowMessageCounter excludes subjectDeleteMarkerTtl": (MARKING, {**COUNTING, **MARKING}),
    "allowMessageCounter excludes allowMessageSchedules": (SCHEDULING, {**COUNTING, **SCHEDULING}),
    "allowMessageCounter excludes all retention": (
        {**COUNTING, "retention": "Limits"},
        {**COUNTING, "retention": "Interest"},
    ),
    "allowMessageSchedules excludes discard: New": ({**SCHEDULING, "discard": "Old"}, {**SCHEDULING, "discard": "New"}),
    "allowMessageSchedules excludes sources": ({**SCHEDULING, "sources": []}, {**SCHEDULING, "sources": [ORIGIN]}),
    "persistMode: Async needs storage: File": ({**ASYNC, "storage": "File"}, {**ASYNC, "storage": "Memory"}),
    "persistMode: Async needs one replica": ({**ASYNC, "replicas": 1}, {**ASYNC, "replicas": 3}),
    "persistMode: Async excludes allowAtomicPublish": (
        {**ASYNC, "allowAtomicPublish": False},
        {**ASYNC, "allowAtomicPublish": True},
    ),
    "A mirror excludes subjects": ({**MIRROR, "subjects": []}, {**MIRROR, "subjects": ["a"]}),
    "A mirror excludes sources": ({"sources": [ORIGIN]}, {**MIRROR, "sources": [ORIGIN]}),
    "A mirror excludes firstSequence": ({"firstSequence": 7}, {**MIRROR, "firstSequence": 7}),
    "A mirror excludes allowMessageCounter": (COUNTING, {**MIRROR, **COUNTING}),
    "A mirror excludes allowAtomicPublish": ({"allowAtomicPublish": True}, {**MIRROR, "allowAtomicPublish": True}),
    "A mirror excludes allowBatchedPublish": ({"allowBatchedPublish": True}, {**MIRROR, "allowBatchedPublish": True}),
    "A mirror excludes allowMessageSchedules": ({**MIRROR, "allowMessageSchedules": False}, {**MIRROR, **SCHEDULING}),
    "A mirror excludes subjectDeleteMarkerTtl": ({**MIRROR, "allowMessageTtl": True}, {**MIRROR, **MARKING}),
    "Each source is named once, or with different filters": (
        {"sources": [ORIGIN, {**ORIGIN, "filterSubject": "a"}, {**ORIGIN, "subjectTransforms": [TO, {"source": "c"}]}]},
        {"sources": [{**ORIGIN, "subjectTransforms": [TO]}, {"name": "O"}, {**ORIGIN, "subjectTransforms": [TO]}]},
    ),
    "Choose startSequence or startTime": (
        {"mirror": {**ORIGIN, "startTime": "2026-01-31T12:00:00.123456789+01:00"}},
        {"mirror": {**ORIGIN, "startTime": "2026-01-31T12:00:00Z", "startSequence": 7}},
    ),
    "Choose filterSubject or subjectTransforms": (
        {"sources": [{**ORIGIN, "filterSubject": "a", "subjectTransforms": []}]},
        {"sources": [{**ORIGIN, "filterSubject": "a", "subjectTransforms": [TO]}]},
    ),
    "A consumer excludes startSequence, startTime and filterSubject": (
        {"sources": [{**ORIGIN, **THROUGH}]},
        {"sources": [{**ORIGIN, **THROUGH, "startSequence": 7}]},
    ),
    "The apiPrefix $JS.API is this account's own": (
        {"mirror": {**ORIGIN, "external": {"apiPrefix": "$JS.hub.API", "deliverPrefix": "deliver.hub"}}},
        {"mirror": {**ORIGIN, "external": {"apiPrefix": "$JS.API"}}},
    ),
    "A duration": ({"maxAge": "1h30m"}, {"maxAge": "1.5h"}),
    "A size": ({"maxBytes": "1Ki"}, {"maxBytes": "1KB"}),
    "A subject": ({"subjects": ["a.*.>", "a>b", "\u00fc.x"]}, {"subjects": ["a.>.b"]}),
    "This subject": (
        {"mirror": {"name": "O", "external": {"apiPrefix": "$JS.a*b.API"}}},
        {"mirror": {"name": "O", "external": {"apiPrefix": "$JS.*.API"}}},
    ),
    "A name on the server": ({"name": "A_b-1"}, {"name": "a.b"}),
}
"""By the beginning of a rule: a spec that keeps it, and one that breaks it."""
ACCEPTED = {rule: kept for rule, (kept, _) in RULES.items()}
BROKEN = {rule: [broken] for rule, (_, broken) in RULES.items()}

REFUSED: dict[str, Json] = {
    "a field that does not exist": {"maxMsgs": 5},
    "no limit as -1": {"maxMessages": -1},
    "an empty subject": {"subjects": [""]},
    "a subject with a space": {"subjects": ["a b"]},
    "a subject with an empty token": {"subjects": ["a..b"]},
    "a subject twice": {"subjects": ["a", "a"]},
    "a name with a space": {"name": "a b"},
    "a duration without a unit": {"maxAge": "5"},
    "a duration of nothing": {"maxAge": ""},
    "a size as a number": {"maxBytes": 5},
    "too many replicas": {"replicas": 6},
    "no replica": {"replicas": 0},
    "a choice in the server's spelling": {"retention": "workqueue"},
    "no source": {"mirror": {}},
    "a time that cannot be": {"mirror": {"name": "O", "startTime": "2026-02-30T12:00:00Z"}},
    "a transform to nothing": {"subjectTransform": {"source": "a"}},
    "where to lead": {"placement": {"preferred": "n1"}},
}


CHANGES: dict[str, tuple[Json, Json, Json]] = {
    "storage is set at creation": ({"storage": "File"}, {"storage": "File", "maxAge": "1h"}, {"storage": "Memory"}),
    "persistMode is set at creation": ({}, {"persistMode": "Default"}, ASYNC),
    "firstSequence is set at creation": ({"firstSequence": 7}, {"firstSequence": 7, "maxAge": "1h"}, {}),
    "allowMessageCounter is set at creation": (COUNTING, {**COUNTING, "noAck": True}, {}),
    "A mirror is set at creation": (MIRROR, {}, {"mirror": {"name": "OTHER"}}),
    "A stream never becomes a work queue": ({}, {"retention": "Interest"}, {"retention": "WorkQueue"}),
    "A stream cannot move and change": (
        {},
        {"placement": {"cluster": "east"}},
        {"placement": {"cluster": "east"}, "replicas": 3},
    ),
    "denyDelete stays on": ({"denyDelete": True}, {"denyDelete": True, "noAck": True}, {}),
    "denyPurge stays on": ({"denyPurge": True}, {"denyPurge": True, "noAck": True}, {"denyPurge": False}),
    "sealed stays on": ({"sealed": True}, {"sealed": True, "noAck": True}, {}),
    "allowMessageTtl stays on": ({"subjectDeleteMarkerTtl": "1m"}, {"allowMessageTtl": True}, {}),
    "allowMessageSchedules stays on": (SCHEDULING, {**SCHEDULING, "noAck": True}, {}),
    "The stream's name on the server is for good": ({}, {"noAck": True}, {"name": "another"}),
}
"""By the beginning of a rule: what is there, a change that is accepted, and one that is refused."""
FOR_GOOD = {"The stream's name on the server is for good", "A stream cannot move and change"}
"""What immutableChange: Recreate does not help with."""
