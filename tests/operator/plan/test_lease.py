"""What one replica concludes from the Lease that it sees: who is alive, and how long it may act itself."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_operator.plan.lease import Candidate, Claim, Record, Terms

TERMS = Terms()
ME = Candidate(identity="me")
OTHERS = Record("7", "other", 15, transitions=3, acquired_at="2026-01-01T00:00:00Z")
MINE = replace(OTHERS, holder="me")


def claimed(candidate: Candidate, now: float) -> Claim:
    claim = candidate.claim(now)
    assert claim is not None
    return claim


def test_missing_lease_is_created_and_a_released_one_is_taken_at_once() -> None:
    claim = claimed(ME.saw(None, 100), 100)
    assert (claim.replaces, claim.holder, claim.duration_seconds) == ("", "me", 15)
    claim = claimed(ME.saw(replace(OTHERS, holder=""), 100), 100)
    assert (claim.replaces, claim.transitions, claim.acquired_at) == ("7", 4, "")


def test_lease_of_another_is_taken_once_it_was_not_renewed_for_its_duration_since_first_seen() -> None:
    watching = ME.saw(OTHERS, 100).saw(OTHERS, 108)
    assert watching.claim(114.9) is None
    assert watching.claim(115) is not None
    assert ME.saw(OTHERS, 100).saw(replace(OTHERS, version="8"), 110).claim(124.9) is None, "renewed in between"
    assert ME.saw(replace(OTHERS, duration_seconds=60), 100).claim(159) is None, "it has a longer duration"


def test_deleted_lease_belongs_to_its_holder_until_its_duration_is_over() -> None:
    watching = ME.saw(OTHERS, 100).saw(None, 101)
    assert watching.claim(114) is None
    assert claimed(watching, 115).replaces == ""


def test_holder_acts_from_before_its_write_was_sent_and_shorter_than_others_wait() -> None:
    holding = ME.wrote(MINE, 100)
    assert holding.holds(109.9)
    assert not holding.holds(110)
    claim = claimed(holding, 102)
    assert (claim.transitions, claim.acquired_at) == (3, "2026-01-01T00:00:00Z"), "renewing keeps both"
    assert holding.failed().holds(105), "a failed request takes nothing from the time that was granted"
    assert not holding.failed().is_fresh


def test_holder_stops_when_it_sees_the_lease_deleted_or_held_by_another() -> None:
    assert not ME.wrote(MINE, 100).saw(None, 101).holds(101)
    assert not ME.wrote(MINE, 100).saw(replace(OTHERS, version="8"), 101).holds(101)


def test_own_write_without_an_answer_is_renewed_and_not_trusted() -> None:
    found = ME.saw(MINE, 100)
    assert not found.holds(100)
    assert found.claim(100) is not None


def test_only_the_own_lease_is_released() -> None:
    assert ME.saw(OTHERS, 100).release() is None
    assert ME.saw(None, 100).release() is None
    claim = ME.saw(MINE, 100).release()
    assert claim is not None
    assert (claim.replaces, claim.holder) == ("7", "")


@given(st.floats(1, 3600))
def test_any_duration_leaves_time_for_drift_renewals_and_requests_in_flight(seconds: float) -> None:
    terms = Terms(seconds)
    assert terms.acts_seconds <= terms.duration_seconds * 0.7
    assert terms.renews_every_seconds + 2 * terms.asks_seconds < terms.acts_seconds
    assert 0 < terms.looks_every_seconds <= terms.renews_every_seconds


PAUSES: dict[str, tuple[Candidate, float, float]] = {
    "it holds": (ME.wrote(MINE, 100), 100, TERMS.renews_every_seconds),
    "a renewal failed": (ME.wrote(MINE, 100).failed(), 103, TERMS.looks_every_seconds),
    "another holds": (ME.saw(OTHERS, 100), 101, TERMS.looks_every_seconds),
    "the other's time is nearly over": (ME.saw(OTHERS, 100), 114.9, 0.1),
    "it was not taken": (ME.saw(OTHERS, 100), 116, TERMS.looks_every_seconds),
    "at first": (ME, 0, TERMS.looks_every_seconds),
}


def test_time_until_the_next_look(subtests: pytest.Subtests) -> None:
    for name, (candidate, now, seconds) in PAUSES.items():
        with subtests.test(name):
            assert candidate.pause_seconds(now) == pytest.approx(seconds)
