"""The table of consumers.

Knows what the server makes of a consumer's configuration beyond single fields. Its fields stand in consumer_fields.py,
the rules in consumer_rules.py.
"""

from penstock_jetstream.config.consumer_fields import CONSUMER_FIELDS
from penstock_jetstream.config.consumer_rules import CONSUMER_RULES, FLOW_CONTROL_HEARTBEAT
from penstock_jetstream.config.table import Effective, Table


def _force(effective: Effective) -> None:
    backoff = effective["backoff"]
    if isinstance(backoff, tuple):
        effective["ack_wait"] = backoff[0]
    if effective["ack_policy"] in (None, "none"):
        effective["ack_wait"] = None  # stored as it is given, and of no effect
    if effective["ack_policy"] == "flow_control":
        effective.update(flow_control=True, idle_heartbeat=FLOW_CONTROL_HEARTBEAT)
    filters = effective["filter_subjects"]
    if isinstance(filters, tuple) and len(filters) == 1:  # one filter means the same in either field
        effective.update(filter_subject=filters[0], filter_subjects=None)


CONSUMER = Table(
    kind="consumer",
    fields=CONSUMER_FIELDS,
    rules=CONSUMER_RULES,
    force=_force,
    kept=frozenset({"durable_name", "name"}),
    apart=frozenset({"pause_until"}),
    always_sent={"ack_policy": "explicit"},
)
"""Consumers, as nats-server 2.15 has them."""
