"""Who is the better: what a peer costs at the same or a better 99th percentile of how long messages take.

A peer's settings are chosen anew for each trace, from runs on a seed that is not measured: the cheapest with which
messages take no longer than with ours; or, where there are none, the cheapest of those that come near the best that
it reaches. Knows outcomes. Does not run anything.
"""

import math
from collections.abc import Iterable, Mapping
from typing import TypeVar

from bench.autoscaling.measures import Outcome

SAME = 1.05
"""Times that differ by less are the same."""
NEAR = 1.05
"""What is no more than so many times the best comes near it."""

Key = TypeVar("Key")


def chosen(ours: Outcome, tried: Mapping[Key, Outcome]) -> Key:
    """Return the settings that a peer competes with."""
    wanted = ours.p99 * SAME
    best = min(outcome.p99 for outcome in tried.values())
    most = wanted if best <= wanted else best * NEAR
    enough = [key for key, outcome in tried.items() if outcome.p99 <= most]
    return min(enough, key=lambda key: tried[key].pod_seconds)


def cost(ours: Outcome, peer: Outcome) -> float:
    """Return how much more pods the peer needs."""
    return peer.pod_seconds / ours.pod_seconds


def wait(ours: Outcome, peer: Outcome) -> float:
    """Return how much longer messages take with it."""
    return peer.p99 / ours.p99


def geometric_mean(ratios: Iterable[float]) -> float:
    logarithms = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logarithms) / len(logarithms))
