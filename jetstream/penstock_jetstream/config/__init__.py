"""Configurations of streams and consumers: what they may say, what the server makes of them, what can change.

Knows every field, as a table (STREAM, CONSUMER), and what follows from it: validate, diff, plan_update. A
configuration is raw JSON, as the server has it, so that nothing is lost. Does not know requests or servers; what is
known about those comes as Facts.
"""

from penstock_jetstream.config.consumer import CONSUMER
from penstock_jetstream.config.difference import Difference, diff
from penstock_jetstream.config.facts import Facts
from penstock_jetstream.config.field import Derived, Field, Free, Never, OneWay, Special
from penstock_jetstream.config.levels import NEWEST_LEVEL, level_of
from penstock_jetstream.config.losses import Loss, losses
from penstock_jetstream.config.names import name_fault
from penstock_jetstream.config.ownership import is_made_by_server
from penstock_jetstream.config.problem import ConfigurationError, Problem, Severity
from penstock_jetstream.config.stream import STREAM
from penstock_jetstream.config.table import Table
from penstock_jetstream.config.typed import ConsumerConfig, StreamConfig
from penstock_jetstream.config.update import Impossible, Plan, Unchanged, Update, plan_update
from penstock_jetstream.config.validation import require_valid, validate

__all__ = [
    "CONSUMER",
    "NEWEST_LEVEL",
    "STREAM",
    "ConfigurationError",
    "ConsumerConfig",
    "Derived",
    "Difference",
    "Facts",
    "Field",
    "Free",
    "Impossible",
    "Loss",
    "Never",
    "OneWay",
    "Plan",
    "Problem",
    "Severity",
    "Special",
    "StreamConfig",
    "Table",
    "Unchanged",
    "Update",
    "diff",
    "is_made_by_server",
    "level_of",
    "losses",
    "name_fault",
    "plan_update",
    "require_valid",
    "validate",
]
