"""What a worker has written to the ledger, another one that does not know of it does not write over."""

from dataclasses import replace

from penstock_worker.engine.ledger_store import LedgerStore
from penstock_worker.policy.ledger import Entry, Part
from tests.worker.engine.working import CONSUMER, Scene


async def test_parts_and_results_are_not_written_over_by_a_worker_that_does_not_know_of_them(
    work: Scene,
) -> None:
    ledger = LedgerStore(work.js, work.stream, CONSUMER, "life")
    name = f"{work.stream}.{CONSUMER}.1-9"
    lower, upper, last = (Part(f"{name}.{first}-{end}", ((first, end),)) for first, end in ((1, 2), (3, 4), (5, 9)))
    whole = Entry(batch_id=f"{name}.0", ranges=((1, 9),), newest=9, worker="first")
    adopted = replace(whole, worker="second", attempts=1)
    cut, cut_again = replace(whole, parts=(lower, upper)), replace(adopted, parts=(lower, upper, last))
    for entry, is_written in (
        (whole, True),
        (adopted, True),
        (cut, True),
        (cut, True),
        (adopted, False),
        (replace(adopted, parts=(last,)), False),
        (cut_again, True),
        (cut, False),
    ):
        assert await ledger.write(entry) is is_written
    assert await ledger.entries() == (cut_again,)
    await ledger.delete(whole.batch_id)
    assert await ledger.write(whole), "in the place of the mark that a deletion leaves"
    rejected, committed = replace(whole, rejected=((2, 2),)), replace(whole, committed=True)
    for entry, is_written in (
        (rejected, True),
        (adopted, False),
        (replace(rejected, parts=(last,)), True),
        (rejected, False),
        (committed, True),
        (cut, False),
    ):
        assert await ledger.write(entry) is is_written
    assert await ledger.entries() == (committed,)
