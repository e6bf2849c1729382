"""The simulated queue group: each message ends with one answer, and pods end as Kubernetes ends them."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import scaling
from bench.autoscaling import chance
from bench.autoscaling.clock import Clock
from bench.autoscaling.cluster import Cluster, Pod, Victims
from bench.autoscaling.comparing import chosen
from bench.autoscaling.consumer import Consumer
from bench.autoscaling.contenders import PEERS, Contender, as_it_comes, grid, ours
from bench.autoscaling.jobs import Job
from bench.autoscaling.measures import Direction, Outcome, Wakings, percentile
from bench.autoscaling.messages import Lot, Row, total
from bench.autoscaling.picture import coarser, thinned
from bench.autoscaling.scalers.penstock import Loop, Penstock
from bench.autoscaling.sink import Sink
from bench.autoscaling.traces import TRACES, Trace, Trouble
from bench.autoscaling.worker import Worker
from bench.autoscaling.world import World

JOB = Job(batch_messages=100, fixed_seconds=10, each_seconds=0, first_seconds=0, spread=0, together=1)


class QueueGroup:
    """A consumer, and workers for it, without pods."""

    def __init__(self, **settings: float) -> None:
        self.clock = Clock()
        self.job = replace(JOB, **settings)  # type: ignore[arg-type]
        self.answered: list[tuple[float, int]] = []
        self.consumer = Consumer(self.clock, self.job.max_ack_pending, self._answer)
        self.sink = Sink(self.clock, self.job.sink_per_second)

    def _answer(self, lots: tuple[Lot, ...]) -> None:
        self.answered.append((self.clock.now, total(lots)))

    def worker(self, *, fails: bool = False) -> Worker:
        luck = iter([fails])
        source = chance.source(1, "work")
        return Worker(self.clock, source, self.job, self.consumer, self.sink, lambda: next(luck, False))

    def publish(self, number: int, *, bad: int = 0) -> None:
        good = (Lot(self.clock.now, number - bad),) if number > bad else ()
        self.consumer.arrive((*good, *(Lot(self.clock.now, 1, is_bad=True) for _ in range(bad))))

    def total_answered(self) -> int:
        return sum(number for _, number in self.answered)


def test_a_free_driver_gets_the_pending_messages_at_once_while_the_next_batch_is_collected() -> None:
    group = QueueGroup(in_flight=1)
    group.worker()
    for second, number in ((1, 5), (2, 70), (100, 70)):
        group.publish(number)
        group.clock.run(second)
    assert [number for _, number in group.answered] == [5, 100, 40]
    assert [at for at, _ in group.answered] == pytest.approx([10, 20, 30])


def test_two_batches_in_flight_share_the_worker() -> None:
    group = QueueGroup()
    group.worker()
    group.publish(200)
    group.clock.run(100)
    assert [at for at, _ in group.answered] == pytest.approx([20, 20]), "each half as fast as alone"


def test_a_worker_holds_no_more_than_it_may_or_can_run() -> None:
    group = QueueGroup(fixed_seconds=1)
    worker = group.worker()
    group.publish(100)
    group.clock.run(5)
    group.publish(1000)
    assert (worker.held, group.consumer.pending, group.consumer.ack_pending) == (400, 600, 400), "the limit"

    slow = QueueGroup()
    worker = slow.worker()
    for _ in range(3):
        slow.publish(200)
        assert (worker.held, slow.consumer.ack_pending) == (200, 200), "as many as can run"
    slow.clock.run(21)
    assert (worker.held, slow.consumer.pending) == (200, 200)


def test_messages_are_shared_among_pulling_workers_up_to_max_ack_pending() -> None:
    group = QueueGroup()
    workers = [group.worker(), group.worker()]
    group.publish(300)
    assert [worker.held for worker in workers] == [150, 150]

    limited = QueueGroup(max_ack_pending=120)
    worker = limited.worker()
    limited.publish(1000)
    assert worker.held == 120
    limited.clock.run(200)
    assert limited.total_answered() == 1000


def test_messages_of_a_killed_worker_are_redelivered_after_the_ack_wait() -> None:
    group = QueueGroup()
    first = group.worker()
    group.publish(50)
    group.clock.run(4)
    assert first.die() == pytest.approx(4)
    assert (group.consumer.pending, group.consumer.ack_pending) == (0, 50), "as a server counts it"
    group.worker()
    group.clock.run(20)
    assert group.answered == []
    group.clock.run(100)
    assert group.total_answered() == 50
    assert (group.consumer.ack_pending, group.consumer.redelivered) == (0, 50)


def test_a_worker_that_stops_pulling_hands_back_waiting_messages_and_finishes_its_batch() -> None:
    group = QueueGroup(in_flight=1, fixed_seconds=1)
    first = group.worker()
    group.publish(100)
    group.clock.run(5)
    group.publish(250)
    second = group.worker()
    first.stop_pulling()
    group.clock.run(5.5)
    assert (first.held, second.held) == (100, 100), "it does not know yet how long its batches take"
    group.clock.run(100)
    assert group.total_answered() == 350
    assert group.consumer.redelivered == 150


def test_a_failed_batch_stays_ack_pending_and_is_redelivered() -> None:
    group = QueueGroup()
    group.worker(fails=True)
    group.publish(50)
    group.clock.run(15)
    assert (group.answered, group.consumer.pending, group.consumer.ack_pending) == ([], 0, 50)
    group.clock.run(100)
    assert group.total_answered() == 50


def test_a_message_that_cannot_be_processed_costs_its_batch_halvings() -> None:
    group = QueueGroup()
    group.worker()
    group.publish(64, bad=1)
    group.clock.run(500)
    [(at, number)] = group.answered
    assert (round(at), number) == (10 + 2 * 6 * 10, 64)


def test_workers_share_the_sinks_rate() -> None:
    group = QueueGroup(sink_per_second=10)
    for _ in range(3):
        group.worker()
    group.publish(300)
    group.clock.run(1000)
    assert group.answered[-1][0] == pytest.approx(10 + 30, abs=0.5)


@given(st.lists(st.integers(1, 500), max_size=20), st.integers(1, 1000))
def test_rows_neither_lose_nor_make_messages(puts: list[int], most: int) -> None:
    row = Row()
    for number, count in enumerate(puts):
        row.put((Lot(number, count),))
    taken = row.take(most)
    assert total(taken) == min(most, sum(puts))
    assert total(row.lots) == row.count == sum(puts) - total(taken)
    assert list(taken + row.lots) == sorted(taken + row.lots, key=lambda lot: lot.came_at)


# Pods


def cluster(grace: float = 30, victims: Victims = Victims.REPLICA_SET) -> tuple[Cluster, QueueGroup]:
    group = QueueGroup()
    return Cluster(group.clock, chance.source(1, "pods"), group.worker, grace, victims=victims), group


def test_a_pod_costs_from_scheduling_until_its_end() -> None:
    pods, group = cluster()
    pods.scale(1)
    group.clock.run(100)
    [pod] = pods.pods
    assert pod.scheduled_at is not None
    assert pod.ready_at is not None
    assert 0 < pod.scheduled_at < pod.ready_at < 100
    pods.scale(0)
    group.clock.run(200)
    assert pods.pods == []
    assert pods.pod_seconds == pytest.approx(100 + pods.starts.ended - pod.scheduled_at)


def test_a_worker_is_killed_if_its_batch_runs_longer_than_the_grace_period() -> None:
    for grace, kills, lost_seconds, left in ((30, 0, 0, 0), (5, 1, 6, 100)):
        pods, group = cluster(grace)
        pods.scale(1)
        group.clock.run(100)
        group.publish(100)
        group.clock.run(101)
        pods.scale(0)
        group.clock.run(200)
        assert (pods.kills, round(pods.lost_seconds), total(group.consumer.left)) == (kills, lost_seconds, left)


def made(number: int, *, ready_at: float | None = None, on_node: bool = True, node: int = 0, cost: int = 0) -> Pod:
    worker = None if ready_at is None else QueueGroup().worker()
    scheduled_at = 0 if on_node else None
    tie = number / 100
    return Pod(number, number, node, tie, scheduled_at, ready_at=ready_at, worker=worker, deletion_cost=cost)


VICTIMS = {
    "it is not on a node": (made(1, on_node=False, cost=9), made(2)),
    "it is not ready": (made(1, cost=9), made(2, ready_at=50)),
    "it costs less": (made(1, ready_at=0, cost=-100), made(2, ready_at=99)),
    "it is newer": (made(1, ready_at=90), made(2, ready_at=10)),
}


def test_a_replica_set_deletes_the_pod_that_matters_least(subtests: pytest.Subtests) -> None:
    for why, (victim, other) in VICTIMS.items():
        with subtests.test(why):
            pods, group = cluster()
            group.clock.run(100)
            pods.pods = [replace(other, node=1), replace(victim, node=2)]
            pods.scale(1)
            assert [pod.number for pod in pods.live] == [other.number]
    pods, group = cluster()
    group.clock.run(100)
    pods.pods = [made(1, ready_at=10, node=0), made(2, ready_at=10, node=1), made(3, ready_at=10, node=1)]
    pods.scale(2)
    assert [pod.number for pod in pods.live] in ([1, 2], [1, 3]), "one of those that share a node"


def test_numbered_pods_are_deleted_from_the_end_and_their_numbers_reused() -> None:
    pods, group = cluster(victims=Victims.LAST)
    pods.scale(4)
    group.clock.run(200)
    pods.scale(2)
    assert [pod.place for pod in pods.live] == [0, 1]
    pods.scale(3)
    assert [pod.place for pod in pods.live] == [0, 1, 2]


# Whole runs

ROUGH = Trace(
    name="rough",
    about="everything at once",
    seconds=900,
    rate=lambda now: 2_000 * (now % 300 < 100) if now < 500 else 0,
    bad_share=lambda _: 1e-5,
    job=Job(max_ack_pending=60_000, each_seconds=0.001, fixed_seconds=3, sink_per_second=4_000),
    trouble=Trouble(
        silent=((200, 260),),
        leaderless=((50, 58),),
        stale=((58, 90),),
        node_gone=((50, 200),),
        failing=((20, 120, 0.3),),
    ),
)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([ours(), *(as_it_comes(peer) for peer in PEERS)]))
def test_with_every_autoscaler_each_message_is_answered_once_or_still_held(seed: int, contender: Contender) -> None:
    world = World(ROUGH, seed, grace=2)
    contender.scaler.attach(world)
    for second in range(0, 901, 10):
        world.clock.run(second)
        held = sum(worker.held for worker in world.workers)
        assert world.consumer.arrived - world.consumer.answered == total(world.consumer.left) + held
        assert world.consumer.ack_pending == held + total(world.consumer.left) - world.consumer.pending
        assert world.cluster.replicas <= ROUGH.job.max_workers


def test_a_run_is_the_same_each_time_and_another_from_another_seed() -> None:
    one, same, other = (ours().run("spike", seed) for seed in (1, 1, 2))
    assert one == same
    assert one.pod_seconds != other.pod_seconds


def test_ours_kills_no_busy_worker_and_loses_no_work() -> None:
    """A batch takes three minutes, and workers get two seconds to end: a worker finishes before its pod is deleted."""
    world = World(TRACES["slow jobs"], 1, grace=2)
    loop = Loop(world, Penstock().limits(world))
    world.clock.at(0, loop.look)
    outcome = world.run()
    assert (outcome.kills, outcome.lost_seconds, outcome.unfinished) == (0, 0, 0)
    assert outcome.flaps > 0, "workers did go"


# Measures


def of(pod_seconds: float, p99: float) -> Outcome:
    none: dict[str, Any] = dict.fromkeys(("kills", "lost_seconds", "flaps", "first_worker", "unfinished"), 0)
    return Outcome(pod_seconds=pod_seconds, p50=1, p99=p99, lag_p50=1, lag_p99=1, **none)


def test_a_percentile_counts_each_message_of_a_lot() -> None:
    lots = [(1.0, 98), (5.0, 1), (9.0, 1)]
    assert (percentile(lots, 99), percentile(lots, 50), percentile([], 50)) == (5, 1, 0)


def test_a_peer_competes_with_the_cheapest_settings_that_are_as_fast_as_ours() -> None:
    tried = {"fast": of(900, 5), "enough": of(500, 10), "slow": of(100, 30)}
    assert chosen(of(400, 10), tried) == "enough"
    assert chosen(of(400, 2), tried) == "fast", "the nearest, where none is as fast"


def test_a_flap_is_a_change_of_direction() -> None:
    direction = Direction()
    for before, after in ((0, 3), (3, 5), (5, 2), (2, 4)):
        direction.changed(before, after)
    assert direction.flaps == 2


def test_the_time_to_the_first_worker_starts_with_the_waiting_message() -> None:
    wakings = Wakings()
    for now, oldest, ready in ((0, float("inf"), 0), (10, 9.5, 0), (20, 9.5, 0), (30, 9.5, 1), (40, float("inf"), 1)):
        wakings.look(now, oldest=oldest, ready=ready)
    assert wakings.mean == 20.5


def test_the_line_has_each_peers_mean_cost_and_latency_relative_to_ours() -> None:
    job = TRACES["spike"].job
    rows = [
        scaling.Row(ours(), of(100, 10)),
        *(scaling.Row(grid(peer, job)[0], of(400, 20)) for peer in PEERS),
        *(scaling.Row(as_it_comes(peer), of(900, 90)) for peer in PEERS),
    ]
    dearer = [scaling.Row(ours(), of(400, 40)), *rows[1:]]
    line = json.loads(scaling.final_line({"spike": rows, "steady": dearer}))
    assert line["bench"] == "scaling"
    assert line["ratio"] == {"keda_hpa": 2, "keda_hpa_p99": 1, "numaflow": 2, "numaflow_p99": 1}
    assert line["peers"]["numaflow"]["spike"]["ratio"] == 4
    assert line["ours"]["spike"]["pod_seconds"] == 100
    assert scaling.as_table({"spike": rows}).count("KEDA + HPA") == 2


def test_a_picture_keeps_peaks_and_leaves_out_level_stretches() -> None:
    spike = [(float(at), 9.0 if at == 777 else 1.0) for at in range(1000)]
    assert max(value for _, value in coarser(spike)) == 9
    assert len(coarser(spike)) < 400
    assert thinned([(0, 1), (1, 1), (2, 1), (3, 5)]) == [(0, 1), (2, 1), (3, 5)]
