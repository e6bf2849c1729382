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


def hpa(down_window: float = 300, max_replicas: int = 100) -> Hpa:
    return Hpa(target=100, down_window=down_window, max_replicas=max_replicas)


# Kubernetes' HPA


def test_an_average_value_is_the_metric_over_the_target_rounded_up() -> None:
    assert proposed(metric=401, target=100, replicas=2) == 5


@pytest.mark.parametrize(("metric", "replicas"), [(219, 2), (181, 2), (221, 3), (179, 2), (99, 1)])
def test_within_a_tenth_of_the_target_nothing_changes(metric: float, replicas: int) -> None:
    assert proposed(metric, target=100, replicas=2) == replicas


def test_in_fifteen_seconds_four_pods_come_or_as_many_as_there_are_whichever_is_more() -> None:
    assert hpa().sync(0, 1, 10_000) == 5
    assert hpa().sync(0, 6, 10_000) == 12


def test_what_came_within_the_period_counts_against_the_policy() -> None:
    one = hpa()
    assert one.sync(0, 1, 10_000) == 5
    assert one.sync(10, 5, 10_000) == 5, "1 at its beginning: up to 5 by pods, 2 by percent"
    assert one.sync(15, 5, 10_000) == 10


def test_fewer_come_once_no_more_were_recommended_for_five_minutes() -> None:
    one = hpa()
    assert one.sync(0, 8, 800) == 8
    assert [one.sync(second, 8, 200) for second in (15, 150, 285)] == [8, 8, 8]
    assert one.sync(300, 8, 200) == 2


def test_the_highest_of_the_window_is_kept_not_the_present_number() -> None:
    one = hpa()
    one.sync(0, 8, 800)
    one.sync(200, 8, 500)
    assert one.sync(310, 8, 100) == 5


def test_a_metric_that_is_missing_changes_nothing() -> None:
    assert hpa().sync(0, 7, None) == 7


def test_at_zero_it_does_nothing_as_somebody_else_wakes() -> None:
    assert hpa().sync(0, 0, 10_000) == 0


def test_its_maximum_is_heeded_at_once() -> None:
    assert hpa(max_replicas=3).sync(0, 1, 10_000) == 3
    assert hpa(max_replicas=3).sync(0, 9, 900) == 3


# KEDA


class Seen(World):
    """A world whose counters are told by a test."""

    told: Counters | None = Counters(0, 0, 0)

    @override
    def counters(self) -> Counters | None:
        return self.told


def scaled(**settings: float) -> tuple[ScaledObject, Seen]:
    world = Seen(QUIET, 1, grace=30)
    keda = Keda(lag_threshold=100, **settings)
    return ScaledObject(keda, world, Hpa(target=100)), world


def test_lag_is_what_is_pending_and_what_is_not_acked() -> None:
    keda, world = scaled()
    world.told = Counters(0, 1, 1)
    keda.poll()
    assert world.cluster.replicas == 1
    world.told = Counters(150, 251, 251)
    keda.sync()
    assert world.cluster.replicas == 5, "401 / 100"


def test_it_wakes_for_more_than_the_activation_and_for_one_pod() -> None:
    keda, world = scaled(activation=10)
    world.told = Counters(10, 0, 0)
    keda.poll()
    assert world.cluster.replicas == 0
    world.told = Counters(11, 0, 0)
    keda.poll()
    assert world.cluster.replicas == 1


def test_from_any_number_it_goes_to_zero_once_the_cooldown_is_over() -> None:
    keda, world = scaled()
    world.cluster.scale(7)
    world.told = Counters(1, 0, 0)
    keda.poll()
    world.told = Counters(0, 0, 0)
    world.clock.run(300)
    keda.poll()
    assert world.cluster.replicas == 7
    world.clock.run(301)
    keda.poll()
    assert world.cluster.replicas == 0


def test_an_error_of_its_trigger_holds_the_number() -> None:
    keda, world = scaled()
    world.cluster.scale(7)
    world.told = None
    world.clock.run(1000)
    keda.poll()
    keda.sync()
    assert world.cluster.replicas == 7


def test_the_server_that_led_the_consumer_is_asked_even_while_it_is_gone() -> None:
    world = Seen(replace(QUIET, trouble=Trouble(node_gone=((0, 10),))), 1, grace=30)
    assert (world.monitored(), world.counters()) == (None, Counters(0, 0, 0))
    world.clock.run(10)
    assert world.monitored() == Counters(0, 0, 0)


# Numaflow


@pytest.mark.parametrize(
    ("pending", "rate", "ready", "current", "wanted"),
    [
        (0, 0, 3, 3, 0),
        (500, 0, 3, 3, 3),
        (4000, 100, 3, 3, 6),
        (3000, 100, 3, 3, 5),  # 4.5 is rounded up
        (10, 100, 3, 3, 1),
        (0, 100, 3, 3, 1),
        (2, 0.001, 3, 3, 2),  # never more than there are messages
    ],
)
def test_the_number_is_pending_over_the_rate_and_the_target_times_those_that_are_ready(
    pending: int, rate: float, ready: int, current: int, wanted: int
) -> None:
    assert desired(pending=pending, rate=rate, target=20, ready=ready, current=current) == wanted


def noted(*reads: dict[int, int], lookback: int = 120) -> Rater:
    """Note what each pod has read, every five seconds."""
    rater = Rater(lookback)
    for number, read in enumerate(reads):
        rater.note(5.0 * number, read, 100 * number)
    return rater


def test_the_rate_leaves_out_what_was_noted_last() -> None:
    assert noted({0: 0}, {0: 50}, {0: 150}, {0: 900}).rate(15) == 15, "150 in 10 s"


def test_pods_that_came_or_began_anew_count_from_zero() -> None:
    assert noted({0: 100}, {0: 150, 1: 30}, {0: 20, 1: 30}, {0: 20}).rate(15) == (50 + 30 + 20) / 10


def test_pending_is_the_mean_within_the_lookback() -> None:
    assert noted({0: 0}, {0: 1}, {0: 2}, {0: 3}).pending(15) == 150
    assert noted({0: 0}, {0: 1}, {0: 2}, {0: 3}, lookback=5).pending(15) == 250


def test_with_too_little_to_go_by_neither_is_known() -> None:
    assert noted({0: 5}).rate(0) is None
    assert noted({0: 5}, {0: 6}).rate(5) is None, "one complete note has no rate"
    assert noted({0: 5}, {0: 6}).rate(500) is None


def test_a_pod_that_reads_nothing_for_long_has_the_lookback_grow_by_whole_minutes() -> None:
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


def test_at_zero_a_pod_is_started_each_two_minutes_to_look() -> None:
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


def test_two_at_once_come_or_go_and_then_nothing_for_the_cooldown() -> None:
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
