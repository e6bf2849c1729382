"""`penstock batches`: the batches that are not settled yet, by what workers say and what they have written down.

Knows the columns. What a batch is about is put together by plan.open_batches.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import click

from penstock_operator.cli import human
from penstock_operator.cli.groups import Group, with_groups
from penstock_operator.cli.naming import group_argument
from penstock_operator.cli.output import Form, form_option, print_data, print_table, say
from penstock_operator.cli.sources import Sources, source_options
from penstock_operator.cli.tables import Column
from penstock_operator.plan.open_batches import OpenBatch, open_batches
from penstock_operator.resources.scalars import seconds
from penstock_operator.services.nats import ledger, workers

COLUMNS = (
    Column("GROUP"),
    Column("BATCH"),
    Column("WORKER"),
    Column("STATE"),
    Column("MESSAGES", right=True),
    Column("SIZE", right=True),
    Column("ATTEMPT", right=True),
    Column("LOSSES", right=True),
    Column("AGE"),
    Column("RUNS FOR"),
    Column("DEADLINE"),
)
Found = tuple[Group, list[OpenBatch], Sequence[workers.Status]]


@click.command
@group_argument
@source_options(needs_files=False)
@form_option
def batches(group: str | None, sources: Sources, form: Form) -> None:
    """Show the batches that are not settled yet.

    Running: a driver works on it, and DEADLINE is how long it may go on. Collected: it waits for a driver, or for its
    next attempt. Committed: all is done but for the acknowledgements. LOSSES are how often Spark or a worker was lost
    over it; AGE is how long ago it was written down, or last changed.

    \b
    Examples:
      penstock batches
      penstock batches orders -o json
      watch penstock batches
    """  # noqa: D301 - click wants the control character
    found = with_groups(sources, group, _looked_at)
    if form is not Form.TABLE:
        print_data(form, {"batches": [_data(of, batch) for of, some, _ in found for batch in some]})
        return
    print_table(COLUMNS, [_row(of, batch) for of, some, _ in found for batch in some])
    for of, _, statuses in found:
        if not statuses:
            say(f"{of.identity}: No worker answers.")
        for status in statuses:
            if not status.get("ready"):
                say(f"{of.identity}: {status.get('worker')}: {status.get('sentence')}")


async def _looked_at(groups: Sequence[Group]) -> list[Found]:
    return [await _look(group) for group in groups]


async def _look(group: Group) -> Found:
    statuses = await workers.statuses(group.connection, group.name)
    entries = await ledger.entries(group.jetstream, group.place)
    consumed = await ledger.consumed(group.jetstream, group.place)
    return group, open_batches(entries, consumed, statuses, seconds(group.spec.batch.deadline)), statuses


def _row(of: Group, batch: OpenBatch) -> tuple[str, ...]:
    return (
        of.identity.name,
        batch.id,
        batch.worker,
        batch.stage.value,
        human.number(batch.messages),
        human.size(batch.bytes),
        str(batch.attempt),
        str(batch.losses),
        human.duration(_age_seconds(batch)),
        human.duration(batch.running_seconds),
        human.duration(_left(batch)),
    )


def _age_seconds(batch: OpenBatch) -> float | None:
    """Return how long ago it was written down, or last changed."""
    return None if batch.since is None else round((datetime.now(UTC) - batch.since).total_seconds(), 3)


def _left(batch: OpenBatch) -> float | None:
    if batch.deadline_seconds is None or batch.running_seconds is None:
        return None
    return batch.deadline_seconds - batch.running_seconds


def _data(of: Group, batch: OpenBatch) -> dict[str, Any]:
    told = {
        "group": of.name,
        "id": batch.id,
        "worker": batch.worker,
        "state": batch.stage.value,
        "messages": batch.messages,
        "bytes": batch.bytes,
        "attempt": batch.attempt,
        "losses": batch.losses,
        "ageSeconds": _age_seconds(batch),
        "runningSeconds": batch.running_seconds,
        "deadlineSeconds": batch.deadline_seconds,
        "ranges": batch.ranges or None,
    }
    return {name: value for name, value in told.items() if value is not None}
