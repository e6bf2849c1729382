"""What servers say of a stream and of a consumer: one of each, with all there is to read."""

from typing import Any

CLUSTER = {
    "name": "c1",
    "leader": "n2",
    "replicas": [{"name": "n1", "current": True, "active": 1_500_000_000, "lag": 3}, {"name": "n3", "offline": True}],
}
STREAM: dict[str, Any] = {
    "config": {"name": "ORDERS", "max_age": 5, "of_the_future": 1},
    "created": "2026-01-02T03:04:05.5Z",
    "state": {
        "messages": 2,
        "bytes": 100,
        "first_seq": 4,
        "first_ts": "2026-01-02T03:04:06Z",
        "last_seq": 7,
        "last_ts": "0001-01-01T00:00:00Z",
        "num_subjects": 1,
        "subjects": {"orders.eu": 2},
        "num_deleted": 2,
        "deleted": [5, 6],
        "consumer_count": 1,
    },
    "cluster": CLUSTER,
    "mirror": {"name": "ORIGIN", "lag": 9, "active": -1, "error": {"description": "no such stream"}},
    "sources": [{"name": "OTHER", "lag": 0, "active": 2_000_000_000}],
    "ts": "2026-01-02T03:04:07Z",
}
CONSUMER: dict[str, Any] = {
    "stream_name": "ORDERS",
    "name": "etl",
    "created": "2026-01-02T03:04:05Z",
    "config": {"durable_name": "etl", "pause_until": "2026-01-02T04:00:00Z"},
    "delivered": {"consumer_seq": 5, "stream_seq": 7, "last_active": "2026-01-02T03:04:06Z"},
    "ack_floor": {"consumer_seq": 3, "stream_seq": 4},
    "num_ack_pending": 2,
    "num_redelivered": 1,
    "num_waiting": 1,
    "num_pending": 8,
    "paused": True,
    "pause_remaining": 60_000_000_000,
    "priority_groups": [
        {"group": "a", "pinned_client_id": "abc", "pinned_ts": "2026-01-02T03:04:05Z"},
        {"group": "b"},
    ],
}
