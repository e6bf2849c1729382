"""Machines that behave as others do, and must not: the simulator notices each. If it could not it would prove nothing.

Each mutant breaks one decision of Consume, as reference clients did (nats.py, nats.go), or as this one did once.
"""

from collections.abc import Callable

import pytest
from typing_extensions import override

from penstock_jetstream.core.actions import Action, End, Pull
from penstock_jetstream.core.consume import Consume, Reaction, Signal
from penstock_jetstream.core.options import ConsumeOptions
from penstock_jetstream.core.statuses import Kind, Status
from tests.jetstream.simulation.run import run

SEEDS_MAX = 2000
"""Most are noticed within the first fifty."""


class KeepsRequestsThatALeaderChangeLost(Consume):
    @override
    def status(self, status: Status, now: float) -> list[Action]:
        return [] if status.kind is Kind.LEADER_MOVED else super().status(status, now)


class AlwaysAsksForAFullBatch(Consume):
    @override
    def _pull(self, now: float) -> Pull:
        pending, self.buffered_messages = self.buffered_messages, 0
        pending_bytes, self.buffered_bytes = self.buffered_bytes, 0
        pull = super()._pull(now)
        self.buffered_messages, self.buffered_bytes = pending, pending_bytes
        return pull


class DoesNotPullAfterAReconnect(Consume):
    @override
    def reconnected(self, now: float) -> list[Action]:
        self._move(Signal.LINK_BACK)
        return []


class RoundsItsThresholdDown(Consume):
    def __init__(self, options: ConsumeOptions, *, stream: str, consumer: str) -> None:
        super().__init__(options, stream=stream, consumer=consumer)
        self._threshold = options.maximum // 2 - 1


class PullsAtOnceWhateverTheStatus(Consume):
    @override
    def _count_failure(self, number: int, kind: Kind | None, now: float, *, at_once: bool) -> None:
        pass


class IgnoresWhatAStatusSaysIsLeft(Consume):
    @override
    def _request_ended(self, status: Status, reaction: Reaction, now: float) -> list[Action]:
        return []


class HasNoHeartbeatAlarm(Consume):
    @override
    def _look_for_silence(self, now: float) -> list[Action]:
        self._heard_at = now
        return []


class KeepsItsCountersOverADisconnect(Consume):
    @override
    def disconnected(self, now: float) -> list[Action]:
        self._move(Signal.LINK_LOST)
        return []


class EndsWhenNobodyAnswers(Consume):
    @override
    def status(self, status: Status, now: float) -> list[Action]:
        if status.kind is Kind.UNAVAILABLE:
            return self._end(self._refusal(status))
        return super().status(status, now)


class EndsSilently(Consume):
    @override
    def status(self, status: Status, now: float) -> list[Action]:
        return [End() if isinstance(action, End) else action for action in super().status(status, now)]


class KeepsAWrongPin(Consume):
    @override
    def _lose_pin(self, status: Status) -> list[Action]:
        return []


class CountsMessagesAsDoneWhenTheyCome(Consume):
    @property
    @override
    def pending(self) -> int:
        return self._in_flight.amount


class MistakesLateMessagesForThoseThatAreDue(Consume):
    @override
    def arrived_late(self, messages: int, size_bytes: int, now: float) -> list[Action]:
        return self.arrived(messages, size_bytes, now)


class AsksAgainForWhatDoesNotFit(Consume):
    @override
    def _may_pull(self, now: float) -> bool:
        self._needs_whole_buffer = False
        self._wait_until = None
        return super()._may_pull(now)


class PullsWhileTheLinkIsAway(Consume):
    @override
    def disconnected(self, now: float) -> list[Action]:
        super().disconnected(now)
        self._move(Signal.LINK_BACK)
        return [self._pull(now)]


MUTANTS = [
    KeepsRequestsThatALeaderChangeLost,
    AlwaysAsksForAFullBatch,
    DoesNotPullAfterAReconnect,
    RoundsItsThresholdDown,
    PullsAtOnceWhateverTheStatus,
    IgnoresWhatAStatusSaysIsLeft,
    HasNoHeartbeatAlarm,
    KeepsItsCountersOverADisconnect,
    EndsWhenNobodyAnswers,
    EndsSilently,
    KeepsAWrongPin,
    CountsMessagesAsDoneWhenTheyCome,
    MistakesLateMessagesForThoseThatAreDue,
    AsksAgainForWhatDoesNotFit,
    PullsWhileTheLinkIsAway,
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_the_simulator_notices_a_machine_that_is_wrong(mutant: Callable[..., Consume]) -> None:
    def make(options: ConsumeOptions) -> Consume:
        return mutant(options, stream="S", consumer="c")

    assert any(run(seed, make=make).violation for seed in range(SEEDS_MAX))
