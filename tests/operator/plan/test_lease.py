"""What one replica concludes from what it sees of the Lease: whom it takes for alive, and how long it acts itself."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_operator.plan.lease import Candidate, Record, Terms

TERMS = Terms()
ME = Candidate(identity="me")
OTHERS = Record("7", "other", 15, transitions=3, acquired_at="2026-01-01T00:00:00Z")
MINE = replace(OTHERS, holder="me")


def test_a_lease_that_nobody_made_is_created() -> None:
    claim = ME.saw(None, 100).claim(100)
    assert claim is not None
    assert (claim.replaces, claim.holder, claim.duration_seconds) == ("", "me", 15)


def test_a_lease_that_was_released_is_taken_at_once() -> None:
    claim = ME.saw(replace(OTHERS, holder=""), 100).claim(100)
    assert claim is not None
    assert (claim.replaces, claim.transitions, claim.acquired_at) == ("7", 4, "")


def test_anothers_lease_is_left_alone_until_it_was_not_renewed_for_its_duration_since_it_was_first_seen() -> None:
    watching = ME.saw(OTHERS, 100).saw(OTHERS, 108)
    assert watching.claim(114.9) is None
    assert watching.claim(115) is not None


def test_a_renewal_that_is_seen_begins_the_wait_anew() -> None:
    assert ME.saw(OTHERS, 100).saw(replace(OTHERS, version="8"), 110).claim(124.9) is None


def test_a_holder_that_promised_another_duration_is_taken_at_its_word() -> None:
    assert ME.saw(replace(OTHERS, duration_seconds=60), 100).claim(159) is None


def test_a_lease_that_somebody_deleted_is_its_holders_until_its_time_is_up() -> None:
    watching = ME.saw(OTHERS, 100).saw(None, 101)
    assert watching.claim(114) is None
    claim = watching.claim(115)
    assert claim is not None
    assert claim.replaces == ""


def test_a_holder_whose_lease_was_deleted_acts_no_more() -> None:
    assert not ME.wrote(MINE, 100).saw(None, 101).holds(101)


def test_a_holder_acts_from_before_its_write_was_sent_and_shorter_than_others_wait() -> None:
    holding = ME.wrote(MINE, 100)
    assert holding.holds(109.9)
    assert not holding.holds(110)


def test_a_renewal_keeps_when_and_how_often_the_lease_changed_hands() -> None:
    claim = ME.wrote(MINE, 100).claim(102)
    assert claim is not None
    assert (claim.transitions, claim.acquired_at) == (3, "2026-01-01T00:00:00Z")


def test_a_request_that_failed_takes_nothing_from_the_time_that_was_granted() -> None:
    holding = ME.wrote(MINE, 100).failed()
    assert holding.holds(105)
    assert not holding.is_fresh


def test_who_sees_that_another_holds_the_lease_acts_no_more() -> None:
    assert not ME.wrote(MINE, 100).saw(replace(OTHERS, version="8"), 101).holds(101)


def test_a_write_of_ours_that_landed_unknown_to_us_is_renewed_and_not_trusted() -> None:
    found = ME.saw(MINE, 100)
    assert not found.holds(100)
    assert found.claim(100) is not None


def test_only_ones_own_lease_is_released() -> None:
    assert ME.saw(OTHERS, 100).release() is None
    assert ME.saw(None, 100).release() is None
    claim = ME.saw(MINE, 100).release()
    assert claim is not None
    assert (claim.replaces, claim.holder) == ("7", "")


@given(st.floats(1, 3600))
def test_whatever_the_duration_there_is_time_for_drift_for_renewals_and_for_what_is_under_way(seconds: float) -> None:
    terms = Terms(seconds)
    assert terms.acts_seconds <= terms.duration_seconds * 0.7
    assert terms.renews_every_seconds + 2 * terms.asks_seconds < terms.acts_seconds
    assert 0 < terms.looks_every_seconds <= terms.renews_every_seconds


@pytest.mark.parametrize(
    ("candidate", "now", "seconds"),
    [
        (ME.wrote(MINE, 100), 100, TERMS.renews_every_seconds),
        (ME.wrote(MINE, 100).failed(), 103, TERMS.looks_every_seconds),
        (ME.saw(OTHERS, 100), 101, TERMS.looks_every_seconds),
        (ME.saw(OTHERS, 100), 114.9, 0.1),
        (ME.saw(OTHERS, 100), 116, TERMS.looks_every_seconds),
        (ME, 0, TERMS.looks_every_seconds),
    ],
    ids=["it holds", "a renewal failed", "it stands by", "another's time is nearly up", "it was not taken", "at first"],
)
def test_when_to_look_again(candidate: Candidate, now: float, seconds: float) -> None:
    assert candidate.pause_seconds(now) == pytest.approx(seconds)
