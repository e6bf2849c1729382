"""Of two workers that have the same batch one cuts it: the ledger names the parts, and sinks refuse the whole."""

from dataclasses import replace

from penstock_worker.policy.identity import batch_id
from penstock_worker.policy.ledger import Entry, Part
from penstock_worker.policy.machine import actions, events
from penstock_worker.policy.machine.pieces import Piece
from penstock_worker.policy.machine.recall import FIRST_PASSING_SECONDS
from penstock_worker.policy.outcome import Verdict
from penstock_worker.policy.ranges import Range
from tests.worker.machine.playing import ACK_WAIT_SECONDS, TICK_SECONDS, Play


def named(*ranges: Range) -> str:
    return batch_id("S", "c", ranges, newest=ranges[-1][1], life="")


def cut_entry(last: int, *parts: Range) -> Entry:
    """Return what another worker has written of a batch from 1 on that it has cut."""
    return Entry(
        batch_id=named((1, last)),
        ranges=((1, last),),
        newest=last,
        oldest=1,
        worker="other",
        parts=tuple(Part(named(part), (part,)) for part in parts),
    )


def cutting() -> tuple[Play, actions.WriteLedger]:
    """Return a machine with a batch of four messages that it is about to cut."""
    play, run = Play.running(1, 2, 3, 4, ledger=True)
    play.end(run, Verdict.DATA)
    return play, play.one(actions.WriteLedger)


def test_parts_are_made_once_the_ledger_names_them() -> None:
    play, written = cutting()
    assert [part.ranges for part in written.entry.parts] == [((1, 2),), ((3, 4),)]
    assert not play.take(actions.HandOver)
    play.handle(events.LedgerWritten(written.entry.batch_id))
    assert [run.batch_id for run in play.runs()] == [part.batch_id for part in written.entry.parts]


def test_a_worker_that_finds_that_another_one_was_first_lets_go_of_the_batch() -> None:
    play, written = cutting()
    play.handle(events.LedgerCut(written.entry.batch_id))
    assert play.one(actions.LetGo).pieces == (Piece(1, 0, 4),)
    assert not play.held
    opening = Play.ready(replace(cut_entry(3), parts=()))
    opening.redeliver(1, 2, 3)
    opening.handle(events.LedgerCut(opening.one(actions.WriteLedger).entry.batch_id))
    assert not opening.held
    assert not opening.runs()


def test_a_worker_that_slept_while_it_cut_a_batch_lets_go_of_it() -> None:
    """Other workers may have processed its messages by then."""
    play, written = cutting()
    play.skip(2 * ACK_WAIT_SECONDS)
    assert not play.held
    play.handle(events.LedgerWritten(written.entry.batch_id))
    assert not play.runs()


def test_a_part_that_the_ledger_names_runs_under_its_id_though_nobody_has_written_it_down() -> None:
    """Its worker died in between."""
    play = Play.ready(cut_entry(4, (1, 2), (3, 4)))
    play.redeliver(3, 4)
    run = play.run()
    assert (run.batch_id, run.ancestors) == (named((3, 4)), (named((1, 4)),))


def test_what_is_left_of_a_batch_that_was_cut_becomes_a_part_without_waiting_for_the_others() -> None:
    former = cut_entry(6, (1, 2))
    play = Play.ready(former)
    play.redeliver(4, 5)
    play.wait(FIRST_PASSING_SECONDS + TICK_SECONDS)
    written = play.one(actions.WriteLedger).entry
    assert written.parts == (*former.parts, Part(named((4, 5)), ((4, 5),)))
    play.handle(events.LedgerWritten(written.batch_id))
    assert play.run().ancestors == (former.batch_id,)


def test_a_batch_that_its_sink_refuses_is_let_go_and_cut_if_all_of_it_comes_again() -> None:
    """If it were run as it was, it would be refused for ever, should the ledger not know of its parts."""
    for ledger in (True, False):
        play, run = Play.running(1, 2, 3, 4, ledger=ledger)
        play.end(run, Verdict.CUT)
        assert play.one(actions.LetGo).pieces == (Piece(1, 0, 4),)
        play.ledger = (replace(cut_entry(4), batch_id=run.batch_id),)
        play.arrive(1, 2, 3, 4, redelivered=True)
        play.wait(4 * ACK_WAIT_SECONDS)
        assert run.batch_id not in [again.batch_id for again in play.runs()]


def test_what_came_again_is_let_go_once_the_server_has_all_of_its_batch_as_acknowledged() -> None:
    """Another worker has settled it, and its ledger entry is about to be deleted."""
    play = Play.ready(replace(cut_entry(3), parts=()))
    play.redeliver(1, 2)
    play.handle(events.Counted(pending=0, ack_pending=0, ack_floor=3, is_asked_for=True))
    assert sum(map(len, play.one(actions.LetGo).pieces)) == 2
    assert not play.held
