"""`penstock dead`: the messages that nobody could process: listed, looked at, sent again, thrown away.

Knows the columns and the words. How letters are read and sent again is the matter of services.nats.dead_letters.
"""

from codecs import utf_8_decode
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from penstock_operator.cli import human
from penstock_operator.cli.exit_codes import FAILED
from penstock_operator.cli.groups import Group, the_one, with_groups
from penstock_operator.cli.naming import group_argument, group_option
from penstock_operator.cli.options import Number
from penstock_operator.cli.output import Form, Progress, form_option, print_data, print_table, say
from penstock_operator.cli.sources import Sources, source_options
from penstock_operator.cli.tables import Column
from penstock_operator.cli.widths import cut, printable
from penstock_operator.plan.dead_letters import FIELDS, LINE_BREAK, Condition, ConditionError, DeadLetter, condition
from penstock_operator.services.nats.dead_letters import CannotReplayError, DeadLetters, Found, Outcome

COLUMNS = (
    Column("GROUP"),
    Column("SEQ", right=True),
    Column("AGE"),
    Column("MESSAGE"),
    Column("SUBJECT"),
    Column("SIZE", right=True),
    Column("ATTEMPTS", right=True),
    Column("REASON"),
)
LONGEST_REASON = 100
LONGEST_SUBJECT = 40
NEWEST = 20
MOST_SENTENCES = 10
"""Of letters that stay, so many say why; the others are counted."""
BYTES_OF_A_LINE = 16
MOST_SHOWN = 16 << 10
"""Of data, where people look at it."""
TRACE = "Trace"
TRACEBACK = "Traceback (most recent call last)"

Command = TypeVar("Command", bound=Callable[..., Any])


@click.group
def dead() -> None:
    """Look at the messages that nobody could process, and send them again.

    \b
    Examples:
      penstock dead list
      penstock dead show 12
      penstock dead replay --where 'reason=*customer*'
      penstock dead discard 12 13 --yes
    """  # noqa: D301 - click wants the control character


def _conditions(_context: click.Context, _parameter: click.Parameter, values: Sequence[str]) -> tuple[Condition, ...]:
    try:
        return tuple(condition(value) for value in values)
    except ConditionError as problem:
        raise click.BadParameter(str(problem)) from problem


where_option = click.option(
    "--where",
    "conditions",
    multiple=True,
    metavar="FIELD=PATTERN",
    callback=_conditions,
    shell_complete=lambda *asked: [CompletionItem(f"{each}=") for each in FIELDS if each.startswith(asked[-1])],
    help=f"Those only of which this is so; * stands for anything. Of several, all. FIELD: {', '.join(FIELDS)}.",
)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which letters are meant."""

    sequences: tuple[int, ...]
    conditions: tuple[Condition, ...]

    def holds(self, letter: DeadLetter) -> bool:
        return all(each.holds(letter) for each in self.conditions)

    async def letters(self, dead_letters: DeadLetters) -> AsyncIterator[Found]:
        """Go through them. What is named and not there is an error, before anything is done."""
        if not self.sequences:
            async for found in dead_letters.all(self.holds):
                yield found
            return
        named = {sequence: await dead_letters.get(sequence) for sequence in self.sequences}
        missing = [str(sequence) for sequence, letter in named.items() if letter is None]
        if missing:
            raise click.ClickException(f"There is no dead letter {', '.join(missing)} in stream {dead_letters.stream}.")
        for letter in filter(None, named.values()):
            yield letter


def selection_options(command: Command) -> Command:
    """Give a command the ways to say which letters are meant; exactly one is used."""
    command = where_option(command)
    command = click.option("--all", "everything", is_flag=True, help="All of the group.")(command)
    return click.argument("sequences", metavar="[SEQ]...", type=Number(min=1), nargs=-1)(command)


def _selection(sequences: tuple[int, ...], conditions: tuple[Condition, ...], *, everything: bool) -> Selection:
    ways = sum((bool(sequences), bool(conditions), everything))
    if not ways:
        raise click.UsageError("Say which dead letters are meant: by their SEQ, with --where, or with --all.")
    if ways > 1:
        raise click.UsageError("Only one of SEQ, --where and --all can be given.")
    return Selection(tuple(dict.fromkeys(sequences)), conditions)


@dead.command("list")
@group_argument
@click.option("--limit", type=Number(min=1), default=NEWEST, show_default=True, help="At most so many, newest.")
@where_option
@source_options(needs_files=False)
@form_option
def list_(*, group: str | None, limit: int, conditions: tuple[Condition, ...], sources: Sources, form: Form) -> None:
    """List dead letters, the newest first.

    SEQ is where a letter is in the stream of dead letters, MESSAGE where its message was: in which stream, and there.

    \b
    Examples:
      penstock dead list
      penstock dead list orders --where 'error=KeyError' --limit 5
      penstock dead list -o json | jq -r '.deadLetters[].reason' | sort | uniq -c
    """  # noqa: D301 - click wants the control character
    selection = Selection((), conditions)

    async def listed(groups: Sequence[Group]) -> list[tuple[Group, int, list[Found]]]:
        return [
            (each, await letters.count(), await letters.newest(limit, selection.holds))
            for each in groups
            for letters in [DeadLetters(each.jetstream, each.place)]
        ]

    found = with_groups(sources, group, listed)
    if form is not Form.TABLE:
        print_data(form, {"deadLetters": [_data(of.name, letter) for of, _, letters in found for letter in letters]})
        return
    now = datetime.now(UTC)
    print_table(COLUMNS, [_row(of, letter, now) for of, _, letters in found for letter in letters])
    for of, count, letters in found:
        if len(letters) == limit < count:
            chosen = "that --where selects" if conditions else f"of {count:,} dead letters"
            say(f"{of.identity}: the newest {limit:,} {chosen} are shown; --limit shows more.")


def _row(of: Group, found: Found, now: datetime) -> tuple[str, ...]:
    letter = found.letter
    return (
        of.identity.name,
        str(letter.sequence),
        human.age(letter.stored, now),
        f"{letter.stream} {letter.fact('Sequence')}",
        cut(printable(letter.subject), LONGEST_SUBJECT),
        human.size(len(found.data)),
        letter.fact("Attempts"),
        cut(printable(_gist(_why(letter))), LONGEST_REASON),
    )


def _why(letter: DeadLetter) -> str:
    """Return the reason, with the error where that says more."""
    error, message = letter.fact("Error"), letter.fact("Error-Message")
    told = f"{error}: {message}" if error and message else error or message
    return letter.reason if not told or told in letter.reason else f"{letter.reason}: {told}"


def _gist(why: str) -> str:
    """Return a reason in one line: of a Python traceback, what it ends with."""
    lines = [line for line in why.split(LINE_BREAK) if line.strip()]
    return lines[-1] if any(TRACEBACK in line for line in lines) else " ".join(lines)


def _data(group: str, found: Found) -> dict[str, Any]:
    letter = found.letter
    return {
        "group": group,
        "sequence": letter.sequence,
        "stored": letter.stored.isoformat(),
        "stream": letter.stream,
        "streamSequence": _number(letter.fact("Sequence")),
        "subject": letter.subject,
        "reason": letter.reason,
        **{
            name[0].lower() + name[1:].replace("-", ""): _number(fact) if name in COUNTS else fact
            for name in MORE
            if (fact := letter.facts.get(name)) is not None
        },
        "headers": {name: list(values) for name, values in letter.headers.items()},
        "bytes": len(found.data),
    }


MORE = (
    "Error",
    "Error-Message",
    "Condition",
    "Sqlstate",
    "Place",
    "Batch",
    "Worker",
    "Attempts",
    "Delivered",
    "Timestamp",
)
"""What is told of a letter where it has it."""
COUNTS = ("Attempts", "Delivered")


def _number(fact: str) -> int | str:
    """Convert a header to a number. Other text is kept: every client that can publish dead letters can write it."""
    return int(fact) if fact.isascii() and fact.isdecimal() else fact


@dead.command
@click.argument("sequence", metavar="SEQ", type=Number(min=1))
@group_option
@click.option("--raw", is_flag=True, help="Write the message's data to standard output as it is, and nothing else.")
@source_options(needs_files=False)
def show(*, sequence: int, group: str | None, raw: bool, sources: Sources) -> None:
    """Show a dead letter: where its message came from, why it is here, its headers and its data.

    \b
    Examples:
      penstock dead show 12
      penstock dead show 12 --raw > message.json
    """  # noqa: D301 - click wants the control character

    async def get(groups: Sequence[Group]) -> Found:
        letters = DeadLetters((of := the_one(groups)).jetstream, of.place)
        found = await letters.get(sequence)
        if found is None:
            raise click.ClickException(f"There is no dead letter {sequence} in stream {letters.stream}.")
        return found

    found = with_groups(sources, group, get)
    if raw:
        click.echo(found.data, nl=False)
        return
    for line in _described(found):
        click.echo(line)


def _described(found: Found) -> list[str]:
    letter = found.letter
    facts = {"Stored": letter.stored.isoformat(timespec="seconds"), **letter.facts}
    wide = max(map(len, facts)) + 1
    lines = [f"{f'{name}:':<{wide}} {printable(value)}" for name, value in facts.items() if name != TRACE]
    if letter.trace:
        lines += ["", "Trace", *(f"  {printable(each)}" for each in letter.trace)]
    if letter.headers:
        lines += ["", "Headers"]
        lines += [
            f"  {printable(name)}: {printable(value)}" for name, values in letter.headers.items() for value in values
        ]
    lines += ["", f"Data, {human.size(len(found.data))}", *_readable(found.data[:MOST_SHOWN])]
    return [*lines, "  … --raw writes all of it"] if len(found.data) > MOST_SHOWN else lines


def _readable(data: bytes) -> list[str]:
    """Return data as text, or as hexadecimal numbers where it is none."""
    try:
        text, _ = utf_8_decode(data, "strict", len(data) < MOST_SHOWN)  # the last letter may have been cut in two
    except UnicodeDecodeError:
        return [
            f"  {start:08x}  {part.hex(' '):<{BYTES_OF_A_LINE * 3}} {''.join(map(_letter, part))}"
            for start in range(0, len(data), BYTES_OF_A_LINE)
            for part in [data[start : start + BYTES_OF_A_LINE]]
        ]
    return [f"  {printable(line)}" for line in text.splitlines()]


def _letter(byte: int) -> str:
    return chr(byte) if chr(byte).isascii() and chr(byte).isprintable() else "."


@dead.command
@selection_options
@group_option
@click.option("--dry-run", is_flag=True, help="Say what would be sent, and send nothing.")
@source_options(needs_files=False)
@click.pass_context
def replay(
    context: click.Context,
    *,
    sequences: tuple[int, ...],
    conditions: tuple[Condition, ...],
    everything: bool,
    group: str | None,
    dry_run: bool,
    sources: Sources,
) -> None:
    """Send messages again on the subjects that they had, and remove their dead letters.

    A letter is removed once a stream has said that it has the message: nothing is lost, whenever this is interrupted.
    Interrupted in between, a message may be sent a second time; its stream drops it if that is within the stream's
    duplicateWindow (2 minutes, if nobody has said otherwise). Messages keep their data and headers, and get an id of
    their own.

    \b
    Examples:
      penstock dead replay 12 13
      penstock dead replay --where 'reason=*customer*' --dry-run
      penstock dead replay --group orders --all
    """  # noqa: D301 - click wants the control character
    selection = _selection(sequences, conditions, everything=everything)

    async def replayed(groups: Sequence[Group]) -> Outcome | None:
        letters = DeadLetters((of := the_one(groups)).jetstream, of.place)
        if dry_run:
            async for found in selection.letters(letters):
                fault = letters.cannot_replay(found)
                click.echo(f"{found.letter.sequence}: {printable(fault or f'to {found.letter.subject}')}")
            return None
        progress = Progress("Replayed", await letters.count() if not sequences else len(sequences))
        try:
            return await letters.replay(selection.letters(letters), progress.at)
        except CannotReplayError as problem:
            raise click.ClickException(str(problem)) from problem
        finally:
            progress.end()

    outcome = with_groups(sources, group, replayed)
    if outcome is not None:
        _tell(outcome)
        if outcome.failed:
            context.exit(FAILED)


def _tell(outcome: Outcome) -> None:
    streams = ", ".join(f"{human.number(count)} to {stream}" for stream, count in outcome.streams.items())
    click.echo(f"{human.number(outcome.replayed)} replayed{f': {streams}' if streams else ''}.")
    if outcome.already_there:
        say(f"{human.number(outcome.already_there)} of them had been sent before: their streams have them once.")
    for failed in outcome.failed[:MOST_SENTENCES]:
        say(f"{failed.sequence}: {printable(failed.sentence)}")
    if len(outcome.failed) > MOST_SENTENCES:
        say(f"… and {human.number(len(outcome.failed) - MOST_SENTENCES)} more.")
    if outcome.failed:
        say(f"{human.number(len(outcome.failed))} could not be replayed, and stay dead letters.")


@dead.command
@selection_options
@group_option
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@source_options(needs_files=False)
def discard(
    *,
    sequences: tuple[int, ...],
    conditions: tuple[Condition, ...],
    everything: bool,
    group: str | None,
    yes: bool,
    sources: Sources,
) -> None:
    """Throw dead letters away, for good.

    \b
    Examples:
      penstock dead discard 12 13
      penstock dead discard --where 'subject=orders.test.*' --yes
    """  # noqa: D301 - click wants the control character
    selection = _selection(sequences, conditions, everything=everything)

    async def discarded(groups: Sequence[Group]) -> int:
        letters = DeadLetters((of := the_one(groups)).jetstream, of.place)
        chosen = [found.letter.sequence async for found in selection.letters(letters)]
        if chosen and not yes:
            click.confirm(f"Throw away {human.number(len(chosen))} of {of.identity}, for good?", abort=True, err=True)
        await letters.remove(chosen)
        return len(chosen)

    click.echo(f"{human.number(with_groups(sources, group, discarded))} thrown away.")
