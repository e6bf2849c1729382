"""What a plan comes to for whoever reads it: one word, the fields that differ, and what else there is to know.

Pure. Knows plans, and which reasons mean the same to a reader. Does not know how it is printed (cli), nor how the plan
was made (plan.reconcile).
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from penstock_operator.plan.decision import Action, ConditionType, Create, Delete, Plan, Recreate, Update, Verdict
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.reasons import Reason
from penstock_operator.resources.wording import spec_field, spec_value


class Change(StrEnum):
    """What is to become of an object on the server, or why nothing is."""

    CREATE = "create"
    UPDATE = "update"
    RECREATE = "recreate"
    DELETE = "delete"
    PAUSE = "pause or resume"
    UNCHANGED = "unchanged"
    DIFFERS = "differs"
    """Its management says that nothing is to be done about it."""
    PAUSED = "paused"
    WAITING = "waiting"
    CONFLICT = "conflict"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    """The server could not be asked."""


ACTIONS: Mapping[type[Action], Change] = {
    Create: Change.CREATE,
    Update: Change.UPDATE,
    Recreate: Change.RECREATE,
    Delete: Change.DELETE,
}
REASONS: Mapping[Reason, Change] = {
    Reason.PAUSED: Change.PAUSED,
    Reason.CONNECTION_NOT_FOUND: Change.WAITING,
    Reason.CONNECTION_NOT_ALLOWED: Change.WAITING,
    Reason.CONNECTION_NOT_READY: Change.WAITING,
    Reason.CONSUMER_NOT_FOUND: Change.WAITING,
    Reason.CONSUMER_NOT_READY: Change.WAITING,
    Reason.STREAM_NOT_FOUND: Change.WAITING,
    Reason.STREAM_NOT_READY: Change.WAITING,
    Reason.SECRET_NOT_FOUND: Change.WAITING,
    Reason.CONFLICT: Change.CONFLICT,
    Reason.OBSERVED: Change.DIFFERS,
    Reason.DRIFTED: Change.DIFFERS,
    Reason.MISSING: Change.DIFFERS,
    Reason.CONNECTING: Change.UNKNOWN,
    Reason.UNREACHABLE: Change.UNKNOWN,
    Reason.TLS_FAILED: Change.UNKNOWN,
    Reason.UNAUTHORIZED: Change.UNKNOWN,
    Reason.NO_JETSTREAM: Change.UNKNOWN,
}
"""What an object that is not in sync comes to if nothing is to be done; all other reasons refuse it."""
ABOUT_THE_OBJECT = frozenset({"connectionRef", "streamRef", "management"})
"""Fields that say where it is and how it is led, and are nothing on the server."""
TO_BE_DONE = frozenset({*ACTIONS.values(), Change.PAUSE})
OBSTRUCTED = frozenset({Change.WAITING, Change.CONFLICT, Change.REFUSED, Change.UNKNOWN})


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field, in the manifest's spelling."""

    field: str
    old: str | None
    """None where nothing is there yet."""
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One object."""

    identity: Identity
    change: Change
    reason: Reason
    message: str
    """Why it is so; of what is to be done, nothing: a plan tells what is true after it."""
    fields: tuple[FieldChange, ...] = ()
    warnings: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the server says of it now."""

    @property
    def is_obstructed(self) -> bool:
        return self.change in OBSTRUCTED

    @property
    def is_to_be_done(self) -> bool:
        return self.change in TO_BE_DONE


def outcome(declared: Declared, plan: Plan, facts: Mapping[str, Any]) -> Outcome:
    """Return what a plan comes to."""
    identity = declared.identity
    ready = _verdict(plan, ConditionType.READY)
    warning = _verdict(plan, ConditionType.WARNING)
    return Outcome(
        identity=identity,
        change=_change(plan.action, ready),
        reason=ready.reason if ready else Reason.DELETING,
        message=ready.message if ready and not plan.action else "",
        fields=_given(declared) if isinstance(plan.action, Create) else _changed(identity.kind, plan),
        warnings=(warning.message,) if warning else (),
        losses=plan.losses,
        facts=facts,
    )


def _given(declared: Declared) -> tuple[FieldChange, ...]:
    """Return what somebody wrote about an object that is yet to be made."""
    given = declared.spec.model_dump(mode="json", by_alias=True, exclude_unset=True) if declared.spec else {}
    return tuple(
        FieldChange(name, None, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in given.items()
        if name not in ABOUT_THE_OBJECT
    )


def _changed(kind: str, plan: Plan) -> tuple[FieldChange, ...]:
    return tuple(
        FieldChange(
            spec_field(kind, difference.field),
            spec_value(kind, difference.field, difference.actual),
            spec_value(kind, difference.field, difference.desired),
        )
        for difference in plan.differences
    )


def summary(outcomes: Iterable[Outcome]) -> dict[Change, int]:
    """Count the objects by what becomes of them, in the order of the words."""
    counted = Counter(outcome.change for outcome in outcomes)
    return {change: counted[change] for change in Change if counted[change]}


def _change(action: Action | None, ready: Verdict | None) -> Change:
    if action is not None:
        return ACTIONS.get(type(action), Change.PAUSE)
    if ready is None or ready.status == "True":
        return Change.UNCHANGED
    return REASONS.get(ready.reason, Change.REFUSED)


def _verdict(plan: Plan, kind: ConditionType) -> Verdict | None:
    return next((verdict for verdict in plan.verdicts if verdict.type is kind), None)
