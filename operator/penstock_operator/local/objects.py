"""Declared objects with what was found about them, in the shape in which a cluster shows its objects.

Pure. Knows how a status says Ready. A cluster's comes from the operator; here it comes from a run that changed nothing,
so what is yet to be done is not ready. How a queue group stands only `penstock up` can tell, which runs its workers.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from penstock_operator.local.outcome import Change, Outcome
from penstock_operator.plan.declared import Identity
from penstock_operator.plan.reasons import Reason

UNDONE: Mapping[Change, Reason] = {
    Change.CREATE: Reason.MISSING,
    Change.UPDATE: Reason.DRIFTED,
    Change.RECREATE: Reason.DRIFTED,
    Change.PAUSE: Reason.DRIFTED,
}
"""Why what is yet to be done is not ready."""


NOT_RUN = "It fits its Consumer. Whether it works is not known: no `penstock up` runs it here."


def objects(
    contents: Mapping[Identity, Mapping[str, Any]],
    outcomes: Iterable[Outcome],
    by_up: Mapping[Identity, Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Return the objects; `by_up` are the statuses of queue groups that `penstock up` runs."""
    return [{**contents[each.identity], "status": by_up.get(each.identity) or _status(each)} for each in outcomes]


def _status(outcome: Outcome) -> dict[str, Any]:
    reason = UNDONE.get(outcome.change, outcome.reason)
    message = _undone(outcome) if outcome.is_to_be_done else outcome.message
    status = _ready(outcome.change)
    if reason is Reason.FITS:
        status, message = "Unknown", NOT_RUN
    ready = {"type": "Ready", "status": status, "reason": reason.value, "message": message}
    return {"conditions": [ready], **outcome.facts}


def _ready(change: Change) -> str:
    if change is Change.UNCHANGED:
        return "True"
    return "Unknown" if change in (Change.PAUSED, Change.UNKNOWN) else "False"


def _undone(outcome: Outcome) -> str:
    if outcome.change is Change.CREATE:
        return "It is not on the server."
    return " ".join(f"{each.field}: {each.old} is to be {each.new}." for each in outcome.fields)
