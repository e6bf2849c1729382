"""From verdicts to the status that is written: conditions with their times, and live facts.

Pure. Knows that a condition's time changes only when its status does, and that an equal status is not written.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from penstock_operator.plan.case import CONNECTION, SYNCED_GENERATION
from penstock_operator.plan.decision import ConditionType, Verdict
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.dependencies import CONSUMER_NAME, STREAM_NAME, Resolved
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.verdicts import TRUE
from penstock_operator.resources.management import FINALIZER

OBSERVED_GENERATION = "observedGeneration"
OURS = frozenset({OBSERVED_GENERATION, SYNCED_GENERATION, CONNECTION, "conditions"})
"""What stands in a status besides live facts."""

WHERE = (CONNECTION, STREAM_NAME, CONSUMER_NAME)
"""Where the object was ours last."""

LONGEST_MESSAGE = 4096
"""Characters. Many differences of long fields could say more than the API server takes, and than anybody reads."""

Status = dict[str, Any]


def status(
    declared: Declared,
    verdicts: Sequence[Verdict],
    facts: Mapping[str, Any] | None,
    now: datetime,
    at: Resolved | None = None,
) -> Status | None:
    """Return the whole status to write, camelCase; None if what is written already says the same.

    Without `facts`, those that are written stay: nobody has looked. Where the object is (`at`) is written when the
    server agrees with it there, and stays until it agrees elsewhere: what is deleted one day is deleted where it was
    ours. Without verdicts there is nothing to say. (What shall go with its object is written ahead: place_ahead.)
    """
    if not verdicts:
        return None
    live = _written_facts(declared) if facts is None else facts
    where = _where(at) if at and _agrees(verdicts) else _written_where(declared)
    said = {
        OBSERVED_GENERATION: declared.generation,
        SYNCED_GENERATION: _synced_generation(declared, verdicts),
        "conditions": [_condition(declared, verdict, now) for verdict in verdicts],
        **live,
        **where,
    }
    known = {name: value for name, value in said.items() if value is not None}
    return None if known == declared.status else known


def place_ahead(declared: Declared, at: Resolved) -> Status | None:
    """Return the status to write before something is done at a place that has to go with the object one day.

    Whoever comes next knows by it where to look, even if the answer is lost, or the object moves before it is seen.
    None if it says so already, or nothing is to go with the object.
    """
    where = {name: value for name, value in _where(at).items() if value is not None}
    is_known = _written_where(declared) == _where(at)
    return (
        None if is_known or declared.deleting or FINALIZER not in declared.finalizers else {**declared.status, **where}
    )


def _where(at: Resolved) -> Status:
    return {
        CONNECTION: f"{at.connection.namespace}/{at.connection.name}",
        STREAM_NAME: at.place.stream,
        CONSUMER_NAME: at.place.consumer or None,
    }


def _written_where(declared: Declared) -> Status:
    return {name: declared.status.get(name) for name in WHERE} if declared.status.get(CONNECTION) else {}


def is_news(declared: Declared, verdicts: Sequence[Verdict]) -> bool:
    """Tell whether people have not been told this already: then events may follow."""
    written = {(said["type"], said["status"], said["reason"], said["message"]) for said in _written(declared).values()}
    return written != {(said.type, said.status, said.reason, _message(said)) for said in verdicts}


def _written(declared: Declared) -> dict[str, Mapping[str, Any]]:
    """Return the conditions that are in the status, by their type."""
    return {condition["type"]: condition for condition in declared.status.get("conditions") or ()}


def _written_facts(declared: Declared) -> Status:
    return {name: value for name, value in declared.status.items() if name not in OURS}


def _synced_generation(declared: Declared, verdicts: Sequence[Verdict]) -> int | None:
    """Return the generation that the server last agreed with."""
    return declared.generation if _agrees(verdicts) else declared.status.get(SYNCED_GENERATION)


def _agrees(verdicts: Sequence[Verdict]) -> bool:
    """Tell whether the server has what is declared. What is only observed is not ours to agree about."""
    return any(
        verdict.type is ConditionType.SYNCED and verdict.status == TRUE and verdict.reason is Reason.IN_SYNC
        for verdict in verdicts
    )


def _condition(declared: Declared, verdict: Verdict, now: datetime) -> Status:
    before = _written(declared).get(verdict.type)
    return {
        "type": verdict.type.value,
        "status": verdict.status,
        "reason": verdict.reason.value,
        "message": _message(verdict),
        "lastTransitionTime": _since(before, verdict) or _rfc3339(now),
        OBSERVED_GENERATION: declared.generation,
    }


def _message(verdict: Verdict) -> str:
    whole = verdict.message
    return whole if len(whole) <= LONGEST_MESSAGE else f"{whole[: LONGEST_MESSAGE - 1]}…"


def _since(before: Mapping[str, Any] | None, verdict: Verdict) -> str | None:
    """Return since when it has been so; None if it has not."""
    return before["lastTransitionTime"] if before and before["status"] == verdict.status else None


def _rfc3339(moment: datetime) -> str:
    """Write a time as the API server does: in UTC, to the second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
