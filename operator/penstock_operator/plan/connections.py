"""What is said about a Connection: from how its link to NATS is doing to the conditions that people read.

Pure. Knows what each state means for those who wait. Does not know how a link is opened, nor when it is tried again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock_operator.plan.decision import ConditionType, Finalizer, Next, Note, Plan, Verdict
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.deletion import ABANDON
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.verdicts import FALSE, TRUE, UNKNOWN, Verdicts, doubtful
from penstock_operator.resources.management import ABANDON_ANNOTATION, FINALIZER

MOST_NAMED = 3
"""How many of those that need a Connection are named where it says why it stays."""

STILL_OPEN = "What is to be deleted on the server still is, over the link that is open."


@dataclass(frozen=True, slots=True)
class Connecting:
    """Nothing is known yet: the first attempt has not ended."""


@dataclass(frozen=True, slots=True)
class Connected:
    """The server answers, and JetStream can be used."""

    account: str
    """Which JetStream it leads to: what Place.account holds."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Live facts for the status, in camelCase: the server's version, its API level …"""
    warnings: tuple[str, ...] = ()
    """What works, and not as well as it could: advisories that the user may not read."""


@dataclass(frozen=True, slots=True)
class Failing:
    """It cannot be used; it is tried again for as long as it is declared."""

    reason: Reason
    """UNREACHABLE, TLS_FAILED, UNAUTHORIZED, NO_JETSTREAM, SECRET_NOT_FOUND or SECRET_INVALID."""
    message: str
    """What is wrong, and what to do, in sentences without secrets."""
    still_in: str = ""
    """The account that an older link still leads to: what is to go can be deleted there, and nothing else is done."""


LinkState = Connecting | Connected | Failing


def plan_connection(declared: Declared, state: LinkState, dependents: Iterable[Declared] = ()) -> Plan:
    """Decide what to say about a Connection: there is nothing to do on the server.

    It stays for as long as one of those that depend on it has something to delete there: all of a folder, or of a
    namespace, can be deleted at once. Its annotation lets it go nevertheless.
    """
    needed_by = who_needs_it(dependents)
    if needed_by and _is_abandoned(declared):
        return _abandoned(declared, needed_by)
    if declared.spec is None:
        verdicts = _told(UNKNOWN, FALSE, Reason.INVALID, declared.fault)
    elif declared.deleting and needed_by:
        verdicts = _told(UNKNOWN, FALSE, Reason.DELETING, _needed(needed_by))
    else:
        verdicts = () if declared.deleting else _verdicts(state)
    return Plan(
        finalizer=_finalizer(declared, is_needed=bool(needed_by)),
        verdicts=verdicts,
        notes=_notes(verdicts),
        next=Next.WHEN_IT_CHANGES,
    )


def who_needs_it(dependents: Iterable[Declared]) -> Sequence[Identity]:
    """Return those of its dependents that have something to delete through a Connection."""
    return [dependent.identity for dependent in dependents if FINALIZER in dependent.finalizers]


def _finalizer(declared: Declared, *, is_needed: bool) -> Finalizer:
    has = FINALIZER in declared.finalizers
    if is_needed and not has and not declared.deleting:
        return Finalizer.ADD_FIRST
    return Finalizer.REMOVE if has and not is_needed else Finalizer.AS_IS


def _is_abandoned(declared: Declared) -> bool:
    return declared.deleting and declared.annotations.get(ABANDON_ANNOTATION) == ABANDON


def _abandoned(declared: Declared, needed_by: Sequence[Identity]) -> Plan:
    """Let it go at once: whoever deletes a namespace may have no say over objects of another."""
    if FINALIZER not in declared.finalizers:
        return Plan(next=Next.WHEN_IT_CHANGES)
    message = f"It goes, as its annotation says, though {_named(needed_by)} through it: that has no way there any more."
    return Plan(
        finalizer=Finalizer.REMOVE,
        notes=(Note(Reason.ABANDONED, message, is_warning=True),),
        next=Next.WHEN_IT_CHANGES,
    )


def _needed(needed_by: Sequence[Identity]) -> str:
    return (
        f"It is being deleted; that waits, as {_named(needed_by)} through it first. Delete that as well; or let what "
        "it declares stay, by management.deletion: Retain. To let this Connection go at once, annotate it with "
        f'{ABANDON_ANNOTATION}: "{ABANDON}".'
    )


def _named(needed_by: Sequence[Identity]) -> str:
    """Name some of them: of a thousand, a few tell where to look."""
    names, others = sorted(map(str, needed_by))[:MOST_NAMED], len(needed_by) - MOST_NAMED
    whole = [*names, f"{others} more"] if others > 0 else names
    have = "has" if len(whole) == 1 else "have"
    return f"{', '.join(whole[:-1])}{' and ' if whole[1:] else ''}{whole[-1]} {have} something to delete on the server"


def _verdicts(state: LinkState) -> Verdicts:
    match state:
        case Connecting():
            return _told(UNKNOWN, UNKNOWN, Reason.CONNECTING, "The first attempt has not ended yet.")
        case Failing(reason=reason, message=message, still_in=still_in):
            return _told(FALSE, FALSE, reason, f"{message} {STILL_OPEN}" if still_in else message)
        case Connected(warnings=warnings):
            connected = _told(TRUE, TRUE, Reason.CONNECTED, "The server answers, and JetStream can be used.")
            return (*connected, *doubtful(warnings))


def _told(reachable: str, ready: str, reason: Reason, message: str) -> Verdicts:
    return (
        Verdict(ConditionType.READY, ready, reason, message),
        Verdict(ConditionType.REACHABLE, reachable, reason, message),
    )


def _notes(verdicts: Verdicts) -> tuple[Note, ...]:
    """Tell people what is known; whether it is news to them is for conditions.is_news to say."""
    return tuple(
        Note(ready.reason, ready.message, is_warning=ready.status == FALSE)
        for ready in verdicts
        if ready.type is ConditionType.READY and ready.status != UNKNOWN
    )
