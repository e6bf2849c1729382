"""Batches of the usual size lapse and come back, with a ledger full of entries, and the event loop is never blocked."""

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from typing_extensions import override

from penstock_worker.policy.ledger import Entry
from penstock_worker.policy.machine import actions, events
from penstock_worker.policy.settings import BatchSettings
from tests.testbed.heap import small_heap
from tests.worker.machine.playing import SETTINGS, Play
from tests.worker.machine.test_recalling import entry

ENTRIES = 800
"""200 workers with 4 open batches each."""
MESSAGES = BatchSettings().max_messages
STEP_SECONDS = 0.5
"""Of CPU time: the longest that the event loop may do nothing else. The longest takes 0.1 s on a quiet core."""
STEPS_MAX = 10_000


class TimedPlay(Play):
    """A machine whose longest step is measured."""

    longest = 0.0

    @override
    def handle(self, *happened: events.Event) -> None:
        for event in happened:
            began = time.thread_time()
            self.asked += self.machine.handle(event, now=self.now, chance=0.0)
            self.longest = max(self.longest, time.thread_time() - began)

    def first_run(self) -> actions.HandOver:
        """Return the first run of messages that were redelivered."""
        for _ in range(STEPS_MAX):
            if self.take(actions.ReadLedger):
                self.handle(events.LedgerRead(self.ledger))
            self.skip(0.01)
            if runs := self.runs():
                return runs[0]
        raise AssertionError(f"No run begins within {STEPS_MAX} steps.")


def in_blocks(sequences: list[int], size: int) -> list[list[int]]:
    return [sequences[first : first + size] for first in range(0, len(sequences), size)]


def lapses() -> Iterator[tuple[str, list[Entry], list[list[int]]]]:
    batches = [entry((first, first + MESSAGES - 1)) for first in range(1, ENTRIES * MESSAGES, MESSAGES)]
    whole = list(range(1, MESSAGES + 1))
    yield "in blocks of 1000", batches, in_blocks(whole, 1000)
    yield "in blocks of 50", batches, in_blocks(whole, 50)
    small = [entry((first, first + 9)) for first in range(1, 10 * ENTRIES, 10)]
    yield "many small batches", small, in_blocks(list(range(1, 10 * ENTRIES + 1)), 1000)
    every_second = list(range(1, 2 * MESSAGES, 2))
    shared = [entry(*((sequence, sequence) for sequence in every_second))]
    halves = in_blocks(every_second[::2], 1000) + in_blocks(every_second[1::2], 1000)
    yield "of a batch between those of another worker, which handed half of it back", shared, halves


@pytest.mark.full
def test_batches_of_the_usual_size_come_back_in_short_steps(subtests: pytest.Subtests) -> None:
    for name, entries, blocks in lapses():
        with subtests.test(name), small_heap():
            play = TimedPlay(replace(SETTINGS, batch=BatchSettings(max_bytes=1 << 30, in_flight=1)))
            play.ledger = tuple(entries)
            play.handle(events.Started(), events.DriverReady("one"), events.LedgerRead(play.ledger))
            play.asked.clear()
            for block in blocks:
                play.arrive(*block, redelivered=True)
            run = play.first_run()
            assert run.batch_id in {entry.batch_id for entry in entries}
            for block in blocks:  # it runs, and its lease lapses
                play.arrive(*block, redelivered=True)
            assert sum(len(piece) for let_go in play.take(actions.LetGo) for piece in let_go.pieces) >= run.count
            play.finish(run)
            assert not {run.batch_id} & play.machine.books.batches.keys()
            assert play.longest < STEP_SECONDS
