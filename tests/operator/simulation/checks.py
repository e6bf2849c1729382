"""What must hold at all times, judged by what objects report and what the server has."""

from typing import Any

from penstock_jetstream.config import Unchanged, plan_update
from penstock_operator.plan.case import CONNECTION
from penstock_operator.plan.decision import Action, ConditionType, Create, Delete, Pause, Plan, Recreate, Update
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.dependencies import CONSUMER_NAME, STREAM_NAME, connection_of
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Place, Present, Surroundings
from penstock_operator.plan.wording import TABLES
from penstock_operator.resources.management import (
    ABANDON_ANNOTATION,
    FINALIZER,
    PAUSE_ANNOTATION,
    RECREATE_ANNOTATION,
    Deletion,
    Drift,
    ImmutableChange,
    Management,
    Policy,
)
from tests.operator.plan.builders import wanted
from tests.operator.simulation.home import Home, Manifest
from tests.operator.simulation.server import ACCOUNTS, Server, kind_of

MAY_NOT_ACT = frozenset(
    {Reason.IMMUTABLE, Reason.MOVED, Reason.CONFLICT, Reason.STREAM_NOT_FOUND, Reason.STREAM_NOT_READY}
)


class Violation(AssertionError):  # noqa: N818 - it is what was violated
    """Something that must hold did not."""


def must(holds: object, sentence: str) -> None:
    if not holds:
        raise Violation(sentence)


class Checks:
    def __init__(self, home: Home, server: Server) -> None:
        self._home = home
        self._server = server
        self._makers: dict[Place, tuple[str, bool]] = {}
        """Which object made what is at a place, and whether it said then that it shall go with it."""
        self._left: set[Place] = set()
        """Where something was left behind, and people were told."""

    def planned(self, declared: Declared, place: Place | None, around: Surroundings, decided: Plan) -> None:
        """Judge a plan by what was known when it was made."""
        own = [each for each, (uid, _) in self._makers.items() if uid == declared.uid]
        for each in own:
            if place in (None, each):  # where nobody can look, it is about all that it made
                self._still_makes(each, declared, around, decided)
        ready = next((verdict for verdict in decided.verdicts if verdict.type is ConditionType.READY), None)
        if decided.action is None:
            return
        it = f"{declared.identity}, which plans {type(decided.action).__name__},"
        management = declared.management
        must(management, f"{it} cannot be understood")
        assert management
        must(management.policy is Policy.MANAGE, f"{it} observes only")
        there = around.former or around if decided.leaves else around
        must(there.holder is None, f"{it} does not hold the place")
        must(declared.annotations.get(PAUSE_ANNOTATION) != "paused", f"{it} is paused")
        must(not ready or ready.status == "True" or decided.next.name == "AT_ONCE", f"{it} would not be ready")
        has_heir = (around.former or around).heir is not None
        must(not (has_heir and isinstance(decided.action, Delete)), f"{it} takes what another declares, too")
        self._allowed(it, declared, management, decided)
        self._needed(it, declared, around, decided.action)

    def _still_makes(self, place: Place, declared: Declared, around: Surroundings, decided: Plan) -> None:
        """Note what the operator has seen: what changed and went before it looked nobody can know."""
        others = around.former or around
        if others.holder or (others.heir and (declared.deleting or decided.leaves)):
            del self._makers[place]  # another object has it now
        elif not declared.deleting:
            self._makers[place] = (declared.uid, _ends_with_it(declared) and FINALIZER in declared.finalizers)

    def _allowed(self, it: str, declared: Declared, management: Management, decided: Plan) -> None:
        action, named = decided.action, declared.annotations.get(RECREATE_ANNOTATION) == str(declared.generation)
        must(declared.deleting == isinstance(action, Delete) or decided.leaves, f"{it} is at another point of its life")
        if isinstance(action, Delete):
            must(management.deletion is Deletion.DELETE, f"{it} shall be retained")
            must(FINALIZER in declared.finalizers, f"{it} was never said to go with its object")
        if declared.deleting:
            must(declared.annotations.get(ABANDON_ANNOTATION) != "true", f"{it} is abandoned")
        if decided.leaves:
            must(named, f"{it} moves, and has not been allowed to")
        if isinstance(action, Recreate):
            must(named and management.immutable_change is ImmutableChange.RECREATE, f"{it} has not been allowed to")

    def _needed(self, it: str, declared: Declared, around: Surroundings, action: Action) -> None:
        """No request is sent that changes nothing."""
        there = around.observed.config if isinstance(around.observed, Present) else None
        if isinstance(action, Create):
            must(there is None, f"{it} is there already")
        if isinstance(action, Update | Recreate):
            change = plan_update(TABLES[declared.identity.kind], wanted(declared), there or {})
            must(not isinstance(change, Unchanged), f"{it} is as declared")
        if isinstance(action, Pause):
            must((there or {}).get("pause_until") != action.until, f"{it} is paused so already")

    def done(self, read: Manifest, place: Place, request: Action) -> None:
        """Note what was carried out on the server."""
        if isinstance(request, Delete):
            self._makers.pop(place, None)
            return
        declared = Declared.read(read)
        current = self._home.read((read["kind"], read["metadata"]["name"]))
        as_read = current is not None and current["metadata"]["generation"] == declared.generation
        held = current is not None and FINALIZER in current["metadata"]["finalizers"]
        must(held or not as_read or not _ends_with_it(declared), f"{place} was made for what may go without it")
        self._makers[place] = (declared.uid, held and _ends_with_it(declared))
        self._left.discard(place)

    def left(self, place: Place, around: Surroundings, told: Plan) -> None:
        """Note that an object has left a place, and judge whether people know what stays there."""
        is_said = any(note.reason is Reason.MOVED and note.is_warning for note in told.notes)
        is_gone = isinstance(told.action, Delete) or (around.former and around.former.is_gone)
        must(is_said or is_gone, f"{place} was left behind without a word")
        if is_said:
            self._left.add(place)

    def removed(self, place: Place) -> None:
        """Note that somebody else has taken it away, or made another."""
        self._makers.pop(place, None)

    def at_the_end(self) -> None:
        """Judge the world when nothing moves any more."""
        for manifest in self._home.gone:
            self._no_orphan(manifest)
        for manifest in self._home.objects.values():
            declared = Declared.read(manifest)
            if declared.deleting:
                self._lost(declared)
            else:
                self._truthful(declared)
                self._knows_its_own(declared)

    def _lost(self, declared: Declared) -> None:
        """What stays is nowhere to be found: killed before it said where it is, and what said so has gone."""
        ready = _ready_condition(declared)
        lost = ready.get("reason") == Reason.STREAM_NOT_FOUND and CONNECTION not in declared.status
        must(lost and ABANDON_ANNOTATION in ready["message"], f"{declared.identity} is stuck: {ready}")

    def _no_orphan(self, manifest: Manifest) -> None:
        declared = Declared.read(manifest)
        if not _ends_with_it(declared) or declared.annotations.get(ABANDON_ANNOTATION) == "true":
            return
        for place, (uid, said) in self._makers.items():
            orphaned = said and uid == manifest["metadata"]["uid"] and place in self._server.configs
            must(not orphaned, f"{place} was left behind by {manifest}")

    def _knows_its_own(self, declared: Declared) -> None:
        """What shall go with it is where it is, or where its status says that it still is, or was left with a word."""
        for place, (uid, goes_with_it) in self._makers.items():
            is_known = place in self._left or _is_remembered(declared, place) or self._is_of(declared, place)
            if uid == declared.uid and goes_with_it and place in self._server.configs:
                must(is_known, f"{declared.identity} has forgotten {place}")

    def _truthful(self, declared: Declared) -> None:
        """Ready=True says that the server has what is declared; what is managed and can be so, is so."""
        ready = _ready_condition(declared)
        must(ready, f"nothing was said of {declared.identity}")
        place = next((each for each in self._server.configs if self._is_of(declared, each)), None)
        equal = place is not None and self._is_as_declared(declared, place)
        is_ready = ready["status"] == "True"
        must(not is_ready or equal, f"{declared.identity} says that it is ready: {ready}")
        held = FINALIZER in declared.finalizers
        must(held or not is_ready or not _ends_with_it(declared), f"{declared.identity} may go without the server's")
        must(not held or _ends_with_it(declared), f"{declared.identity} has a finalizer for nothing")
        if ready["reason"] in MAY_NOT_ACT:
            return
        must(is_ready or not equal, f"{declared.identity} is as declared, and does not say so: {ready}")
        management = declared.management or Management()
        corrects = management.policy is Policy.MANAGE and management.drift is Drift.CORRECT
        must(is_ready or not corrects, f"{declared.identity} is not as declared: {ready}")

    def _is_of(self, declared: Declared, place: Place) -> bool:
        """Tell whether an object declares this place."""
        spec: Any = declared.spec
        if declared.identity.kind == "Stream":
            return place == Place(ACCOUNTS[spec.connection_ref.name], wanted(declared)["name"])
        stream = self._home.objects.get(("Stream", spec.stream_ref.name))
        within = stream is not None and self._is_of(Declared.read(stream), Place(place.account, place.stream))
        return within and place.consumer == wanted(declared)["name"]

    def _is_as_declared(self, declared: Declared, place: Place) -> bool:
        config = self._server.configs[place]
        desired = wanted(declared)
        change = plan_update(TABLES[kind_of(place)], desired, config)
        return isinstance(change, Unchanged) and config.get("pause_until") == desired.get("pause_until")


def _ready_condition(declared: Declared) -> dict[str, Any]:
    return next((each for each in declared.status.get("conditions", ()) if each["type"] == ConditionType.READY), {})


def _ends_with_it(declared: Declared) -> bool:
    management = declared.management or Management()
    return management.policy is Policy.MANAGE and management.deletion is Deletion.DELETE


def _is_remembered(declared: Declared, place: Place) -> bool:
    connection, status = connection_of(declared), declared.status
    account = ACCOUNTS[connection.name] if connection else ""
    return place == Place(account, status.get(STREAM_NAME, ""), status.get(CONSUMER_NAME, ""))
