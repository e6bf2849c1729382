"""What is listed is compared with what the watch has shown, so that a watch that went silent does not go unnoticed."""

import pytest

from penstock_operator.services.vitals import Vitals
from penstock_operator.storage.listing import Listed

FIRST = Listed("uid-1", "7", "Connection a/b")


class Clock:
    """Time as a test wants it."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def vitals(clock: Clock) -> Vitals:
    vitals = Vitals(clock)
    vitals.watching()
    return vitals


def test_what_is_listed_and_was_shown_is_seen(vitals: Vitals) -> None:
    vitals.shown("uid-1", "7")
    vitals.listed([FIRST])
    assert vitals.facts.unseen_since is None


def test_what_is_listed_and_was_not_shown_is_unseen_since_it_was_first_listed(vitals: Vitals, clock: Clock) -> None:
    for clock.now in (10, 15, 20):
        vitals.listed([FIRST])
    assert (vitals.facts.unseen, vitals.facts.unseen_since) == ("Connection a/b", 10)


def test_what_is_shown_late_is_seen(vitals: Vitals) -> None:
    vitals.listed([FIRST])
    vitals.shown("uid-1", "7")
    assert vitals.facts.unseen_since is None


def test_what_was_shown_in_an_older_version_only_is_unseen(vitals: Vitals) -> None:
    vitals.shown("uid-1", "6")
    vitals.listed([FIRST])
    assert vitals.facts.unseen == "Connection a/b"


def test_what_changes_faster_than_it_is_listed_is_not_held_against_the_watch(vitals: Vitals, clock: Clock) -> None:
    for clock.now in (10, 15, 20):
        vitals.listed([Listed("uid-1", f"version-{clock.now}", "Connection a/b")])
    assert vitals.facts.unseen_since == 20


def test_before_the_watches_start_nothing_is_unseen(clock: Clock) -> None:
    vitals = Vitals(clock)
    vitals.listed([FIRST])
    assert vitals.facts.unseen_since is None


def test_a_failure_is_forgotten_when_a_list_succeeds(vitals: Vitals) -> None:
    vitals.not_listed("The API server cannot be reached.")
    assert vitals.facts.failure == "The API server cannot be reached."
    vitals.listed([])
    assert vitals.facts.failure is None


def test_each_of_several_that_are_unseen_counts_from_when_it_was_first_listed(vitals: Vitals, clock: Clock) -> None:
    second = Listed("uid-2", "1", "Stream a/c")
    vitals.listed([FIRST])
    clock.now = 5
    vitals.listed([FIRST, second])
    vitals.shown("uid-1", "7")
    assert (vitals.facts.unseen, vitals.facts.unseen_since) == ("Stream a/c", 5)


def test_what_is_worked_on_for_longest_is_asked_for_when_somebody_wants_to_know(vitals: Vitals) -> None:
    vitals.ask_for_work(lambda: ("Stream a/c", 3.0))
    assert (vitals.facts.work, vitals.facts.work_since) == ("Stream a/c", 3.0)
