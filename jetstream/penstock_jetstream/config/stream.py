"""The table of streams.

Knows what the server makes of a stream's configuration beyond single fields. Its fields stand in stream_fields.py, the
rules in stream_rules.py.
"""

from penstock_jetstream.config.field import UNKNOWN
from penstock_jetstream.config.stream_fields import STREAM_FIELDS
from penstock_jetstream.config.stream_rules import STREAM_RULES
from penstock_jetstream.config.table import Effective, Table


def _force(effective: Effective) -> None:
    if effective["subject_delete_marker_ttl"]:
        effective["allow_msg_ttl"] = True
    if (effective["subject_delete_marker_ttl"] or effective["allow_msg_schedules"]) and not effective[
        "allow_rollup_hdrs"
    ]:
        effective.update(allow_rollup_hdrs=True, deny_purge=None)
    if effective["sealed"]:
        effective.update(max_age=None, discard="new", deny_delete=True, deny_purge=True, allow_rollup_hdrs=None)
    if effective["mirror"]:  # the origin decides, where the server can see it
        effective["mirror_direct"] = UNKNOWN


STREAM = Table(
    kind="stream",
    fields=STREAM_FIELDS,
    rules=STREAM_RULES,
    force=_force,
    kept=frozenset({"name"}),
    apart=frozenset(),
    always_sent={},
)
"""Streams, as nats-server 2.15 has them."""
