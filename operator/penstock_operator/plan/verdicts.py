"""The conditions of a Stream or Consumer, for each situation that it can be in. Ready is derived from the others.

Pure. Knows what each situation means for each condition. Does not know how it came to that (reconcile.py).
"""

from collections.abc import Mapping

from penstock_operator.plan.decision import ConditionType, Verdict
from penstock_operator.plan.reasons import Reason

TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"

Verdicts = tuple[Verdict, ...]

ALL_WELL: Mapping[ConditionType, str] = {
    ConditionType.SYNCED: TRUE,
    ConditionType.DRIFTED: FALSE,
    ConditionType.REACHABLE: TRUE,
}
"""What Ready sums up: nothing less is Ready=True, under any policy."""

UNDECIDED = frozenset({Reason.PAUSED, Reason.CONNECTING})
"""Reasons for which Ready is neither True nor False: nobody has looked."""

SILENT = frozenset({Reason.UNREACHABLE, Reason.TLS_FAILED, Reason.UNAUTHORIZED, Reason.NO_JETSTREAM})
"""Reasons why no answer comes from JetStream: what is there, and whether anything was done, is not known then."""

ANSWERS = Verdict(ConditionType.REACHABLE, TRUE, Reason.CONNECTED, "The server answers.")


def in_sync(message: str, reason: Reason = Reason.IN_SYNC) -> Verdicts:
    """All is as declared."""
    return _asked(reason, message, synced=TRUE, drifted=FALSE)


def out_of_sync(reason: Reason, message: str, *, drifted: bool = False) -> Verdicts:
    """The server has something else than declared: changed behind our back if `drifted`, else not changed yet."""
    return _asked(reason, message, synced=FALSE, drifted=TRUE if drifted else FALSE)


def failed(reason: Reason, message: str, *, drifted: bool = False) -> Verdicts:
    """Something was asked for and not had: the server said why, or did not answer at all."""
    return unanswered(reason, message) if reason in SILENT else out_of_sync(reason, message, drifted=drifted)


def unanswered(reason: Reason, message: str) -> Verdicts:
    """The server was asked, and did not say."""
    return _all(reason, message, synced=UNKNOWN, drifted=UNKNOWN, reachable=FALSE)


def unasked(reason: Reason, message: str) -> Verdicts:
    """The server was not asked: there is no way to it, or no reason to."""
    return _all(reason, message, synced=UNKNOWN, drifted=UNKNOWN, reachable=UNKNOWN)


def doubtful(warnings: tuple[str, ...]) -> Verdicts:
    """It works, and may surprise. Without warnings there is no such condition."""
    if not warnings:
        return ()
    return (Verdict(ConditionType.WARNING, TRUE, Reason.DOUBTFUL, " ".join(warnings)),)


def _asked(reason: Reason, message: str, *, synced: str, drifted: str) -> Verdicts:
    told = _all(reason, message, synced=synced, drifted=drifted, reachable=TRUE)
    return (*(verdict for verdict in told if verdict.type is not ConditionType.REACHABLE), ANSWERS)


def _all(reason: Reason, message: str, *, synced: str, drifted: str, reachable: str) -> Verdicts:
    found = {ConditionType.SYNCED: synced, ConditionType.DRIFTED: drifted, ConditionType.REACHABLE: reachable}
    told = {ConditionType.READY: _ready(found, reason), **found}
    return tuple(Verdict(kind, status, reason, message) for kind, status in told.items())


def _ready(found: Mapping[ConditionType, str], reason: Reason) -> str:
    if found == ALL_WELL:
        return TRUE
    return UNKNOWN if reason in UNDECIDED else FALSE
