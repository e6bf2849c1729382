"""The ordered consumer through two thousand simulated lives with faults: no gap, no duplicate, always in order."""

from collections.abc import Callable
from typing import Any

import pytest

from penstock_jetstream.core.ordered import Action, Ordered, Seen
from penstock_jetstream.core.ordered_options import OrderedOptions
from penstock_jetstream.errors import JetStreamError
from tests.jetstream.simulation.ordered_world import OrderedWorld
from tests.jetstream.simulation.violation import Violation

QUICK_SEEDS = 250
SEEDS = 2_000


def live(seeds: range, machine: Callable[[OrderedOptions], Ordered] = Ordered) -> None:
    for seed in seeds:
        OrderedWorld(seed, machine).run()


@pytest.mark.requirement("O-01", "O-02", "O-06", "O-07")
@pytest.mark.parametrize(
    "first",
    [0, *(pytest.param(first, marks=pytest.mark.full) for first in range(QUICK_SEEDS, SEEDS, QUICK_SEEDS))],
)
def test_all_of_a_stream_arrives_in_order_and_once_whatever_fails(first: int) -> None:
    live(range(first, first + QUICK_SEEDS))


def is_next_despite_a_gap(self: Ordered, number: int, _delivery: int, stream_sequence: int) -> bool:
    return Ordered.is_next(self, number, self._next_delivery, stream_sequence)


def reconnected_as_if_nothing_was_lost(self: Ordered, _now: float) -> list[Action]:
    self._linked = True
    return []


def stream_seen_by_its_end(self: Ordered, number: int, seen: Seen, now: float) -> list[Action]:
    return Ordered.stream_seen(self, number, Seen("", 0, 0, seen.last_sequence), now)


def refused_without_a_wait(self: Ordered, number: int, _error: JetStreamError, now: float) -> list[Action]:
    return [] if number != self.number else self._next(now)


MUTANTS: dict[str, dict[str, Any]] = {
    "ignores gaps": {"is_next": is_next_despite_a_gap},
    "ignores what heartbeats show": {"heartbeat": lambda *_: []},
    "reports trouble and waits forever (nats.py#510)": {"troubled": lambda *_: []},
    "keeps its consumer after a reconnect": {"reconnected": reconnected_as_if_nothing_was_lost},
    "starts at the beginning each time": {"handed": lambda *_: None},
    "takes a recreated stream for the former one": {
        "stream_seen": lambda self, number, _seen, now: self.stream_not_seen(number, now)
    },
    "does not notice an emptied stream that has grown again": {"stream_seen": stream_seen_by_its_end},
    "retries at once": {"refused": refused_without_a_wait},
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_simulation_notices_an_ordered_consumer_that_is_wrong(name: str) -> None:
    assert all(hasattr(Ordered, method) for method in MUTANTS[name])
    with pytest.raises(Violation, match=r"seed \d+"):
        live(range(300), type("Mutant", (Ordered,), MUTANTS[name]))
