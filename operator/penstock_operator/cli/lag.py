"""`penstock lag`: how far behind consumers are, in the local home and in a cluster.

Knows the columns. The numbers stand in the status of each Consumer, from whichever home.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import click

from penstock_operator.cli import human
from penstock_operator.cli.get import Object, condition, name_of, time_of
from penstock_operator.cli.output import Form, form_option, print_data, print_table
from penstock_operator.cli.sources import Sources, source_options
from penstock_operator.cli.tables import Column
from penstock_operator.plan.message_loss import written_loss
from penstock_operator.resources import CONSUMER, QUEUE_GROUP
from penstock_operator.resources.message_loss import MessageLoss

Losses = Mapping[tuple[str, str], MessageLoss]
COLUMNS = (
    Column("NAMESPACE"),
    Column("NAME"),
    Column("STREAM"),
    Column("CONSUMER"),
    Column("PENDING", right=True),
    Column("UNACKED", right=True),
    Column("REDELIVERED", right=True),
    Column("WAITING", right=True),
    Column("DELIVERED", right=True),
    Column("ACKED", right=True),
    Column("LOST", right=True),
    Column("STATE"),
)
FACTS = (
    "streamName",
    "consumerName",
    "pending",
    "ackPending",
    "redelivered",
    "waiting",
    "lastDeliveryTime",
    "lastAckTime",
)


@click.command
@click.argument("name", required=False)
@source_options(needs_files=False)
@form_option
def lag(name: str | None, sources: Sources, form: Form) -> None:
    """Show how far behind consumers are.

    PENDING are messages that were not delivered yet, UNACKED those that were, without an acknowledgement so far.
    WAITING are requests for more. DELIVERED and ACKED tell how long ago that last happened. LOST are messages that its
    queue group never processed: they were removed from the stream, or reached maxDeliver.

    \b
    Examples:
      penstock lag
      penstock lag etl -n orders
      penstock lag -f manifests/ -o json
    """  # noqa: D301 - click wants the control character
    objects = sources.objects((CONSUMER, QUEUE_GROUP))
    found = [each for each in objects if each["kind"] == CONSUMER.name and name in (None, name_of(each))]
    losses = _losses(objects)
    if name is not None and not found:
        raise click.ClickException(f"There is no Consumer {name}.")
    if form is Form.TABLE:
        print_table(COLUMNS, [_row(each, losses, datetime.now(UTC)) for each in found])
    else:
        print_data(form, {"consumers": [_data(each, losses) for each in found]})


def _losses(objects: Iterable[Object]) -> Losses:
    """Return what queue groups say of their consumers, by the consumers' namespace and name."""
    groups = [each for each in objects if each["kind"] == QUEUE_GROUP.name]
    return {
        (each["metadata"]["namespace"], each["spec"]["consumerRef"]["name"]): loss
        for each in groups
        if (loss := written_loss(each.get("status") or {}))
    }


def _data(found: Object, losses: Losses) -> dict[str, Any]:
    status = found.get("status") or {}
    named = {"namespace": found["metadata"]["namespace"], "name": name_of(found)}
    known = {fact: status[fact] for fact in FACTS if fact in status}
    loss = losses.get((named["namespace"], named["name"]))
    lost = {"expired": loss.expired, "givenUp": loss.given_up} if loss else {}
    return {**named, **known, **lost, "state": _state(found)}


def _row(found: Object, losses: Losses, now: datetime) -> tuple[str, ...]:
    data = _data(found, losses)
    return (
        data["namespace"],
        data["name"],
        data.get("streamName", human.UNKNOWN),
        data.get("consumerName", human.UNKNOWN),
        *(human.number(data.get(fact)) for fact in ("pending", "ackPending", "redelivered", "waiting")),
        *(human.age(_known(data, fact), now) for fact in ("lastDeliveryTime", "lastAckTime")),
        human.number(data["expired"] + data["givenUp"] if "expired" in data else None),
        data["state"],
    )


def _known(data: Mapping[str, Any], fact: str) -> datetime | None:
    return time_of(data[fact]) if fact in data else None


def _state(found: Object) -> str:
    status, ready = found.get("status") or {}, condition(found, "Ready")
    if status.get("paused"):
        return "Paused"
    return "Ready" if ready.get("status") == "True" else ready.get("reason", "Unknown")
