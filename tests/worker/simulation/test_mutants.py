"""The simulator notices machines that are wrong on purpose, each in one way that a developer might get it wrong."""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from penstock_worker.policy import identity
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
from penstock_worker.policy.machine.blocks import Blocks
from penstock_worker.policy.machine.books import Books
from penstock_worker.policy.machine.circuit import Circuit
from penstock_worker.policy.machine.leases import Leases
from penstock_worker.policy.machine.pieces import Pieces
from penstock_worker.policy.machine.watchdog import Watchdog
from penstock_worker.policy.outcome import Outcome
from penstock_worker.policy.ranges import contains
from tests.worker.simulation.run import run

SEEDS_MAX = 1500

Patch = pytest.MonkeyPatch
Spoil = Callable[[Patch], None]
_next_stage, _went_well, _open = settling.next_stage, settling.went_well, Books.open
_hold_or_pull, _may_run = whole.Machine._hold_or_pull, running._may_run  # noqa: SLF001 - they are spoilt


def nothing(*_: object) -> None:
    """Stand in for what a machine forgets to do."""


def _rest(_: Books, batch: Batch, now: float) -> None:
    batch.stage, batch.due = Stage.RESTING, now + 1


def set_to(owner: object, name: str, value: object) -> Spoil:
    return lambda patch: patch.setattr(owner, name, value)


def without(stage: Stage) -> Spoil:
    """Have batches skip a stage."""

    def next_stage(batch: Batch, now: float) -> None:
        _next_stage(batch, now)
        if batch.stage is stage:
            _next_stage(batch, now)

    return set_to(settling, "next_stage", next_stage)


MUTANTS: dict[str, tuple[int, *tuple[Spoil, ...]]] = {
    "forgets_to_commit": (4444, without(Stage.COMMITTING)),
    "records_no_rejections": (1, without(Stage.RECORDING)),
    "never_renews": (1, set_to(Leases, "renew", nothing)),
    "renews_too_late": (1, set_to(leases, "RENEWALS_PER_ACK_WAIT", 1)),
    "runs_a_message_twice_that_is_redelivered_while_held": (7, set_to(Blocks, "held", lambda *_: {})),
    "forgets_settled_batches_at_once": (
        35,
        set_to(recall.Recall, "settled_among", lambda *_: []),
        set_to(recall, "KEPT_ACK_WAITS", 0),
    ),
    "deletes_the_ledger_entry_of_a_settled_batch_at_once": (
        33,
        set_to(recall.Recall, "settle", lambda _recall, entry: entry.batch_id),
    ),
    "does_not_look_up_messages_after_the_server_changed": (1021, set_to(arriving, "look_up_everything", nothing)),
    "never_restarts_a_pull_that_was_lost": (77, set_to(Watchdog, "look", lambda *_, **__: False)),
    "does_not_recall_batches": (157, set_to(recall.Recall, "find", lambda *_: [])),
    "recalls_batches_without_all_their_messages": (437, set_to(recall, "PATIENCE_ACK_WAITS", 0)),
    "waits_forever_for_messages_that_are_not_redelivered": (33, set_to(recall, "PATIENCE_ACK_WAITS", 1000)),
    "makes_parts_that_the_ledger_does_not_name": (942, set_to(Entry, "with_parts", lambda entry, *_, **__: entry)),
    "writes_over_the_parts_of_another_worker": (942, set_to(Entry, "may_replace", lambda *_: True)),
    "does_not_look_for_parts_that_nobody_has_written": (33, set_to(Entry, "of_parts", lambda _: ())),
    "keeps_what_another_worker_has_settled": (955, set_to(recall.Recall, "take_settled", lambda *_: ())),
    "runs_a_batch_again_that_its_sink_refuses": (
        13435,
        set_to(running, "was_cut_elsewhere", lambda books, batch: _rest(books, batch, 0)),
    ),
    "takes_a_lost_spark_for_bad_data": (12, set_to(running, "lost", lambda *_, **__: True)),
    "never_suspects_a_batch": (7, set_to(losing, "SUSPECTED_FROM", 10_000)),
    "never_splits_a_failed_batch": (1, set_to(splitting, "decide", nothing)),
    "requires_a_confirmation_forever": (9, set_to(settling, "SETTLE_TRIES", 10_000)),
    "runs_more_batches_at_a_time_than_allowed": (
        1,
        set_to(running, "_may_run", lambda books, _batch, _now: books.driver.is_ready),
    ),
    "never_probes": (274, set_to(collecting, "_wants_probe", lambda *_: False)),
    "acknowledges_what_it_gives_back": (
        4,
        set_to(Books, "give_back", lambda books, pieces, _delay_seconds=0: books.acknowledge(pieces)),
    ),
    "acknowledges_messages_stored_under_reused_sequences": (
        146,
        set_to(arriving, "_others_in_their_place", lambda *_: False),
    ),
    "names_batches_by_their_sequences_only": (133, set_to(Blocks, "newest", lambda *_: 0)),
    "keeps_messages_of_a_batch_of_another_worker": (844, set_to(recall.Recall, "_is_for_others", lambda *_: False)),
    "keeps_collected_messages_when_leaving": (77, set_to(leaving, "give_back_collected", nothing)),
    "collects_ahead_during_long_runs": (1, set_to(collecting, "_collects_ahead", lambda *_: True)),
    "never_unretires": (0, set_to(Books, "is_leaving", property(lambda _: True))),
    "dead_letters_a_batch_with_a_transient_error": (
        9,
        set_to(
            running, "_may_pass", lambda books, batch, run, now, _: splitting.blame_data(books, batch, run.fault, now)
        ),
    ),
    "tries_a_batch_for_ever": (1, set_to(running, "split", _rest), set_to(running, "condemn", _rest)),
    "dead_letters_what_fails_in_an_outage": (207, set_to(Circuit, "failed_by", lambda *_: False)),
    "leaves_rejected_messages_to_a_part_that_is_dropped": (
        1,
        set_to(Books, "remove", lambda books, batch: books.batches.pop(batch.id)),
    ),
    "runs_a_batch_again_whose_rejections_are_recorded": (41, set_to(arriving, "go_on_with_rejected", nothing)),
    "never_asks_again": (
        9,
        set_to(settling, "before_asking_again", lambda *_: 1e9),
        set_to(whole.Machine, "_ask_all", nothing),
    ),
    "identifies_messages_by_their_sequences_only": (
        85,
        set_to(Entry, "holds", lambda entry, sequence, _: contains(entry.ranges, sequence)),
    ),
}
"""By name: a seed that notices it, where the search begins, and what spoils the machine."""


def mutant(seed: int) -> Callable[[Spoil], Spoil]:
    def add(spoil: Spoil) -> Spoil:
        MUTANTS[spoil.__name__] = seed, spoil
        return spoil

    return add


@mutant(0)
def settles_before_the_dead_letters(patch: Patch) -> None:
    def went_well(books: Books, batch: Batch, outcome: Outcome, now: float) -> None:
        _went_well(books, batch, outcome, now)
        while batch.stage in {Stage.RECORDING, Stage.BURYING}:
            _next_stage(batch, now)

    patch.setattr(running, "went_well", went_well)


@mutant(1)
def commits_before_the_dead_letters(patch: Patch) -> None:
    def went_well(books: Books, batch: Batch, outcome: Outcome, now: float) -> None:
        _went_well(books, batch, outcome, now)
        if batch.stage is Stage.RECORDING:
            batch.stage, batch.todo = Stage.COMMITTING, [Stage.BURYING, Stage.SETTLING]

    patch.setattr(running, "went_well", went_well)


@mutant(33)
def runs_before_the_ledger_is_written(patch: Patch) -> None:
    def opened(books: Books, pieces: Pieces, now: float, **more: bool) -> Batch:
        batch = _open(books, pieces, now, **more)  # type: ignore[arg-type]
        batch.stage = Stage.READY
        return batch

    patch.setattr(Books, "open", opened)


@mutant(148)
def names_batches_of_a_recreated_consumer_as_those_of_the_former_one(patch: Patch) -> None:
    def batch_id(*names: Any, newest: int, life: str) -> str:  # noqa: ANN401 - passed on
        return identity.batch_id(*names, newest=newest, life=life[:0])

    patch.setattr("penstock_worker.policy.machine.books.batch_id", batch_id)


@mutant(209)
def cuts_batches_without_naming_them(patch: Patch) -> None:
    patch.setattr(Batch, "lineage", ())


@mutant(144)
def blames_a_batch_that_did_not_run_alone(patch: Patch) -> None:
    def may_run(books: Books, batch: Batch, now: float) -> bool:
        suspect, batch.is_suspect = batch.is_suspect, False
        may = _may_run(books, batch, now)
        batch.is_suspect = suspect
        return may

    patch.setattr(running, "_may_run", may_run)
    patch.setattr(losing, "SUSPECTED_FROM", 1)


@mutant(1)
def loses_the_second_half_of_a_split_batch(patch: Patch) -> None:
    numbers = count()

    def decide(books: Books, *_: object) -> None:
        if next(numbers) % 2:
            for batch in list(books.batches.values()):
                if batch.stage is Stage.READY and batch.count < batch.root.count:
                    books.remove(batch)

    patch.setattr(splitting, "decide", decide)


@mutant(3)
def pulls_when_leaving(patch: Patch) -> None:
    def hold_reasons(books: Books, now: float, room: int) -> tuple[HoldReason, ...]:
        leaves = {HoldReason.RETIRING, HoldReason.DRIVER} if books.is_leaving else set()
        return tuple(reason for reason in original(books, now, room) if reason not in leaves)

    original = collecting.hold_reasons
    patch.setattr(collecting, "hold_reasons", hold_reasons)


@mutant(152)
def states_its_room_only_when_that_changes(patch: Patch) -> None:
    def hold_or_pull(machine: whole.Machine, now: float) -> None:
        _hold_or_pull(machine, now)
        if stated.get(machine) == machine.books.out[-1]:
            machine.books.out.pop()
        else:
            stated[machine] = machine.books.out[-1]

    stated: dict[whole.Machine, Action] = {}
    patch.setattr(whole.Machine, "_hold_or_pull", hold_or_pull)


@pytest.mark.full
@pytest.mark.parametrize("name", MUTANTS)
def test_simulator_notices_a_wrong_machine(name: str, monkeypatch: Patch) -> None:
    first, *spoils = MUTANTS[name]
    for spoil in spoils:
        spoil(monkeypatch)
    assert any(_fails(seed) for seed in range(first, first + SEEDS_MAX))


def _fails(seed: int) -> bool:
    try:
        return bool(run(seed).violation)
    except (KeyError, IndexError, AssertionError):
        return True
