"""The ordered consumer through a few thousand troubled lives: never a gap, never a duplicate, always in order."""

from collections.abc import Callable

import pytest
from typing_extensions import override

from penstock_jetstream.core.ordered import Action, Ordered, Seen
from penstock_jetstream.core.ordered_options import OrderedOptions
from penstock_jetstream.errors import JetStreamError
from tests.jetstream.simulation.ordered_world import BrokenPromiseError, World

SEEDS_PER_CHUNK = 500


@pytest.mark.requirement("O-01", "O-02", "O-06", "O-07")
@pytest.mark.parametrize("chunk", range(4))
def test_all_of_a_stream_comes_in_order_and_once_whatever_fails(chunk: int) -> None:
    live(range(chunk * SEEDS_PER_CHUNK, (chunk + 1) * SEEDS_PER_CHUNK))


def live(seeds: range, machine: Callable[[OrderedOptions], Ordered] = Ordered) -> None:
    for seed in seeds:
        World(seed, machine).run()


class IgnoresGaps(Ordered):
    """Takes what comes, as long as it is of the consumer at hand."""

    @override
    def is_next(self, number: int, delivery: int, stream_sequence: int) -> bool:
        return super().is_next(number, self._next_delivery, stream_sequence)


class IgnoresHeartbeats(Ordered):
    """Does not look into heartbeats, so that it misses what was lost at the end."""

    @override
    def heartbeat(self, number: int, last_delivery: int, now: float) -> list[Action]:
        return []


class IgnoresMissedHeartbeats(Ordered):
    """Reports trouble, and waits for ever: clients have done so (nats.py#510)."""

    @override
    def troubled(self, number: int, error: JetStreamError | None, now: float) -> list[Action]:
        return []


class StaysAfterReconnect(Ordered):
    """Believes that its consumer has lost nothing with the link."""

    @override
    def reconnected(self, now: float) -> list[Action]:
        self._linked = True
        return []


class ForgetsWhatWasHanded(Ordered):
    """Starts at the beginning each time."""

    @override
    def handed(self, stream_sequence: int, timestamp_ns: int) -> None:
        pass


class TrustsSequences(Ordered):
    """Takes a stream that was made anew for the one that it knew."""

    @override
    def stream_seen(self, number: int, seen: Seen, now: float) -> list[Action]:
        return self.stream_not_seen(number, now)


class LooksOnlyAtTheEnd(Ordered):
    """Does not notice that a stream lost everything once that has grown beyond what it was."""

    @override
    def stream_seen(self, number: int, seen: Seen, now: float) -> list[Action]:
        return super().stream_seen(number, Seen("", 0, 0, seen.last_sequence), now)


class NeverWaits(Ordered):
    """Tries again at once, whatever came of it."""

    @override
    def refused(self, number: int, error: JetStreamError, now: float) -> list[Action]:
        return [] if number != self.number else self._next(now)


@pytest.mark.parametrize(
    "naive",
    [
        IgnoresGaps,
        IgnoresHeartbeats,
        IgnoresMissedHeartbeats,
        StaysAfterReconnect,
        ForgetsWhatWasHanded,
        TrustsSequences,
        LooksOnlyAtTheEnd,
        NeverWaits,
    ],
)
def test_the_simulation_catches_what_is_typically_wrong(naive: Callable[[OrderedOptions], Ordered]) -> None:
    with pytest.raises(BrokenPromiseError, match=r"seed \d+"):
        live(range(300), naive)
