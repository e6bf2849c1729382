"""What is said about a Connection: from how its link to NATS is doing to the conditions that people read.

Pure. Knows what each state means for those who wait. Does not know how a link is opened, nor when it is tried again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock_operator.plan.decision import ConditionType, Finalizer, Next, Note, Plan, Verdict
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.verdicts import FALSE, TRUE, UNKNOWN, Verdicts, doubtful
from penstock_operator.resources.management import FINALIZER


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


LinkState = Connecting | Connected | Failing


def plan_connection(declared: Declared, state: LinkState, dependents: Iterable[Declared] = ()) -> Plan:
    """Decide what to say about a Connection: there is nothing to do on the server.

    It stays for as long as one of those that depend on it has something to delete there: all of a folder, or of a
    namespace, can be deleted at once.
    """
    needed = sum(FINALIZER in dependent.finalizers for dependent in dependents)
    if declared.spec is None:
        verdicts = _told(UNKNOWN, FALSE, Reason.INVALID, declared.fault)
    elif declared.deleting and needed:
        verdicts = _told(UNKNOWN, FALSE, Reason.DELETING, _needed(needed))
    else:
        verdicts = () if declared.deleting else _verdicts(state)
    return Plan(
        finalizer=_finalizer(declared, is_needed=needed > 0),
        verdicts=verdicts,
        notes=_notes(verdicts),
        next=Next.WHEN_IT_CHANGES,
    )


def _finalizer(declared: Declared, *, is_needed: bool) -> Finalizer:
    has = FINALIZER in declared.finalizers
    if is_needed and not has and not declared.deleting:
        return Finalizer.ADD_FIRST
    return Finalizer.REMOVE if has and not is_needed else Finalizer.AS_IS


def _needed(number: int) -> str:
    objects = "1 object has" if number == 1 else f"{number} objects have"
    return f"It is being deleted; that waits, as {objects} something to delete on the server through it first."


def _verdicts(state: LinkState) -> Verdicts:
    match state:
        case Connecting():
            return _told(UNKNOWN, UNKNOWN, Reason.CONNECTING, "The first attempt has not ended yet.")
        case Failing(reason=reason, message=message):
            return _told(FALSE, FALSE, reason, message)
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
