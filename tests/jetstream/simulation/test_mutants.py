"""Consume machines that are wrong on purpose: the simulator notices each. If it could not, it would prove nothing.

Each mutant breaks one decision of Consume, as reference clients did (nats.py, nats.go), or as this one did once.
"""

# ruff: noqa: SLF001 - a mutant is made of the parts of Consume

from collections.abc import Callable
from typing import Any

import pytest

from penstock_jetstream.core.actions import Action, End, Pull
from penstock_jetstream.core.consume import Consume, Signal
from penstock_jetstream.core.options import ConsumeOptions
from penstock_jetstream.core.statuses import Kind, Status
from tests.jetstream.simulation.run import run

SEEDS_MAX = 2000
"""Most are noticed within the first fifty."""
SLOW = ("keeps requests that a leader change lost", "keeps its counters over a disconnect")
"""Noticed by one seed in several hundred."""


def status_without(kind: Kind) -> Callable[..., list[Action]]:
    return lambda self, status, now: [] if status.kind is kind else Consume.status(self, status, now)


def pull_of_a_full_batch(self: Consume, now: float) -> Pull:
    pending, self.buffered_messages = self.buffered_messages, 0
    pending_bytes, self.buffered_bytes = self.buffered_bytes, 0
    pull = Consume._pull(self, now)
    self.buffered_messages, self.buffered_bytes = pending, pending_bytes
    return pull


def init_with_threshold_rounded_down(self: Consume, options: ConsumeOptions, **names: str) -> None:
    Consume.__init__(self, options, **names)
    self._threshold = options.maximum // 2 - 1


def hear_now(self: Consume, now: float) -> list[Action]:
    self._heard_at = now
    return []


def status_that_ends_when_no_server_answers(self: Consume, status: Status, now: float) -> list[Action]:
    unavailable = status.kind is Kind.UNAVAILABLE
    return self._end(self._refusal(status)) if unavailable else Consume.status(self, status, now)


def status_that_ends_without_its_error(self: Consume, status: Status, now: float) -> list[Action]:
    return [End() if isinstance(action, End) else action for action in Consume.status(self, status, now)]


def may_pull_what_does_not_fit(self: Consume, now: float) -> bool:
    self._needs_whole_buffer = False
    self._wait_until = None
    return Consume._may_pull(self, now)


def pull_without_a_link(self: Consume, now: float) -> list[Action]:
    Consume.disconnected(self, now)
    self._move(Signal.LINK_BACK)
    return [self._pull(now)]


def only_move(signal: Signal) -> Callable[[Consume, float], list[Action]]:
    def move(self: Consume, _now: float) -> list[Action]:
        self._move(signal)
        return []

    return move


MUTANTS: dict[str, dict[str, Any]] = {
    "keeps requests that a leader change lost": {"status": status_without(Kind.LEADER_MOVED)},
    "always asks for a full batch": {"_pull": pull_of_a_full_batch},
    "does not pull after a reconnect": {"reconnected": only_move(Signal.LINK_BACK)},
    "rounds its threshold down": {"__init__": init_with_threshold_rounded_down},
    "pulls at once whatever the status": {"_count_failure": lambda *_, **__: None},
    "ignores what a status says is left": {"_request_ended": lambda *_: []},
    "has no heartbeat alarm": {"_look_for_silence": hear_now},
    "keeps its counters over a disconnect": {"disconnected": only_move(Signal.LINK_LOST)},
    "ends when no server answers": {"status": status_that_ends_when_no_server_answers},
    "ends without its error": {"status": status_that_ends_without_its_error},
    "keeps a wrong pin": {"_lose_pin": lambda *_: []},
    "counts messages as done when they arrive": {"pending": property(lambda self: self._in_flight.amount)},
    "mistakes late messages for those that are due": {"arrived_late": Consume.arrived},
    "asks again for what does not fit": {"_may_pull": may_pull_what_does_not_fit},
    "pulls without a link": {"disconnected": pull_without_a_link},
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.full if name in SLOW else ()) for name in MUTANTS]
)
def test_the_simulator_notices_a_machine_that_is_wrong(name: str) -> None:
    assert all(hasattr(Consume, method) for method in MUTANTS[name])
    mutant = type("Mutant", (Consume,), MUTANTS[name])

    def make(options: ConsumeOptions) -> Consume:
        machine: Consume = mutant(options, stream="S", consumer="c")
        return machine

    assert any(run(seed, make=make).violation for seed in range(SEEDS_MAX))
