"""Lists are compared with what the watch has shown: a watch that went silent is noticed."""

import pytest

from penstock_operator.services.vitals import Vitals
from penstock_operator.storage.listing import Listed

FIRST = Listed("uid-1", "7", "Connection a/b")


class Clock:
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


def test_listed_object_that_the_watch_showed_is_seen(vitals: Vitals) -> None:
    vitals.shown("uid-1", "7")
    vitals.listed([FIRST])
    assert vitals.facts.unseen_since is None


def test_listed_object_that_the_watch_did_not_show_is_unseen_since_the_first_list(vitals: Vitals, clock: Clock) -> None:
    for clock.now in (10, 15, 20):
        vitals.listed([FIRST])
    assert (vitals.facts.unseen, vitals.facts.unseen_since) == ("Connection a/b", 10)


def test_object_that_the_watch_shows_late_is_seen(vitals: Vitals) -> None:
    vitals.listed([FIRST])
    vitals.shown("uid-1", "7")
    assert vitals.facts.unseen_since is None


def test_object_shown_only_in_an_older_version_is_unseen(vitals: Vitals) -> None:
    vitals.shown("uid-1", "6")
    vitals.listed([FIRST])
    assert vitals.facts.unseen == "Connection a/b"


def test_object_that_changes_between_lists_is_unseen_since_its_last_change(vitals: Vitals, clock: Clock) -> None:
    for clock.now in (10, 15, 20):
        vitals.listed([Listed("uid-1", f"version-{clock.now}", "Connection a/b")])
    assert vitals.facts.unseen_since == 20


def test_nothing_is_unseen_before_the_watches_start(clock: Clock) -> None:
    vitals = Vitals(clock)
    vitals.listed([FIRST])
    assert vitals.facts.unseen_since is None


def test_failure_ends_when_a_list_succeeds(vitals: Vitals) -> None:
    vitals.not_listed("The API server cannot be reached.")
    assert vitals.facts.failure == "The API server cannot be reached."
    vitals.listed([])
    assert vitals.facts.failure is None


def test_each_unseen_object_counts_from_its_own_first_list(vitals: Vitals, clock: Clock) -> None:
    second = Listed("uid-2", "1", "Stream a/c")
    vitals.listed([FIRST])
    clock.now = 5
    vitals.listed([FIRST, second])
    vitals.shown("uid-1", "7")
    assert (vitals.facts.unseen, vitals.facts.unseen_since) == ("Stream a/c", 5)


def test_longest_work_is_asked_for_when_facts_are_read(vitals: Vitals) -> None:
    vitals.ask_for_work(lambda: ("Stream a/c", 3.0))
    assert (vitals.facts.work, vitals.facts.work_since) == ("Stream a/c", 3.0)
