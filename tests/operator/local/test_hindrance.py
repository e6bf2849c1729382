"""How long a group makes no progress, and what blocks it."""

from datetime import UTC, datetime

from penstock_jetstream.core.consumer_info import Pause
from penstock_operator.local.hindrance import Standstill, complaint, pause_of_consumer, pause_of_workers, resumed_by
from penstock_operator.plan.declared import Identity

GROUP = Identity("QueueGroup", "default", "etl")
BROKEN = {"ready": False, "sentence": "Batches failed.", "holds": ["circuit"]}
FAILING = {"ready": True, "holds": [], "fault": "Retry: the database is not there."}


def test_time_without_settled_messages_counts_but_not_while_a_batch_runs_and_an_idle_group_starts_over() -> None:
    standstill = Standstill()
    for seconds, settled, is_running, is_done, counted in (
        (2, 0, False, False, 2),
        (1, 0, False, False, 3),
        (600, 0, True, False, 3),
        (1, 0, False, False, 4),
        (1, 10, False, False, 0),
        (1, 10, False, False, 1),
        (3, 10, False, True, 0),
    ):
        standstill.tick(seconds, settled=settled, is_running=is_running, is_done=is_done)
        assert standstill.seconds == counted


def test_pause_is_reported_with_the_way_to_end_it() -> None:
    assert resumed_by(GROUP, is_declared=False) == "`penstock resume etl` has it go on."
    assert resumed_by(GROUP, is_declared=True) == "Its manifest says suspend: true; without that it goes on."
    until = datetime(2030, 1, 31, 12, tzinfo=UTC)
    assert pause_of_consumer("etl", Pause(is_paused=True, until=until, remaining_seconds=60)) == (
        "The server has paused the consumer etl until 2030-01-31 12:00:00 UTC: its pauseUntil says so, or a person did."
    )
    assert not pause_of_consumer("etl", Pause(is_paused=False, until=None, remaining_seconds=0))
    assert not pause_of_consumer("etl", None)
    paused = {"ready": True, "holds": ["paused"]}
    assert pause_of_workers(GROUP, [paused]) == "Its workers were told to pause. `penstock resume etl` has it go on."
    assert not pause_of_workers(GROUP, [paused, FAILING])
    assert not pause_of_workers(GROUP, [])


def test_blocker_is_reported_in_the_words_of_the_worker_that_knows() -> None:
    assert complaint([FAILING, BROKEN]) == "Batches failed."
    assert complaint([FAILING]) == "The last batch failed: Retry: the database is not there."
    assert complaint([]) == "None of its workers answers; `penstock logs` shows what they said last."
