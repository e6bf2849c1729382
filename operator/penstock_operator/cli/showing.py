"""How the outcomes of a run are shown: one line each with its mark, the fields below it, and a summary at the end.

Knows words, marks and colours. Does not know how an outcome came about (local.outcome).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click

from penstock_operator.cli.widths import printable
from penstock_operator.local.outcome import Change, Outcome, summary
from penstock_operator.plan.reasons import Reason

NOTHING_ON_SERVERS = ("Connection", "QueueGroup")
INDENT = "      "
WORDS: Mapping[Change, tuple[str, str, str]] = {
    Change.CREATE: ("create", "created", "to create"),
    Change.UPDATE: ("update", "updated", "to update"),
    Change.RECREATE: ("recreate", "recreated", "to recreate"),
    Change.DELETE: ("delete", "deleted", "to delete"),
    Change.PAUSE: ("pause", "paused or resumed", "to pause or resume"),
    Change.UNCHANGED: ("unchanged", "unchanged", "unchanged"),
    Change.DIFFERS: ("differs", "differs", "different and left so"),
    Change.PAUSED: ("paused", "paused", "paused"),
    Change.WAITING: ("waiting", "waiting", "waiting"),
    Change.CONFLICT: ("conflict", "conflict", "in conflict"),
    Change.REFUSED: ("refused", "refused", "refused"),
    Change.UNKNOWN: ("unknown", "unknown", "unknown"),
}
"""For each change: in a plan, when it is done, and in a summary."""
COLOURS: Mapping[Change, str] = {
    Change.CREATE: "green",
    Change.UPDATE: "yellow",
    Change.RECREATE: "red",
    Change.DELETE: "red",
    Change.PAUSE: "yellow",
    Change.DIFFERS: "yellow",
    Change.WAITING: "red",
    Change.CONFLICT: "red",
    Change.REFUSED: "red",
    Change.UNKNOWN: "red",
}
WIDEST = max(len(done) for planned, done, _ in WORDS.values() for done in (planned, done))


def planned_lines(outcome: Outcome) -> Iterator[str]:
    """Say what is to be done about an object, field by field."""
    yield _headline(outcome, WORDS[outcome.change][0])
    yield from _details(outcome)


def done_lines(outcome: Outcome) -> Iterator[str]:
    """Say what was done about an object."""
    yield _headline(outcome, WORDS[outcome.change][1])
    if outcome.is_obstructed or outcome.change in (Change.DIFFERS, Change.PAUSED):
        yield from _details(outcome)


def summary_line(outcomes: Iterable[Outcome], *, done: bool) -> str:
    counted = summary(outcomes)
    words = {change: WORDS[change][1 if done and change in DOABLE else 2] for change in counted}
    return ", ".join(f"{number:,} {words[change]}" for change, number in counted.items()) or "nothing is declared"


DOABLE = (Change.CREATE, Change.UPDATE, Change.RECREATE, Change.DELETE, Change.PAUSE)


def as_data(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as programs read it."""
    identity = outcome.identity
    data: dict[str, Any] = {
        "kind": identity.kind,
        "namespace": identity.namespace,
        "name": identity.name,
        "change": outcome.change.value,
    }
    if not outcome.is_to_be_done:
        data["reason"] = outcome.reason.value
    if outcome.message:
        data["message"] = outcome.message
    if outcome.fields:
        data["fields"] = [{"field": each.field, "old": each.old, "new": each.new} for each in outcome.fields]
    if outcome.warnings:
        data["warnings"] = list(outcome.warnings)
    if outcome.losses:
        data["losses"] = list(outcome.losses)
    return data


def summary_data(outcomes: Iterable[Outcome]) -> dict[str, int]:
    return {change.value: number for change, number in summary(outcomes).items()}


def of_servers(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Leave out Connections and QueueGroups that fit: nothing is made of them on a server."""
    return [each for each in outcomes if each.identity.kind not in NOTHING_ON_SERVERS or each.is_obstructed]


def hints(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Say what to do about what no sentence of a plan can know: that there is no cluster."""
    if any(each.reason is Reason.SECRET_NOT_FOUND for each in outcomes):
        yield "hint: put the Secret into the manifests, or into the folder that --secrets names, as the file NAME/KEY"


def _headline(outcome: Outcome, word: str) -> str:
    padded = word.ljust(WIDEST)
    return f"{click.style(padded, fg=COLOURS.get(outcome.change))} {outcome.identity}"


def _details(outcome: Outcome) -> Iterator[str]:
    for each in outcome.fields:
        if each.old == each.new:  # the server has a value where it was given none, and shows the same
            continue
        old = "" if each.old is None else f"{printable(each.old)} → "
        yield f"{INDENT}{each.field}: {old}{printable(each.new)}"
    if not outcome.is_to_be_done and outcome.change is not Change.UNCHANGED:
        yield f"{INDENT}{printable(outcome.message)}"
    for warning in outcome.warnings:
        yield f"{INDENT}{click.style('warning', fg='yellow')}: {printable(warning)}"
    for loss in outcome.losses:
        yield f"{INDENT}{click.style('loss', fg='red')}: {printable(loss)}"
