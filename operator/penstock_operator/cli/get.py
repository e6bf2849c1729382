"""`penstock get`: what is declared and how it stands with it, in the local home and in a cluster.

Knows the columns. An object looks the same from either home: a manifest with a status.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click
from typing_extensions import override

from penstock_operator.cli import human
from penstock_operator.cli.group_status import with_workers
from penstock_operator.cli.output import Form, form_option, print_data, print_table, say
from penstock_operator.cli.sources import Sources, source_options
from penstock_operator.cli.tables import Column
from penstock_operator.resources import KINDS, QUEUE_GROUP, Kind

COLUMNS = (
    Column("KIND"),
    Column("NAMESPACE"),
    Column("NAME"),
    Column("READY"),
    Column("REASON"),
    Column("AGE"),
    Column("THERE IS"),
)
GROUP_COLUMNS = (
    Column("NAMESPACE"),
    Column("NAME"),
    Column("READY"),
    Column("REASON"),
    Column("LAG", right=True),
    Column("UNACKED", right=True),
    Column("HELD", right=True),
    Column("BUSY", right=True),
    Column("WORKERS", right=True),
    Column("DESIRED", right=True),
    Column("AGE"),
)
"""Of QueueGroups alone: as kubectl shows them, and what of their messages has no final answer yet."""
GROUP_FACTS = ("pending", "ackPending", "held", "busyReplicas", "replicas", "desiredReplicas")
NAMES: Mapping[str, Kind] = {
    name: kind for kind in KINDS for name in (kind.name.lower(), kind.plural, *kind.short_names)
}

Object = Mapping[str, Any]


class KindType(click.ParamType[Kind]):
    """A kind, by any of the names that kubectl takes."""

    name = "KIND"

    @override
    def convert(self, value: str | Kind, param: click.Parameter | None, ctx: click.Context | None) -> Kind:
        if isinstance(value, Kind):
            return value
        kind = NAMES.get(value.lower())
        if kind is None:
            self.fail(f"{value!r} is none of the kinds {', '.join(kind.plural for kind in KINDS)}.", param, ctx)
        return kind

    @override
    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        del ctx, param
        return [
            click.shell_completion.CompletionItem(kind.plural) for kind in KINDS if kind.plural.startswith(incomplete)
        ]


@click.command
@click.argument("kind", type=KindType(), required=False)
@click.argument("name", required=False)
@source_options(needs_files=False)
@form_option
def get(kind: Kind | None, name: str | None, sources: Sources, form: Form) -> None:
    """Show what is declared, and how it stands with it.

    In a cluster that is what the operator says in the objects' status; with -f the servers are asked now.

    \b
    Examples:
      penstock get
      penstock get streams -n orders
      penstock get consumer etl -o yaml
      penstock get queuegroups
      penstock get -f manifests/
    """  # noqa: D301 - click wants the control character
    found = [each for each in sources.objects(KINDS if kind is None else (kind,)) if name in (None, name_of(each))]
    if kind is QUEUE_GROUP and sources.is_local:
        found = with_workers(found, sources)
    if name is not None and not found:
        raise click.ClickException(f"There is no {kind.name if kind else 'object'} {name}.")
    if form is not Form.TABLE:
        print_data(form, {"apiVersion": "v1", "kind": "List", "items": list(found)})
        return
    if kind is QUEUE_GROUP:
        print_table(GROUP_COLUMNS, [_group_row(each, datetime.now(UTC)) for each in found])
    else:
        print_table(COLUMNS, [_row(each, datetime.now(UTC)) for each in found])
    _tell_what_is_wrong(found)


def name_of(found: Object) -> str:
    return str(found["metadata"]["name"])


def condition(found: Object, kind: str) -> Mapping[str, str]:
    """Return a condition of an object; an empty one if nobody has looked yet."""
    conditions: Sequence[Mapping[str, str]] = found.get("status", {}).get("conditions") or ()
    return next((each for each in conditions if each.get("type") == kind), {})


def time_of(text: object) -> datetime | None:
    """Read a time as the API server and statuses have it."""
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return None


def _row(found: Object, now: datetime) -> tuple[str, ...]:
    metadata, ready = found["metadata"], condition(found, "Ready")
    return (
        found["kind"],
        metadata["namespace"],
        metadata["name"],
        ready.get("status", "Unknown"),
        ready.get("reason", human.UNKNOWN),
        human.age(time_of(metadata.get("creationTimestamp")), now),
        _what_there_is(found["kind"], found.get("status") or {}),
    )


def _group_row(found: Object, now: datetime) -> tuple[str, ...]:
    _, *named, age, _ = _row(found, now)
    status = found.get("status") or {}
    return (*named, *(human.number(status.get(fact)) for fact in GROUP_FACTS), age)


def _what_there_is(kind: str, status: Mapping[str, Any]) -> str:
    if kind == "Stream" and "messages" in status:
        return f"{human.number(status['messages'])} messages, {human.size(status.get('bytes'))}"
    if kind == "Consumer" and "pending" in status:
        return f"{human.number(status['pending'])} pending, {human.number(status.get('ackPending'))} unacknowledged"
    if kind == "Connection" and "serverName" in status:
        return f"{status['serverName']}, NATS {status.get('serverVersion', '')}"
    if kind == QUEUE_GROUP.name and "replicas" in status:
        busy, pending = (human.number(status.get(fact)) for fact in ("busyReplicas", "pending"))
        return f"{human.workers(status['replicas'])}, {busy} busy; {pending} pending"
    return human.UNKNOWN


def _tell_what_is_wrong(found: Sequence[Object]) -> None:
    for each in found:
        ready = condition(each, "Ready")
        if ready.get("status", "True") != "True":
            say(f"{each['kind']} {each['metadata']['namespace']}/{name_of(each)}: {ready.get('message', '')}")
