"""The autoscalers that ours is compared with behave as their sources do: each branch by an example."""

from dataclasses import replace

import pytest
from typing_extensions import override

from bench.autoscaling.scalers.hpa import Hpa, proposed
from bench.autoscaling.scalers.keda import Keda, ScaledObject
from bench.autoscaling.scalers.numaflow import MonoVertex, Numaflow, Rater, desired, longest_standstill
from bench.autoscaling.traces import Trace, Trouble
from bench.autoscaling.world import Counters, World

QUIET = Trace(name="quiet", about="nothing comes", seconds=3600, rate=lambda _: 0)


def hpa(max_replicas: int = 100) -> Hpa:
    return Hpa(target=100, down_window=300, max_replicas=max_replicas)


# Kubernetes' HPA


def test_replicas_are_the_metric_over_the_target_rounded_up_with_a_tolerance_of_a_tenth() -> None:
    wanted = {401: 5, 219: 2, 181: 2, 221: 3, 179: 2, 99: 1}
    assert {metric: proposed(metric, target=100, replicas=2) for metric in wanted} == wanted


HPA_SYNCS: dict[str, list[tuple[float, int, float | None, int]]] = {
    "4 pods come at once, or as many as there are, whichever is more": [(0, 1, 10_000, 5)],
    "as many as there are": [(0, 6, 10_000, 12)],
    "pods that came within the period count": [(0, 1, 10_000, 5), (10, 5, 10_000, 5), (15, 5, 10_000, 10)],
    "fewer once no more were recommended for five minutes": [
        (0, 8, 800, 8),
        *((second, 8, 200, 8) for second in (15, 150, 285)),
        (300, 8, 200, 2),
    ],
    "the highest recommendation of the window is kept": [(0, 8, 800, 8), (200, 8, 500, 8), (310, 8, 100, 5)],
    "a missing metric changes nothing": [(0, 7, None, 7)],
    "it does not scale up from zero": [(0, 0, 10_000, 0)],
}
"""Steps of one HPA: the time, the replicas, the metric, and the replicas that it wants."""


def test_the_hpa_scales_as_kubernetes_does(subtests: pytest.Subtests) -> None:
    for name, steps in HPA_SYNCS.items():
        with subtests.test(name):
            one = hpa()
            assert [one.sync(second, replicas, metric) for second, replicas, metric, _ in steps] == [
                wanted for *_, wanted in steps
            ]
    assert [hpa(max_replicas=3).sync(0, replicas, metric) for replicas, metric in ((1, 10_000), (9, 900))] == [3, 3]


# KEDA


class Seen(World):
    """A world whose counters a test sets."""

    seen: Counters | None = Counters(0, 0, 0)

    @override
    def counters(self) -> Counters | None:
        return self.seen


def scaled(**settings: float) -> tuple[ScaledObject, Seen]:
    world = Seen(QUIET, 1, grace=30)
    keda = Keda(lag_threshold=100, **settings)
    return ScaledObject(keda, world, Hpa(target=100)), world


def test_lag_counts_pending_and_unacknowledged_messages_and_an_error_changes_nothing() -> None:
    keda, world = scaled()
    world.seen = Counters(0, 1, 1)
    keda.poll()
    assert world.cluster.replicas == 1
    world.seen = Counters(150, 251, 251)
    keda.sync()
    assert world.cluster.replicas == 5, "401 / 100"
    world.seen = None
    world.clock.run(1000)
    keda.sync()
    assert world.cluster.replicas == 5, "an error of the trigger"


KEDA_POLLS: dict[str, tuple[float, int, list[tuple[float, int | None, int]]]] = {
    "one pod wakes for more than the activation": (10, 0, [(0, 10, 0), (0, 11, 1)]),
    "any number of pods goes to zero after the cooldown": (0, 7, [(0, 1, 7), (300, 0, 7), (301, 0, 0)]),
    "an error of the trigger keeps the replicas": (0, 7, [(1000, None, 7)]),
}
"""The activation, the replicas at first, and polls: the time, the lag (None is an error), and the replicas then."""


def test_keda_polls_to_wake_the_first_pod_and_to_stop_all(subtests: pytest.Subtests) -> None:
    for name, (activation, replicas, polls) in KEDA_POLLS.items():
        with subtests.test(name):
            keda, world = scaled(activation=activation)
            world.cluster.scale(replicas)
            for second, lag, expected in polls:
                world.clock.run(second)
                world.seen = None if lag is None else Counters(lag, 0, 0)
                keda.poll()
                assert world.cluster.replicas == expected


def test_monitoring_asks_the_server_that_led_the_consumer_even_while_it_is_gone() -> None:
    world = Seen(replace(QUIET, trouble=Trouble(node_gone=((0, 10),))), 1, grace=30)
    assert (world.monitored(), world.counters()) == (None, Counters(0, 0, 0))
    world.clock.run(10)
    assert world.monitored() == Counters(0, 0, 0)


# Numaflow


def test_replicas_are_pending_over_the_rate_and_the_target_times_the_ready_ones() -> None:
    cases = [(0, 0, 0), (500, 0, 3), (4000, 100, 6), (3000, 100, 5), (10, 100, 1), (0, 100, 1), (2, 0.001, 2)]
    found = [
        (pending, rate, desired(pending=pending, rate=rate, target=20, ready=3, current=3))
        for pending, rate, _ in cases
    ]
    assert found == cases, "4.5 is rounded up, and there are never more than messages"


def noted(*reads: dict[int, int], lookback: int = 120) -> Rater:
    """Note what each pod has read, every five seconds."""
    rater = Rater(lookback)
    for number, read in enumerate(reads):
        rater.note(5.0 * number, read, 100 * number)
    return rater


def test_rate_and_pending_are_of_complete_notes_within_the_lookback() -> None:
    assert noted({0: 0}, {0: 50}, {0: 150}, {0: 900}).rate(15) == 15, "150 in 10 s, without the last note"
    assert noted({0: 100}, {0: 150, 1: 30}, {0: 20, 1: 30}, {0: 20}).rate(15) == (50 + 30 + 20) / 10, "new pods: from 0"
    reads = [{0: 0}, {0: 1}, {0: 2}, {0: 3}]
    assert (noted(*reads).pending(15), noted(*reads, lookback=5).pending(15)) == (150, 250)
    rates = [noted({0: 5}).rate(0), noted({0: 5}, {0: 6}).rate(5), noted({0: 5}, {0: 6}).rate(500)]
    assert rates == [None] * 3, "one complete note has no rate, nor has none"


def test_an_idle_pod_makes_the_lookback_grow_by_whole_minutes() -> None:
    still = [{0: 7}] * 40
    assert longest_standstill([(5.0 * number, read) for number, read in enumerate(still)]) == 195
    rater = noted({0: 1}, *still)
    rater.look_back(200)
    assert rater.lookback == 240, "190 s, as the last note is left out"
    for number in range(40):
        rater.note(205.0 + 5 * number, {0: 8 + number}, 0)
    for second in (800, 1200):
        for number in range(60):
            rater.note(second - 300 + 5.0 * number, {0: 100 + second + number}, 0)
        rater.look_back(second)
    assert rater.lookback == 120, "and shrink no further than its setting"


def vertex(**settings: float) -> tuple[MonoVertex, Seen]:
    world = Seen(QUIET, 1, grace=30)
    return MonoVertex(Numaflow(**settings), world, Rater(120)), world  # type: ignore[arg-type]


def test_at_zero_replicas_a_pod_starts_every_two_minutes() -> None:
    numaflow, world = vertex()
    world.clock.run(119)
    numaflow.decide()
    assert world.cluster.replicas == 0
    world.clock.run(120)
    numaflow.decide()
    assert world.cluster.replicas == 1


def ready(world: World, number: int) -> None:
    world.cluster.scale(number)
    world.clock.run(world.clock.now + 300)
    assert world.cluster.ready == number


def test_replicas_change_by_at_most_two_per_cooldown() -> None:
    numaflow, world = vertex()
    ready(world, 3)
    now = world.clock.now
    for ago in (20, 15, 10, 5):
        numaflow.rater.note(now - ago, {0: int(100 * (20 - ago))}, 20_000)
    numaflow.decide()
    assert world.cluster.replicas == 5, "20 000 at 100 a second would be 30"
    world.clock.run(now + 89)
    numaflow.rater.note(now + 84, {0: 9000}, 0)
    numaflow.rater.note(now + 88, {0: 9001}, 0)
    numaflow.decide()
    assert world.cluster.replicas == 5
    world.clock.run(now + 95)
    numaflow.decide()
    assert world.cluster.replicas == 7


def test_while_no_pod_is_ready_nothing_changes() -> None:
    numaflow, world = vertex()
    ready(world, 1)
    for pod in world.cluster.pods:
        pod.worker = None
    numaflow.rater = noted({0: 0}, {0: 0}, {0: 0})
    numaflow.decide()
    assert world.cluster.replicas == 1
