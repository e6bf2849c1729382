"""When messages become a batch: natural batching."""

from collections.abc import Sequence
from dataclasses import replace

from typing_extensions import override

from penstock_worker.policy.machine import actions, events
from penstock_worker.policy.machine.actions import HoldReason
from penstock_worker.policy.machine.collecting import SHORT_SECONDS
from penstock_worker.policy.outcome import Verdict
from tests.worker.machine.playing import SETTINGS, Play

MAX_WAIT_SECONDS = SETTINGS.batch.max_wait_seconds


def test_while_a_batch_runs_the_next_is_collected_until_its_first_message_has_waited_enough() -> None:
    play, run = Play.running(1, 2, 3, ledger=True)
    assert (run.ranges, run.count, run.attempt, run.redelivered) == (((1, 3),), 3, 1, False)
    play.arrive(4)
    play.now += MAX_WAIT_SECONDS / 2
    play.arrive(5)
    assert not play.runs()
    play.wait(MAX_WAIT_SECONDS / 2)
    assert play.run().ranges == ((4, 5),)


def test_messages_of_many_blocks_are_one_batch_as_soon_as_the_driver_is_idle() -> None:
    for in_flight in (1, 2):
        play, first = Play.running(1, ledger=True, in_flight=in_flight)
        for sequence in range(2, 12, 2):
            play.arrive(sequence, sequence + 1)
        play.end(first, Verdict.OK)
        assert play.run().ranges == ((2, 11),)


def test_messages_or_bytes_fill_a_batch_which_does_not_wait_and_a_larger_message_goes_alone() -> None:
    play, _ = Play.running(1, ledger=True)
    play.arrive(*range(2, 120))
    assert play.run().ranges == ((2, 101),)
    play = Play.ready(max_bytes=100)
    play.arrive(1, 2, 3, size=60)
    assert [run.count for run in play.runs()] == [1, 1]
    play = Play.ready(max_bytes=100)
    play.arrive(1, 2, size=5000)
    assert [run.bytes for run in play.runs()] == [5000, 5000]
    play = Play.ready(in_flight=2)
    play.arrive(*range(1, 301))
    assert [run.ranges for run in play.runs()] == [((1, 100),), ((101, 200),)], "no more than may be in flight"


def test_redelivered_messages_form_batches_of_their_own() -> None:
    play = Play.ready(ledger=False)
    play.arrive(7, redelivered=True)
    play.arrive(3, 9, redelivered=True)
    play.arrive(10, 11)
    assert play.run().ranges == ((10, 11),)
    play.wait(MAX_WAIT_SECONDS)
    run = play.run()
    assert (run.ranges, run.redelivered) == (((3, 3), (7, 7), (9, 9)), True)


def test_nothing_is_pulled_before_the_driver_is_ready_or_while_too_much_is_held() -> None:
    play = Play(SETTINGS)
    play.handle(events.Started())
    assert play.one(actions.HoldPull).reasons == (HoldReason.STARTING, HoldReason.DRIVER)
    play.handle(events.LedgerRead(()))
    assert play.one(actions.HoldPull).reasons == (HoldReason.DRIVER,)
    play.handle(events.DriverReady("one"))
    play.one(actions.ReleasePull)
    play.arrive(*range(1, 401))
    assert play.one(actions.HoldPull).reasons == (HoldReason.FULL,)
    for run in play.runs():
        play.finish(run)
    assert play.take(actions.ReleasePull)[-1].messages == 200


def test_short_runs_allow_two_more_batches_than_the_driver_has() -> None:
    play = after_a_run_of(0.1)
    assert play.one(actions.ReleasePull).messages == 400
    play.arrive(*range(101, 500))
    assert play.one(actions.ReleasePull).messages == 1
    assert not play.take(actions.HoldPull)
    play.arrive(500)
    assert play.one(actions.HoldPull).reasons == (HoldReason.FULL,)


def test_before_the_first_run_is_done_only_as_much_is_pulled_as_the_driver_has_places_for() -> None:
    play = Play(replace(SETTINGS, ledger=False))
    play.handle(events.Started(), events.DriverReady("one"))
    play.take(actions.HoldPull)
    assert play.one(actions.ReleasePull).messages == 200
    play.arrive(*range(1, 61))
    assert play.one(actions.ReleasePull).messages == 100
    play.arrive(*range(61, 91))
    assert play.one(actions.ReleasePull).messages == 70
    play.arrive(*range(91, 161))
    assert play.one(actions.HoldPull).reasons == (HoldReason.FULL,)
    assert [run.count for run in play.runs()] == [60, 100]


def test_while_runs_are_long_only_as_much_is_pulled_as_the_driver_has_places_for() -> None:
    play = after_a_run_of(SHORT_SECONDS + 1)
    assert play.one(actions.ReleasePull).messages == 200
    play.arrive(*range(101, 301))
    first, _ = play.runs()
    assert play.one(actions.HoldPull).reasons == (HoldReason.FULL,)
    play.wait(100)
    assert not play.take(actions.ReleasePull)
    play.end(first, Verdict.OK)
    assert play.one(actions.ReleasePull).messages == 100


def test_large_messages_fill_the_places_as_well() -> None:
    play = after_a_run_of(SHORT_SECONDS + 1)
    play.arrive(*range(101, 151), size=200)
    assert play.take(actions.ReleasePull)[-1].messages == 100
    play.arrive(*range(151, 201), size=200)
    assert play.one(actions.HoldPull).reasons == (HoldReason.FULL,)


def test_a_run_that_turns_out_to_be_long_ends_the_pull_and_collected_messages_stay() -> None:
    play = after_a_run_of(0.1)
    play.arrive(*range(101, 401))
    play.wait(SHORT_SECONDS)
    assert play.one(actions.HoldPull).reasons == (HoldReason.FULL,)
    assert not play.take(actions.GiveBack)
    first, _ = play.runs()
    play.end(first, Verdict.OK)
    assert play.run().ranges == ((301, 400),)


def test_one_short_run_is_enough_for_the_next_batch_to_be_collected() -> None:
    play = after_a_run_of(0.1)
    play.arrive(*range(101, 201))
    play.wait(SHORT_SECONDS)
    play.arrive(*range(201, 301))
    play.take(actions.HoldPull)
    assert len(play.runs()) == 2
    assert play.take(actions.ReleasePull)[-1].messages == 200
    play.wait(SHORT_SECONDS)
    assert play.one(actions.HoldPull).reasons == (HoldReason.FULL,)


def test_quick_small_batches_do_not_make_large_ones_count_as_quick() -> None:
    play = after_a_run_of(0.1, messages=1)
    play.arrive(*range(101, 301))
    assert play.take(actions.HoldPull)
    play.end(play.runs()[0], Verdict.OK)
    assert play.take(actions.ReleasePull)[-1].messages == 200


def test_the_rest_of_a_former_batch_is_pulled_whatever_runs() -> None:
    play = after_a_run_of(SHORT_SECONDS + 1)
    play.arrive(*range(101, 301))
    first, _ = play.runs()
    play.handle(events.CancelBatch(first.batch_id))
    play.end(first, Verdict.CANCELLED)
    play.arrive(*range(301, 401))
    assert play.take(actions.HoldPull)
    play.arrive(101, 102, redelivered=True)
    assert play.take(actions.ReleasePull)[-1].messages == 198


def after_a_run_of(seconds: float, *, messages: int = 100) -> Play:
    """Return a machine whose only run took that long."""
    play, run = Play.running(*range(1, messages + 1))
    play.skip(seconds)
    play.finish(run)
    play.take(actions.HoldPull)
    play.asked = [play.take(actions.ReleasePull)[-1]]
    return play


class Counting(Sequence[int]):
    """Rising numbers that count how often they are read."""

    def __init__(self, numbers: range) -> None:
        self.numbers = numbers
        self.looks = 0

    @override
    def __len__(self) -> int:
        return len(self.numbers)

    @override
    def __getitem__(self, place: int) -> int:  # type: ignore[override]  # numbers without gaps are never sliced
        self.looks += 1
        return self.numbers[place]


def test_fresh_messages_are_not_read_one_by_one() -> None:
    play = Play.ready(max_messages=100_000, max_bytes=1 << 30)
    sequences, offsets = Counting(range(1, 100_001)), Counting(range(0, 100_001 * 10, 10))
    play.handle(events.Arrived(block=1, sequences=sequences, stored_at=sequences, offsets=offsets, redelivered=False))
    play.finish(play.run())
    assert play.machine.books.tally.acked == 100_000
    assert sequences.looks + offsets.looks < 200
