"""One run: events that a seed chooses, then a time without faults, after which all work must be done."""

from collections.abc import Callable
from functools import wraps
from random import Random
from typing import Any, TypeVar

from typing_extensions import override

from penstock_operator.plan.decision import Plan
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.reconcile import plan
from penstock_operator.plan.surroundings import Place, Surroundings
from penstock_operator.resources.management import ABANDON_ANNOTATION, PAUSE_ANNOTATION, PAUSED, RECREATE_ANNOTATION
from tests.jetstream.simulation import outcome as simulated
from tests.operator.simulation.checks import Checks, must
from tests.operator.simulation.home import Home
from tests.operator.simulation.operator import Operator, Step
from tests.operator.simulation.server import ACCOUNTS, Server, kind_of

EVENTS = 60
STEPS_BETWEEN = 4
MOST_ROUNDS = 12
"""Of looking at every object once; by then nothing may move any more."""

STREAMS = ("a", "b", "c")
CONNECTIONS = ("nats", "nats", "nats", "hub")
PLACES = ("X", "Y")
"""Fewer than streams, so that some want the same."""
CONSUMERS = ("etl", "audit")
PAUSES = (None, "2036-01-31T12:00:00Z", "2037-01-31T12:00:00Z")

Key = tuple[str, str]
T = TypeVar("T")
Decide = Callable[[Declared, Surroundings], Plan]


class Outcome(simulated.Outcome):
    """What became of a run, which has steps and no seconds."""

    @override
    def describe(self) -> str:
        again = f"again: python -m {self.module} --seed {self.seed}"
        head = f"seed {self.seed}\n{self.options.describe()}"
        return "\n".join([head, *self.lines, self.violation or "all held", again])


class Run:
    def __init__(self, seed: int, decide: Decide) -> None:
        self.random = Random(seed)  # noqa: S311 - chance that can be repeated
        self.lines: list[str] = []
        self.home, self.server = Home(), Server()
        self.checks = Checks(self.home, self.server)
        self.operator = Operator(self.home, self.server, self.checks, self.random, decide)
        self.passes: dict[Key, Step] = {}
        self.events: list[Callable[[], str]] = self._swarm()

    def describe(self) -> str:
        return "what happens: " + ", ".join(event.__name__.strip("_") for event in self.events)

    def live(self) -> None:
        for _ in range(EVENTS):
            self.lines.append(self.random.choice(self.events)())
            for _ in range(self.random.randrange(STEPS_BETWEEN)):
                self._step()
        self._make_peace()
        self._settle()
        self.checks.at_the_end()
        self._is_still()

    def _swarm(self) -> list[Callable[[], str]]:
        """Leave out some of what could happen: what always happens hides the rest."""
        objects, places = lambda: sorted(self.home.objects), lambda: sorted(self.server.configs, key=str)
        common = [self._create, self._to_one_of(objects, self._edit), self._to_one_of(objects, self._delete)]
        rare = [
            *(self._kill, self._come_and_go, self._make_foreign),
            *(self._to_one_of(objects, happen) for happen in (self._annotate, self._manage, self._move)),
            *(self._to_one_of(places, happen) for happen in (self._tamper, self._take_away)),
        ]
        return common + self.random.sample(rare, self.random.randint(2, len(rare)))

    def _to_one_of(self, things: Callable[[], list[T]], happen: Callable[[T], str]) -> Callable[[], str]:
        """Have something happen to one of the things that there are then."""

        @wraps(happen)
        def to_one() -> str:
            found = things()
            return happen(self.random.choice(found)) if found else f"there is nothing to {happen.__name__.strip('_')}"

        return to_one

    # what the operator does

    def _step(self) -> None:
        """Let one object's pass go one step on, or begin one."""
        if self.passes and self.random.random() < 0.7:
            key = self.random.choice(sorted(self.passes))
        else:
            keys = sorted(self.home.objects)
            key = self.random.choice(keys) if keys else ("Stream", "a")
            self.passes.setdefault(key, self.operator.reconcile(key))
        self._advance(key)

    def _advance(self, key: Key) -> None:
        told = next(self.passes[key], None)
        if told is None:
            del self.passes[key]
        else:
            self.lines.append(f"  {key[0]} {key[1]}: {told}")

    def _kill(self) -> str:
        self.passes.clear()
        return "the operator is killed"

    # what users do

    def _create(self) -> str:
        kind = self.random.choice(("Stream", "Stream", "Consumer"))
        name = self.random.choice(STREAMS if kind == "Stream" else CONSUMERS)
        if (kind, name) in self.home.objects:
            return f"{kind} {name} is there already"
        spec = self._stream() if kind == "Stream" else self._consumer()
        created = f"2026-11-18T12:00:0{self.random.randrange(10)}Z"
        self.home.create(kind, name, {**spec, "management": self._management()}, created=created)
        return f"{kind} {name} is created: {self.home.objects[kind, name]['spec']}"

    def _stream(self) -> dict[str, Any]:
        return {
            "connectionRef": {"name": self.random.choice(CONNECTIONS)},
            "name": self.random.choice(PLACES),
            "subjects": ["s.>"],
            "description": self.random.choice(("one", "two")),
            "storage": self.random.choice(("File", "File", "File", "Memory")),
        }

    def _consumer(self) -> dict[str, Any]:
        return {
            "streamRef": {"name": self.random.choice(STREAMS)},
            "name": "c",
            "description": self.random.choice(("one", "two")),
            "ackPolicy": self.random.choice(("Explicit", "Explicit", "All")),
        }

    def _management(self) -> dict[str, str]:
        choose = self.random.choice
        return {
            "policy": choose(("Manage", "Manage", "Manage", "Observe")),
            "deletion": choose(("Retain", "Delete")),
            "drift": choose(("Correct", "Correct", "Report")),
            "immutableChange": choose(("Reject", "Recreate")),
        }

    def _edit(self, key: Key) -> str:
        changes = self._stream() if key[0] == "Stream" else self._consumer()
        fixed = ("connectionRef", "name", "streamRef")
        picked = self.random.choice([name for name in changes if name not in fixed])
        self.home.edit(key, lambda spec: spec.update({picked: changes[picked]}))
        return f"{key} is edited: {picked} {changes[picked]}"

    def _manage(self, key: Key) -> str:
        management = self._management()
        self.home.edit(key, lambda spec: spec.update(management=management))
        return f"{key} is managed otherwise: {management}"

    def _move(self, key: Key) -> str:
        """Have an object declare another place: a Stream over another Connection, a Consumer of another Stream."""
        name, other = (
            ("connectionRef", self.random.choice(CONNECTIONS))
            if key[0] == "Stream"
            else ("streamRef", self.random.choice(STREAMS))
        )
        self.home.edit(key, lambda spec: spec.update({name: {"name": other}}))
        return f"{key} is moved: {name} {other}"

    def _annotate(self, key: Key) -> str:
        generation = str(self.home.objects[key]["metadata"]["generation"])
        name, text = self.random.choice(
            [(PAUSE_ANNOTATION, PAUSED), (ABANDON_ANNOTATION, "true"), (RECREATE_ANNOTATION, generation)]
        )
        told = self.random.choice((text, None))
        self.home.annotate(key, name, told)
        return f"{key} is annotated: {name} {told}"

    def _delete(self, key: Key) -> str:
        if self.random.random() < 0.4:
            return "nothing is deleted"
        self.home.delete(key)
        return f"{key} is deleted"

    # what others do on the server, and what befalls it

    def _tamper(self, place: Place) -> str:
        config = self.server.configs[place]
        config["description"] = self.random.choice(("one", "two", "three"))
        if kind_of(place) == "Consumer":
            config["pause_until"] = self.random.choice(PAUSES)
        return f"{place} is tampered with: {config}"

    def _take_away(self, place: Place) -> str:
        self.server.remove(place)
        return f"{place} is taken away"

    def _make_foreign(self) -> str:
        place = Place(self.random.choice(list(ACCOUNTS.values())), self.random.choice(PLACES))
        if place in self.server.configs:
            return f"{place} is there already"
        storage = self.random.choice(("file", "memory"))
        self.server.put(place, {"name": place.stream, "subjects": ["s.>"], "storage": storage})
        self.checks.removed(place)
        return f"{place} is made by somebody else, in {storage}"

    def _come_and_go(self) -> str:
        self.server.is_away = not self.server.is_away
        return "the server is away" if self.server.is_away else "the server is back"

    # peace

    def _make_peace(self) -> None:
        self.lines.append("peace")
        self.server.is_away, self.operator.peace = False, True
        for key in list(self.home.objects):
            self.home.annotate(key, PAUSE_ANNOTATION, None)
        while self.passes:
            self._advance(next(iter(self.passes)))

    def _settle(self) -> None:
        for _ in range(MOST_ROUNDS):
            if not self._round():
                return
        must(holds=False, sentence="Something still moves: the world does not settle.")

    def _round(self) -> int:
        """Look at every object once, and count what was written."""
        before = self.home.writes + self.server.writes
        for key in sorted(self.home.objects):
            self.passes[key] = self.operator.reconcile(key)
            while key in self.passes:
                self._advance(key)
        return self.home.writes + self.server.writes - before

    def _is_still(self) -> None:
        must(self._round() == 0, "An operator that starts anew writes though nothing has changed.")


def run(seed: int, decide: Decide = plan, *, traced: bool = False) -> Outcome:
    """Run one seed; `decide` may be wrong, to see whether that is noticed."""
    this = Run(seed, decide)
    outcome = Outcome(seed, this, "tests.operator.simulation")
    try:
        this.live()
    except AssertionError as violation:
        outcome.violation = str(violation)
    outcome.lines = this.lines if traced else []
    return outcome
