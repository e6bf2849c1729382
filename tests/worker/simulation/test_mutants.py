"""Machines that are wrong on purpose, each in one way that somebody might get it wrong: the simulator must notice."""

from collections.abc import Callable
from itertools import count

import pytest

from penstock_worker.policy.ledger import Entry
from penstock_worker.policy.machine import (
    arriving,
    collecting,
    leases,
    leaving,
    losing,
    recall,
    running,
    settling,
    splitting,
)
from penstock_worker.policy.machine import machine as whole
from penstock_worker.policy.machine.actions import Action, HoldReason
from penstock_worker.policy.machine.batch import Batch, Stage
from penstock_worker.policy.machine.blocks import Blocks, Row
from penstock_worker.policy.machine.books import Books
from penstock_worker.policy.machine.finished import Finished
from penstock_worker.policy.machine.leases import Leases
from penstock_worker.policy.machine.pieces import Pieces, rows_as_pieces
from penstock_worker.policy.outcome import Outcome
from penstock_worker.policy.ranges import contains
from tests.worker.simulation.run import run

SEEDS_MAX = 1500
"""Most are noticed within the first fifty."""
FIRST_SEEDS = {
    "keeps_what_belongs_to_a_batch_of_another_worker": 720,
    "commits_before_the_dead_letters": 591,
    "keeps_what_it_held_while_it_slept": 150,
    "blames_a_batch_that_did_not_run_alone": 343,
    "runs_a_message_that_it_holds_once_more": 122,
    "answers_by_the_former_delivery": 122,
}
"""Where to begin with those for which much has to come together; any other place would do, and take longer."""

Patch = pytest.MonkeyPatch
_next_stage, _went_well, _open, _is_dead = settling.next_stage, settling.went_well, Books.open, Finished.is_dead


def settles_before_the_dead_letters(patch: Patch) -> None:
    def went_well(books: Books, batch: Batch, outcome: Outcome, now: float) -> None:
        _went_well(books, batch, outcome, now)
        if batch.stage is Stage.BURYING:
            _next_stage(batch, now)

    patch.setattr(running, "went_well", went_well)


def commits_before_the_dead_letters(patch: Patch) -> None:
    def went_well(books: Books, batch: Batch, outcome: Outcome, now: float) -> None:
        _went_well(books, batch, outcome, now)
        if batch.stage is Stage.BURYING and batch.todo[0] is Stage.COMMITTING:
            batch.stage, batch.todo = Stage.COMMITTING, [Stage.BURYING, Stage.SETTLING]

    patch.setattr(running, "went_well", went_well)


def runs_without_telling_the_ledger(patch: Patch) -> None:
    def opened(books: Books, pieces: Pieces, now: float, **more: bool) -> Batch:
        batch = _open(books, pieces, now, **more)  # type: ignore[arg-type]
        batch.stage = Stage.READY
        return batch

    patch.setattr(Books, "open", opened)


def forgets_to_commit(patch: Patch) -> None:
    def next_stage(batch: Batch, now: float) -> None:
        _next_stage(batch, now)
        if batch.stage is Stage.COMMITTING:
            _next_stage(batch, now)

    patch.setattr(settling, "next_stage", next_stage)


def never_renews(patch: Patch) -> None:
    patch.setattr(Leases, "renew", lambda *_: None)


def renews_too_late(patch: Patch) -> None:
    patch.setattr(leases, "RENEWALS_PER_ACK_WAIT", 1)


def keeps_what_it_held_while_it_slept(patch: Patch) -> None:
    patch.setattr(Leases, "_let_go", lambda *_: None)
    patch.setattr(arriving, "_replace_waiting", lambda *_: None)


def runs_a_message_that_it_holds_once_more(patch: Patch) -> None:
    patch.setattr(arriving, "_replace_in", lambda *_: None)


def forgets_at_once_what_it_finished(patch: Patch) -> None:
    patch.setattr(Finished, "is_dead", lambda *_: None)


def does_not_recall_batches(patch: Patch) -> None:
    patch.setattr(recall.Recall, "find", lambda *_: None)


def recalls_batches_without_all_their_messages(patch: Patch) -> None:
    patch.setattr(recall, "PATIENCE_ACK_WAITS", 0)


def waits_for_ever_for_what_does_not_come_again(patch: Patch) -> None:
    patch.setattr(recall, "PATIENCE_ACK_WAITS", 1000)


def puts_a_batch_aside_that_may_pass(patch: Patch) -> None:
    def may_pass(books: Books, batch: Batch, outcome: Outcome, now: float, chance: float) -> None:
        del chance
        splitting.blame_data(books, batch, outcome.fault, now)

    patch.setattr(running, "_may_pass", may_pass)


def takes_a_lost_spark_for_bad_data(patch: Patch) -> None:
    patch.setattr(running, "lost", lambda *_, **__: True)


def never_suspects_a_batch(patch: Patch) -> None:
    patch.setattr(losing, "SUSPECTED_FROM", 10_000)


def blames_a_batch_that_did_not_run_alone(patch: Patch) -> None:
    def may_run(books: Books, batch: Batch, now: float) -> bool:
        suspect, batch.is_suspect = batch.is_suspect, False
        may = original(books, batch, now)
        batch.is_suspect = suspect
        return may

    original = running._may_run  # noqa: SLF001 - it is what is spoilt
    patch.setattr(running, "_may_run", may_run)
    patch.setattr(losing, "SUSPECTED_FROM", 1)


def loses_the_second_half(patch: Patch) -> None:
    numbers = count()

    def decide(books: Books, *_: object) -> None:
        if next(numbers) % 2:
            for batch in list(books.batches.values()):
                if batch.stage is Stage.READY and batch.count < batch.root.count:
                    books.remove(batch)

    patch.setattr(splitting, "decide", decide)


def buries_nothing(patch: Patch) -> None:
    patch.setattr(splitting, "decide", lambda *_: None)


def leaves_the_condemned_to_a_part_that_is_let_go(patch: Patch) -> None:
    def remove(books: Books, batch: Batch) -> None:
        del books.batches[batch.id]

    patch.setattr(Books, "remove", remove)


def never_asks_again(patch: Patch) -> None:
    patch.setattr(settling, "before_asking_again", lambda *_: 1e9)
    patch.setattr(whole.Machine, "_ask_all", lambda *_: None)


def insists_on_a_confirmation(patch: Patch) -> None:
    patch.setattr(settling, "SETTLE_TRIES", 10_000)


def runs_more_at_a_time_than_it_may(patch: Patch) -> None:
    def may_run(books: Books, batch: Batch, now: float) -> bool:
        del batch, now
        return books.driver.is_ready

    patch.setattr(running, "_may_run", may_run)


def never_probes(patch: Patch) -> None:
    patch.setattr(collecting, "_wants_probe", lambda *_: False)


def acknowledges_what_it_gave_up(patch: Patch) -> None:
    def give_back(books: Books, pieces: Pieces, delay_seconds: float = 0) -> None:
        del delay_seconds
        books.acknowledge(pieces)

    patch.setattr(Books, "give_back", give_back)


def answers_by_the_former_delivery(patch: Patch) -> None:
    def replace(books: Books, batch: Batch, rows: dict[int, Row]) -> None:
        for sequence in list(rows):
            if books.blocks.find(batch.pieces, sequence):
                books.let_go(rows_as_pieces([rows.pop(sequence)]))

    patch.setattr(arriving, "_replace_in", replace)


def takes_what_was_stored_later_for_what_it_knows(patch: Patch) -> None:
    def holds(entry: Entry, sequence: int, stored_at: int) -> bool:
        del stored_at
        return contains(entry.ranges, sequence)

    def is_dead(finished: Finished, sequence: int, stored_at: int) -> bool | None:
        del stored_at
        return _is_dead(finished, sequence, 0)

    patch.setattr(Entry, "holds", holds)
    patch.setattr(Finished, "is_dead", is_dead)


def answers_what_took_the_place_of_what_it_holds(patch: Patch) -> None:
    patch.setattr(arriving, "_others_in_their_place", lambda *_: False)


def names_batches_by_their_sequences_only(patch: Patch) -> None:
    patch.setattr(Blocks, "newest", lambda *_: 0)


def keeps_what_belongs_to_a_batch_of_another_worker(patch: Patch) -> None:
    patch.setattr(recall.Recall, "_is_for_others", lambda *_: False)


def keeps_what_it_collected_though_it_is_to_leave(patch: Patch) -> None:
    patch.setattr(leaving, "give_back_collected", lambda *_: None)


def pulls_though_it_is_to_leave(patch: Patch) -> None:
    def hold_reasons(books: Books, now: float, room: int) -> tuple[HoldReason, ...]:
        leaves = {HoldReason.RETIRING, HoldReason.DRIVER} if books.is_leaving else set()
        return tuple(reason for reason in original(books, now, room) if reason not in leaves)

    original = collecting.hold_reasons
    patch.setattr(collecting, "hold_reasons", hold_reasons)


def collects_ahead_however_long_its_runs_take(patch: Patch) -> None:
    patch.setattr(collecting, "_collects_ahead", lambda *_: True)


def states_its_room_only_when_that_changes(patch: Patch) -> None:
    def hold_or_pull(machine: whole.Machine, now: float) -> None:
        original(machine, now)
        if stated.get(machine) == machine.books.out[-1]:
            machine.books.out.pop()
        else:
            stated[machine] = machine.books.out[-1]

    original = whole.Machine._hold_or_pull  # noqa: SLF001 - it is what is spoilt
    stated: dict[whole.Machine, Action] = {}
    patch.setattr(whole.Machine, "_hold_or_pull", hold_or_pull)


def is_never_reinstated(patch: Patch) -> None:
    patch.setattr(Books, "is_leaving", property(lambda _: True))


MUTANTS = [
    keeps_what_it_collected_though_it_is_to_leave,
    pulls_though_it_is_to_leave,
    collects_ahead_however_long_its_runs_take,
    states_its_room_only_when_that_changes,
    is_never_reinstated,
    keeps_what_belongs_to_a_batch_of_another_worker,
    takes_what_was_stored_later_for_what_it_knows,
    answers_what_took_the_place_of_what_it_holds,
    names_batches_by_their_sequences_only,
    settles_before_the_dead_letters,
    commits_before_the_dead_letters,
    runs_without_telling_the_ledger,
    forgets_to_commit,
    never_renews,
    renews_too_late,
    keeps_what_it_held_while_it_slept,
    runs_a_message_that_it_holds_once_more,
    forgets_at_once_what_it_finished,
    does_not_recall_batches,
    recalls_batches_without_all_their_messages,
    waits_for_ever_for_what_does_not_come_again,
    puts_a_batch_aside_that_may_pass,
    takes_a_lost_spark_for_bad_data,
    never_suspects_a_batch,
    blames_a_batch_that_did_not_run_alone,
    loses_the_second_half,
    buries_nothing,
    leaves_the_condemned_to_a_part_that_is_let_go,
    never_asks_again,
    insists_on_a_confirmation,
    runs_more_at_a_time_than_it_may,
    never_probes,
    acknowledges_what_it_gave_up,
    answers_by_the_former_delivery,
]


@pytest.mark.parametrize("spoil", MUTANTS, ids=lambda spoil: spoil.__name__)
def test_the_simulator_notices_a_machine_that_is_wrong(spoil: Callable[[Patch], None], monkeypatch: Patch) -> None:
    spoil(monkeypatch)
    first = FIRST_SEEDS.get(spoil.__name__, 0)
    assert any(_fails(seed) for seed in range(first, first + SEEDS_MAX))


def _fails(seed: int) -> bool:
    try:
        return bool(run(seed).violation)
    except (KeyError, IndexError, AssertionError):
        return True
