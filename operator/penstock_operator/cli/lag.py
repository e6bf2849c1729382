"""`penstock lag`: how far behind consumers are, in the local home and in a cluster.

Knows the columns. The numbers stand in the status of each Consumer, from whichever home.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import click

from penstock_operator.cli import human
from penstock_operator.cli.get import Object, condition, name_of, time_of
from penstock_operator.cli.output import Form, form_option, print_data, print_table
from penstock_operator.cli.sources import Sources, source_options
from penstock_operator.cli.tables import Column
from penstock_operator.resources import CONSUMER

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
    WAITING are requests for more. DELIVERED and ACKED tell how long ago that last happened.

    \b
    Examples:
      penstock lag
      penstock lag etl -n orders
      penstock lag -f manifests/ -o json
    """  # noqa: D301 - click wants the control character
    found = [each for each in sources.objects((CONSUMER,)) if name in (None, name_of(each))]
    if name is not None and not found:
        raise click.ClickException(f"There is no Consumer {name}.")
    if form is Form.TABLE:
        print_table(COLUMNS, [_row(each, datetime.now(UTC)) for each in found])
    else:
        print_data(form, {"consumers": [_data(each) for each in found]})


def _data(found: Object) -> dict[str, Any]:
    status = found.get("status") or {}
    named = {"namespace": found["metadata"]["namespace"], "name": name_of(found)}
    return {**named, **{fact: status[fact] for fact in FACTS if fact in status}, "state": _state(found)}


def _row(found: Object, now: datetime) -> tuple[str, ...]:
    data = _data(found)
    return (
        data["namespace"],
        data["name"],
        data.get("streamName", human.UNKNOWN),
        data.get("consumerName", human.UNKNOWN),
        *(human.number(data.get(fact)) for fact in ("pending", "ackPending", "redelivered", "waiting")),
        *(human.age(_known(data, fact), now) for fact in ("lastDeliveryTime", "lastAckTime")),
        data["state"],
    )


def _known(data: Mapping[str, Any], fact: str) -> datetime | None:
    return time_of(data[fact]) if fact in data else None


def _state(found: Object) -> str:
    status, ready = found.get("status") or {}, condition(found, "Ready")
    if status.get("paused"):
        return "Paused"
    return "Ready" if ready.get("status") == "True" else ready.get("reason", "Unknown")
