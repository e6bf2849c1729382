"""The simulated queue group keeps its books: each message ends with one answer, and pods as Kubernetes ends them."""

import json
from dataclasses import replace

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


class House:
    """A consumer, and workers for it, without pods."""

    def __init__(self, job: Job = JOB) -> None:
        self.clock = Clock()
        self.job = job
        self.answered: list[tuple[float, int]] = []
        self.consumer = Consumer(
            self.clock, job.max_ack_pending, lambda lots: self.answered.append((self.clock.now, total(lots)))
        )

    def worker(self, *, fails: bool = False) -> Worker:
        luck = iter([fails])
        return Worker(
            self.clock,
            chance.source(1, "work"),
            self.job,
            self.consumer,
            Sink(self.clock, self.job.sink_per_second),
            lambda: next(luck, False),
        )

    def publish(self, number: int, *, bad: int = 0) -> None:
        good = (Lot(self.clock.now, number - bad),) if number > bad else ()
        self.consumer.arrive((*good, *(Lot(self.clock.now, 1, is_bad=True) for _ in range(bad))))


def test_a_free_driver_gets_at_once_what_is_there_and_the_next_batch_is_collected_meanwhile() -> None:
    house = House(replace(JOB, in_flight=1))
    house.worker()
    house.publish(5)
    house.clock.run(1)
    house.publish(70)
    house.clock.run(2)
    house.publish(70)
    house.clock.run(100)
    assert [number for _, number in house.answered] == [5, 100, 40]
    assert [at for at, _ in house.answered] == pytest.approx([10, 20, 30])


def test_two_batches_run_beside_each_other_and_share_the_worker() -> None:
    house = House()
    house.worker()
    house.publish(200)
    house.clock.run(100)
    assert [at for at, _ in house.answered] == pytest.approx([20, 20]), "each half as fast as alone"


def test_a_worker_takes_no_more_than_it_may_hold() -> None:
    house = House(replace(JOB, fixed_seconds=1))
    worker = house.worker()
    house.publish(100)
    house.clock.run(5)
    house.publish(1000)
    assert (worker.held, house.consumer.pending, house.consumer.ack_pending) == (400, 600, 400)


def test_a_worker_whose_batches_take_long_takes_no_more_than_can_run() -> None:
    house = House()
    worker = house.worker()
    for _ in range(3):
        house.publish(200)
        assert (worker.held, house.consumer.ack_pending) == (200, 200)
    house.clock.run(21)
    assert (worker.held, house.consumer.pending) == (200, 200)


def test_what_comes_is_shared_among_those_that_ask() -> None:
    house = House()
    workers = [house.worker(), house.worker()]
    house.publish(300)
    assert [worker.held for worker in workers] == [150, 150]


def test_no_more_is_given_out_than_may_be_ack_pending() -> None:
    house = House(replace(JOB, max_ack_pending=120))
    worker = house.worker()
    house.publish(1000)
    assert worker.held == 120
    house.clock.run(200)
    assert sum(number for _, number in house.answered) == 1000


def test_what_a_killed_worker_held_comes_again_after_its_ack_wait() -> None:
    house = House()
    first = house.worker()
    house.publish(50)
    house.clock.run(4)
    assert first.die() == pytest.approx(4)
    assert (house.consumer.pending, house.consumer.ack_pending) == (0, 50), "as a server counts it"
    house.worker()
    house.clock.run(20)
    assert house.answered == []
    house.clock.run(100)
    assert sum(number for _, number in house.answered) == 50
    assert (house.consumer.ack_pending, house.consumer.redelivered) == (0, 50)


def test_who_stops_pulling_gives_back_what_does_not_run_yet_and_finishes_what_does() -> None:
    house = House(replace(JOB, in_flight=1, fixed_seconds=1))
    first = house.worker()
    house.publish(100)
    house.clock.run(5)
    house.publish(250)
    second = house.worker()
    first.stop_pulling()
    house.clock.run(5.5)
    assert (first.held, second.held) == (100, 100), "it does not know yet how long its batches take"
    house.clock.run(100)
    assert sum(number for _, number in house.answered) == 350
    assert house.consumer.redelivered == 150


def test_a_batch_that_fails_stays_ack_pending_and_comes_again_later() -> None:
    house = House()
    house.worker(fails=True)
    house.publish(50)
    house.clock.run(15)
    assert (house.answered, house.consumer.pending, house.consumer.ack_pending) == ([], 0, 50)
    house.clock.run(100)
    assert sum(number for _, number in house.answered) == 50


def test_a_message_that_nobody_can_process_costs_its_batch_halvings() -> None:
    house = House()
    house.worker()
    house.publish(64, bad=1)
    house.clock.run(500)
    [(at, number)] = house.answered
    assert (round(at), number) == (10 + 2 * 6 * 10, 64)


def test_a_sink_that_all_share_takes_no_more_than_it_can() -> None:
    house = House(replace(JOB, sink_per_second=10))
    sink = Sink(house.clock, 10)
    for _ in range(3):
        worker = house.worker()
        worker.sink = sink
    house.publish(300)
    house.clock.run(1000)
    assert house.answered[-1][0] == pytest.approx(10 + 30, abs=0.5)


@given(st.lists(st.tuples(st.integers(1, 500), st.integers(1, 300)), max_size=20), st.integers(1, 1000))
def test_rows_neither_lose_nor_make_messages(puts: list[tuple[int, int]], most: int) -> None:
    row = Row()
    for number, (count, _) in enumerate(puts):
        row.put((Lot(number, count),))
    taken = row.take(most)
    assert total(taken) == min(most, sum(count for count, _ in puts))
    assert total(row.lots) == row.count == sum(count for count, _ in puts) - total(taken)
    assert list(taken + row.lots) == sorted(taken + row.lots, key=lambda lot: lot.came_at)


# Pods


def cluster(grace: float = 30, victims: Victims = Victims.REPLICA_SET) -> tuple[Cluster, House]:
    house = House()
    return Cluster(house.clock, chance.source(1, "pods"), house.worker, grace, victims=victims), house


def test_a_pod_costs_from_when_a_node_has_it_until_it_is_gone() -> None:
    pods, house = cluster()
    pods.scale(1)
    house.clock.run(100)
    [pod] = pods.pods
    assert pod.scheduled_at is not None
    assert pod.ready_at is not None
    assert 0 < pod.scheduled_at < pod.ready_at < 100
    pods.scale(0)
    house.clock.run(200)
    assert pods.pods == []
    assert pods.pod_seconds == pytest.approx(100 + pods.starts.ended - pod.scheduled_at)


def busy(grace: float) -> tuple[Cluster, House]:
    pods, house = cluster(grace)
    pods.scale(1)
    house.clock.run(100)
    house.publish(100)
    house.clock.run(101)
    pods.scale(0)
    house.clock.run(200)
    return pods, house


def test_a_worker_has_its_grace_period_to_finish_what_runs() -> None:
    pods, house = busy(grace=30)
    assert (pods.kills, pods.lost_seconds, total(house.consumer.left)) == (0, 0, 0)


def test_who_has_not_finished_by_then_is_killed_and_its_work_is_lost() -> None:
    pods, house = busy(grace=5)
    assert (pods.kills, round(pods.lost_seconds)) == (1, 6)
    assert total(house.consumer.left) == 100


def made(number: int, *, ready_at: float | None = None, on_node: bool = True, node: int = 0, cost: int = 0) -> Pod:
    house = House()
    return Pod(
        number,
        number,
        node,
        tie=number / 100,
        scheduled_at=0 if on_node else None,
        ready_at=ready_at,
        worker=None if ready_at is None else house.worker(),
        deletion_cost=cost,
    )


@pytest.mark.parametrize(
    ("victim", "other", "why"),
    [
        (made(1, on_node=False, cost=9), made(2), "it is not on a node"),
        (made(1, cost=9), made(2, ready_at=50), "it is not ready"),
        (made(1, ready_at=0, cost=-100), made(2, ready_at=99), "it costs less"),
        (made(1, ready_at=90), made(2, ready_at=10), "it is newer"),
    ],
)
def test_a_replica_set_takes_the_one_that_is_lost_with_the_least_harm(victim: Pod, other: Pod, why: str) -> None:
    pods, house = cluster()
    house.clock.run(100)
    pods.pods = [replace(other, node=1), replace(victim, node=2)]
    pods.scale(1)
    assert [pod.number for pod in pods.live] == [other.number], why


def test_a_replica_set_takes_one_of_those_that_share_a_node() -> None:
    pods, house = cluster()
    house.clock.run(100)
    pods.pods = [made(1, ready_at=10, node=0), made(2, ready_at=10, node=1), made(3, ready_at=10, node=1)]
    pods.scale(2)
    assert [pod.number for pod in pods.live] in ([1, 2], [1, 3])


def test_numbered_pods_go_from_the_end_and_their_numbers_are_given_again() -> None:
    pods, house = cluster(victims=Victims.LAST)
    pods.scale(4)
    house.clock.run(200)
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
def test_whoever_decides_each_message_ends_with_one_answer_or_is_somewhere(seed: int, contender: Contender) -> None:
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


def test_ours_kills_nobody_who_works_and_loses_no_work() -> None:
    """A batch takes three minutes, and workers get two seconds to end: who is to go is let finish first."""
    world = World(TRACES["slow jobs"], 1, grace=2)
    loop = Loop(world, Penstock().limits(world))
    world.clock.at(0, loop.look)
    outcome = world.run()
    assert (outcome.kills, outcome.lost_seconds, outcome.unfinished) == (0, 0, 0)
    assert outcome.flaps > 0, "workers did go"


# Measures


def of(pod_seconds: float, p99: float) -> Outcome:
    return Outcome(
        pod_seconds=pod_seconds,
        p50=1,
        p99=p99,
        lag_p50=1,
        lag_p99=1,
        kills=0,
        lost_seconds=0,
        flaps=0,
        first_worker=0,
        unfinished=0,
    )


def test_a_percentile_counts_each_message_of_a_lot() -> None:
    assert percentile([(1.0, 98), (5.0, 1), (9.0, 1)], 99) == 5
    assert percentile([(1.0, 98), (5.0, 1), (9.0, 1)], 50) == 1
    assert percentile([], 50) == 0


def test_a_peer_competes_with_the_cheapest_settings_that_are_as_fast_as_ours() -> None:
    tried = {"fast": of(900, 5), "enough": of(500, 10), "slow": of(100, 30)}
    assert chosen(of(400, 10), tried) == "enough"
    assert chosen(of(400, 2), tried) == "fast", "the nearest, where none is as fast"


def test_a_flap_is_a_change_of_direction() -> None:
    direction = Direction()
    for before, after in ((0, 3), (3, 5), (5, 2), (2, 4)):
        direction.changed(before, after)
    assert direction.flaps == 2


def test_the_time_to_the_first_worker_runs_from_the_message_that_waits_for_it() -> None:
    wakings = Wakings()
    for now, oldest, ready in ((0, float("inf"), 0), (10, 9.5, 0), (20, 9.5, 0), (30, 9.5, 1), (40, float("inf"), 1)):
        wakings.look(now, oldest=oldest, ready=ready)
    assert wakings.mean == 20.5


def test_the_line_has_the_mean_over_traces_of_what_each_peer_costs_and_lasts_more() -> None:
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


def test_a_picture_keeps_the_peaks_and_leaves_out_what_is_level() -> None:
    spike = [(float(at), 9.0 if at == 777 else 1.0) for at in range(1000)]
    assert max(value for _, value in coarser(spike)) == 9
    assert len(coarser(spike)) < 400
    assert thinned([(0, 1), (1, 1), (2, 1), (3, 5)]) == [(0, 1), (2, 1), (3, 5)]
