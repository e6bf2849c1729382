"""What a driver keeps of its runs."""

from penstock_worker.driver.runs import Runs
from penstock_worker.policy.outcome import Outcome, Verdict
from tests.worker.driver.driving import handed, rows

LARGE_BYTES = 10_000


def test_of_a_run_that_is_over_no_message_is_kept_in_memory() -> None:
    """An engine that died may never ask for its outcome, nor have it forgotten."""
    runs = Runs()
    run = runs.find_or_begin(handed("count"), rows(("a" * LARGE_BYTES, "b")))
    assert run.rows.get_total_buffer_size() > LARGE_BYTES
    runs.end(run, Outcome(Verdict.OK, 0.0))
    assert runs.find(run.name) is run
    assert run.rows.get_total_buffer_size() < LARGE_BYTES
