"""`penstock logs`: what workers have said, in the order of time, and what they say now.

Knows its options, and which home is meant. Where logs are, and what a line says, is known by local.log_files,
cluster_logs.py and log_lines.py.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import click

from penstock_operator.cli.log_lines import LONG_AGO, LogLine, log_line, readable, time_of_spark
from penstock_operator.cli.naming import complete_group
from penstock_operator.cli.options import Number
from penstock_operator.cli.sources import CONTEXT_OPTION, DEFAULT_NAMESPACE, HomeName, clusters_home
from penstock_operator.cli.up import state_option
from penstock_operator.local.log_files import LogFiles, Source, sources
from penstock_operator.local.state import StateFolder

LOOK_SECONDS = 0.2
TAIL = 100

Show = Callable[[Sequence[LogLine]], None]


@click.command
@click.argument("group", metavar="[GROUP]", required=False, shell_complete=complete_group)
@click.option("--follow", "-f", is_flag=True, help="Go on with what is written from now on, until Ctrl-C.")
@click.option("--worker", metavar="NAME", help="Of this worker only, such as orders-0; in a cluster its pod.")
@click.option("--engine", "process", flag_value="engine", help="Of engines only: what is pulled and settled.")
@click.option("--driver", "process", flag_value="driver", help="Of drivers only: Spark, and your code.")
@click.option("--tail", type=Number(min=0), default=TAIL, show_default=True, help="Begin with the last so many.")
@click.option(
    "--previous",
    "-p",
    "is_previous",
    is_flag=True,
    help="In a cluster, of containers that have ended and started anew.",
)
@click.option("--json", "is_raw", is_flag=True, help="Print lines as they are written.")
@click.option(
    "--namespace", "-n", metavar="NAMESPACE", help="A cluster's; by default that of the kubeconfig's context."
)
@click.option("--all-namespaces", "-A", "everywhere", is_flag=True, help="In a cluster, of all namespaces.")
@CONTEXT_OPTION
@click.option(
    "--home",
    type=click.Choice([home.value for home in HomeName]),
    help="Where workers run; by default local where the state folder has logs, and kubernetes otherwise.",
)
@state_option
def logs(
    *,
    group: str | None,
    follow: bool,
    is_raw: bool,
    namespace: str | None,
    everywhere: bool,
    context: str | None,
    home: str | None,
    state: Path,
    **chosen: Any,  # noqa: ANN401 - worker, process, tail, is_previous
) -> None:
    """Show what workers have said: all of them, in the order of time.

    Those that `penstock up` has run, also after it has ended; or else those of a cluster, as long as their pods are
    there. --follow goes on with workers that come.

    \b
    Examples:
      penstock logs
      penstock logs orders -f
      penstock logs --driver --tail 1000
      penstock logs orders --previous
      penstock logs --json | jq 'select(.level == "error")'
    """  # noqa: D301 - click wants the control character
    home = home or clusters_home(context)
    show = partial(_print, is_raw=is_raw)
    if home == HomeName.LOCAL or (home is None and _is_local(state, namespace or everywhere or chosen["is_previous"])):
        _show_local(state, group, show, follows=follow, **chosen)
        return
    try:
        _show_clusters(namespace, group, show, everywhere=everywhere, context=context, follows=follow, **chosen)
    except click.ClickException as problem:
        if home is not None or namespace or everywhere:
            raise
        raise click.ClickException(f"{_nothing_in(state)}\n{problem.message}") from problem


def _is_local(state: Path, clusters: object) -> bool:
    """Tell which home is meant where nobody says it."""
    return StateFolder(state).is_taken() or (not clusters and any(sources(state)))


def _nothing_in(state: Path) -> str:
    return f"There are no logs in {state}: no worker has run with this state folder."


def _show_clusters(
    namespace: str | None,
    group: str | None,
    show: Show,
    *,
    everywhere: bool,
    context: str | None,
    **chosen: Any,  # noqa: ANN401 - as above
) -> None:
    from penstock_operator.cli import cluster, cluster_logs  # noqa: PLC0415 - a second of imports
    from penstock_operator.storage.access import current_namespace  # noqa: PLC0415

    its_namespace, _, name = (group or "").rpartition("/")
    where = its_namespace or namespace or (None if everywhere else current_namespace(context) or DEFAULT_NAMESPACE)
    wanted = cluster_logs.Wanted(namespace=where, group=name or None, **chosen)
    with suppress(KeyboardInterrupt):
        cluster.in_cluster(lambda client: cluster_logs.show_logs(client, wanted, show), context)


def _show_local(
    state: Path,
    group: str | None,
    show: Show,
    *,
    follows: bool,
    worker: str | None,
    process: str | None,
    tail: int,
    is_previous: bool,
) -> None:
    if is_previous:
        raise click.UsageError("--previous is for a cluster; here, logs go back over new starts anyway.")
    groups = _groups(state, group, may_come=follows)
    with closing(LogFiles(state, groups, worker, process)) as files:
        reading = _Reading(files)
        shown = reading.more()
        show(shown[max(0, len(shown) - tail) :])
        with suppress(KeyboardInterrupt):
            while follows:
                time.sleep(LOOK_SECONDS)
                show(reading.more())


def _groups(state: Path, group: str | None, *, may_come: bool) -> frozenset[str] | None:
    """Return the groups that are meant, or None for all; say so where there is nothing."""
    known = {source.group for source, _ in sources(state)}
    if group is None:
        if not known and not may_come:
            raise click.ClickException(_nothing_in(state))
        return None
    chosen = frozenset(each for each in known if group in (each, each.partition("/")[2]))
    if not chosen:
        raise click.ClickException(f"There are no logs of a QueueGroup {group} in {state}.")
    return chosen


class _Reading:
    """Reads logs bit by bit."""

    def __init__(self, files: LogFiles) -> None:
        self._files = files
        self._last: dict[Source, datetime] = {}

    def more(self) -> list[LogLine]:
        """Return what is new, in the order of time; what one process wrote stays in the order in which it did."""
        found: list[LogLine] = []
        for source, lines in groupby(self._files.new_lines(), key=itemgetter(0)):
            found += self._of_one(source, [text.decode(errors="replace") for _, text in lines])
        return sorted(found, key=lambda line: line.at)

    def _of_one(self, source: Source, texts: Iterable[str]) -> list[LogLine]:
        """Return new lines of a process. Before its first line with a time, lines have the time of that one."""
        found: list[LogLine] = []
        last = self._last.get(source, LONG_AGO)
        for text in texts:
            line = log_line(source, text, max(last, time_of_spark(text) or last))
            last = line.at
            found.append(line)
        self._last[source] = last
        first = next((line.at for line in found if line.at > LONG_AGO), datetime.now(UTC))
        return [line if line.at > LONG_AGO else replace(line, at=first) for line in found]


def _print(lines: Sequence[LogLine], *, is_raw: bool) -> None:
    for line in lines:
        click.echo(line.raw if is_raw else readable(line))
