"""`penstock logs`: what the workers that `penstock up` runs have said, in the order of time, and what they say now.

Knows its options. Where logs are, and what a line says, is known by local.log_files and log_lines.py.
"""

import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock_operator.cli.groups import complete_group
from penstock_operator.cli.log_lines import LONG_AGO, LogLine, log_line, readable
from penstock_operator.cli.up import state_option
from penstock_operator.local.log_files import LogFiles, Source, sources

if TYPE_CHECKING:
    from datetime import datetime

LOOK_SECONDS = 0.2
TAIL = 100


@click.command
@click.argument("group", metavar="[GROUP]", required=False, shell_complete=complete_group)
@click.option("--follow", "-f", is_flag=True, help="Go on with what is written from now on, until Ctrl-C.")
@click.option("--worker", metavar="NAME", help="Of this worker only, such as orders-0.")
@click.option("--engine", "process", flag_value="engine", help="Of engines only: what is pulled and settled.")
@click.option("--driver", "process", flag_value="driver", help="Of drivers only: Spark, and your code.")
@click.option(
    "--tail", type=click.IntRange(min=0), default=TAIL, show_default=True, help="Begin with the last so many."
)
@click.option("--json", "is_raw", is_flag=True, help="Print lines as they are written.")
@state_option
def logs(
    *,
    group: str | None,
    follow: bool,
    worker: str | None,
    process: str | None,
    tail: int,
    is_raw: bool,
    state: Path,
) -> None:
    """Show what workers that `penstock up` runs have said: all of them, in the order of time.

    They are there after `up` has ended, too. In a cluster, `kubectl logs` has them.

    \b
    Examples:
      penstock logs
      penstock logs orders -f
      penstock logs --driver --tail 1000
      penstock logs --json | jq 'select(.level == "error")'
    """  # noqa: D301 - click wants the control character
    groups = _groups(state, group, may_come=follow)
    with closing(LogFiles(state, groups, worker, process)) as files:
        reading = _Reading(files)
        shown = reading.more()
        _print(shown[max(0, len(shown) - tail) :], is_raw=is_raw)
        try:
            while follow:
                time.sleep(LOOK_SECONDS)
                _print(reading.more(), is_raw=is_raw)
        except KeyboardInterrupt:
            return


def _groups(state: Path, group: str | None, *, may_come: bool) -> frozenset[str] | None:
    """Return the groups that are meant, or None for all; say so where there is nothing."""
    known = {source.group for source, _ in sources(state)}
    if group is None:
        if not known and not may_come:
            raise click.ClickException(f"There are no logs in {state}: no worker has run with this state folder.")
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
        for source, text in self._files.new_lines():
            line = log_line(source, text.decode(errors="replace"), self._last.get(source, LONG_AGO))
            self._last[source] = line.at
            found.append(line)
        return sorted(found, key=lambda line: line.at)


def _print(lines: list[LogLine], *, is_raw: bool) -> None:
    for line in lines:
        click.echo(line.raw if is_raw else readable(line))
