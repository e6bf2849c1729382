"""Between the two spellings: a spec as Kubernetes has it, and a configuration as the server has it.

Each field of a spec is marked with the server's field that it becomes (server.py), and each value is turned by that
field's type (spelling.py). Knows the rest: names, and where two of the server's fields are one of ours. Does not know
what differs between two of either (penstock_jetstream.config does).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock_jetstream.config import CONSUMER, STREAM, Facts, Table
from penstock_jetstream.config.field import UNKNOWN, Derived, Field
from penstock_operator.resources.consumer import ConsumerSpec
from penstock_operator.resources.scalars import nanoseconds
from penstock_operator.resources.spelling import config_of, spec_of
from penstock_operator.resources.stream import StreamSpec
from penstock_operator.resources.wording import spec_field, spec_value, spec_words

__all__ = [
    "consumer_config",
    "consumer_spec",
    "spec_field",
    "spec_value",
    "spec_words",
    "stream_config",
    "stream_spec",
]

_DEFAULT_ACK_WAIT = nanoseconds(ConsumerSpec.model_fields["ack_wait"].default)
_NO_FACTS = Facts()


def stream_config(spec: StreamSpec, name: str) -> dict[str, Any]:
    """Return what is to be sent to the server; a field that is left out shall have the server's default."""
    return {**config_of(spec, STREAM.fields, STREAM.always_sent), "name": spec.name or name}


def consumer_config(spec: ConsumerSpec, name: str) -> dict[str, Any]:
    """Return what is to be sent to the server; a field that is left out shall have the server's default."""
    config = config_of(spec, CONSUMER.fields, CONSUMER.always_sent)
    named = {**_with_single_filter(config), "durable_name": spec.name or name, "name": spec.name or name}
    return named if _waits(named) else {name: value for name, value in named.items() if name != "ack_wait"}


def _with_single_filter(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Say one filter as other clients do: only so it stands in the request's subject, where permissions may look."""
    filters: Sequence[str] = config.get("filter_subjects") or ()
    if len(filters) != 1:
        return config
    others = {name: value for name, value in config.items() if name != "filter_subjects"}
    return {**others, "filter_subject": filters[0]}


def _waits(config: Mapping[str, Any]) -> bool:
    """Tell whether an ack wait means anything: the visible default also stands where something takes its place."""
    if config.get("ack_wait") != _DEFAULT_ACK_WAIT:
        return True
    return config["ack_policy"] in ("explicit", "all") and not config.get("backoff")


def stream_spec(config: Mapping[str, Any], facts: Facts = _NO_FACTS) -> dict[str, Any]:
    """Return the fields of a Stream's spec that say what this configuration says, defaults left out."""
    return spec_of(_without_derived(STREAM, config, facts), StreamSpec, STREAM.fields)


def consumer_spec(config: Mapping[str, Any], facts: Facts = _NO_FACTS) -> dict[str, Any]:
    """Return the fields of a Consumer's spec that say what this configuration says, defaults left out.

    With `facts.stream`, also what the server derived from the stream is left out.
    """
    named = {**config, "durable_name": config.get("durable_name") or config.get("name")}
    one = config.get("filter_subject")
    whole = {**named, "filter_subjects": [one]} if one else named
    return spec_of(_without_derived(CONSUMER, whole, facts), ConsumerSpec, CONSUMER.fields)


def _without_derived(table: Table, config: Mapping[str, Any], facts: Facts) -> dict[str, Any]:
    """Leave out what the server made of the other fields by itself."""
    derived = [field for field in table.fields if isinstance(field.default, Derived) and field.name in config]
    made = {field.name for field in derived if _is_made(field, config, facts)}
    return {name: value for name, value in config.items() if name not in made}


def _is_made(field: Field, config: Mapping[str, Any], facts: Facts) -> bool:
    if field.name == "ack_wait" and config.get("backoff"):
        return True
    default = field.default_in(config, facts)
    given = field.type.canonical(config[field.name])
    return default is not UNKNOWN and given == field.type.canonical(default)
