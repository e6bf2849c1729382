"""The operator as a loop of small steps; dropping the generator of a pass is the same as killing the operator."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from random import Random
from typing import Any

from penstock_operator.plan.claims import heir, holder
from penstock_operator.plan.conditions import place_ahead, status
from penstock_operator.plan.connections import Connected
from penstock_operator.plan.decision import Action, Create, Delete, Failure, Finalizer, Plan, Recreate
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.dependencies import Resolved, World, former, last_seen, resolve
from penstock_operator.plan.moves import newcomer
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.reconcile import plan, plan_after
from penstock_operator.plan.surroundings import Former, Place, Present, Surroundings, Waiting
from penstock_operator.resources.management import FINALIZER
from tests.operator.plan.builders import connection
from tests.operator.simulation.checks import Checks
from tests.operator.simulation.home import Home, Manifest, StaleError
from tests.operator.simulation.server import ACCOUNTS, Server

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
CONNECTIONS = {each.identity: each for each in (connection(name=name) for name in ACCOUNTS)}
LOST_ANSWERS = 0.1
"""The share of requests that are carried out and not answered, while there are faults."""
Step = Generator[str, None, None]


@dataclass
class Operator:
    """What it works with. In peace no answer is lost."""

    home: Home
    server: Server
    checks: Checks
    random: Random
    decide: Callable[[Declared, Surroundings], Plan] = plan
    peace: bool = False

    def reconcile(self, key: tuple[str, str]) -> Step:
        """Bring one object one plan further, and yield after each step."""
        read = self.home.read(key)
        if read is None:
            return
        declared = Declared.read(read)
        at, around = self._look(declared)
        was = former(declared, at, self._world()) if at and not declared.deleting else None
        if isinstance(was, Resolved):
            behind = Former(was=str(was), becomes=str(at), **self._at(was.place, declared))
            around = replace(around, former=behind)
        decided = self.decide(declared, around)
        if isinstance(was, Resolved):
            at = was
        self.checks.planned(declared, at.place if at else None, around, decided)
        yield f"planned {type(decided.action).__name__ if decided.action else 'nothing'}, {decided.finalizer.name}"
        try:
            yield from self._carry_out(read, at, around, decided)
        except StaleError:
            yield "found the object changed"

    def _look(self, declared: Declared) -> tuple[Resolved | None, Surroundings]:
        """Find out where it is, who else wants to be there, and what the server has."""
        if not declared.management:
            return None, Surroundings()
        world = self._world()
        found = resolve(declared, world)
        if isinstance(found, Waiting):
            return None, Surroundings(obstacle=found)
        return found, Surroundings(**self._at(found.place, declared))

    def _at(self, place: Place, declared: Declared) -> dict[str, Any]:
        """Return what the server has at a place, which other object holds it, and which would take it over."""
        world = self._world()
        claimants = [each for each in world.declared.values() if _is_at(each, place, world)]
        first = holder([declared, *claimants])
        return {
            "observed": self.server.observe(place),
            "holder": first if first != declared.identity else None,
            "heir": heir(claimants, declared.identity),
        }

    def _world(self) -> World:
        objects = [Declared.read(manifest) for manifest in self.home.objects.values()]
        return World(
            declared={**CONNECTIONS, **{each.identity: each for each in objects}},
            links={identity: Connected(ACCOUNTS[identity.name]) for identity in CONNECTIONS},
        )

    def _carry_out(self, read: Manifest, at: Resolved | None, around: Surroundings, decided: Plan) -> Step:
        if decided.finalizer is Finalizer.ADD_FIRST:
            self.home.write_finalizers(read, [FINALIZER])
            yield "added the finalizer"
        if decided.action and at and (ahead := place_ahead(self._held(read, decided), at)):
            self.home.write_status(read, ahead)
            yield "said where"
        failure = None
        if decided.action and at:
            failure = yield from self._do(read, at.place, decided.action)
        if decided.finalizer is Finalizer.REMOVE and not failure:
            self.home.write_finalizers(read, [])
            yield "removed the finalizer"
        self._tell(read, at, around, plan_after(decided, failure) if failure else decided)
        yield "said what is so"

    def _held(self, read: Manifest, decided: Plan) -> Declared:
        """Return the object as it is known after our finalizer was added."""
        declared = Declared.read(read)
        return replace(declared, finalizers=(FINALIZER,)) if decided.finalizer is Finalizer.ADD_FIRST else declared

    def _do(self, read: Manifest, place: Place, action: Action) -> Generator[str, None, Failure | None]:
        requests = (Delete(), Create(action.config)) if isinstance(action, Recreate) else (action,)
        failure = None
        for request in requests:
            failure = self.server.do(place, request)
            if failure:
                break
            self.checks.done(read, place, request)
            yield f"did {type(request).__name__}"
            if not self.peace and self.random.random() < LOST_ANSWERS:
                return Failure(Reason.UNREACHABLE, "No answer came.", passing=True)
        return failure

    def _tell(self, read: Manifest, at: Resolved | None, around: Surroundings, told: Plan) -> None:
        current = self.home.read((read["kind"], read["metadata"]["name"]))
        if current is None:
            return
        written = replace(Declared.read(read), status=current["status"])
        written = newcomer(written) if told.leaves else written
        observed = around.former.observed if around.former else around.observed
        facts = {} if told.leaves else observed.facts if isinstance(observed, Present) else None
        if at and told.leaves:
            self.checks.left(at.place, around, told)
        said = status(written, told.verdicts, facts, NOW, at)
        if said:
            self.home.write_status(read, said)


def _is_at(declared: Declared, place: Place, world: World) -> bool:
    if not declared.management:
        return False
    seen = last_seen(declared, world) if FINALIZER in declared.finalizers else None
    found = seen if isinstance(seen, Resolved) else resolve(declared, world)
    return isinstance(found, Resolved) and found.place == place
