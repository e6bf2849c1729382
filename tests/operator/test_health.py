"""Liveness and readiness: facts gathered from lists and watches, and the decision and sentence for each of them."""

from dataclasses import replace

import pytest

from penstock_operator.plan.health import (
    LEASE_FAILS_SECONDS,
    LISTING_IS_FRESH_SECONDS,
    LISTING_IS_STUCK_SECONDS,
    WATCH_IS_STUCK_SECONDS,
    WATCH_LAGS_SECONDS,
    WORK_IS_STUCK_SECONDS,
    Facts,
    LeaseFacts,
    liveness,
    readiness,
)
from penstock_operator.services.vitals import Vitals
from penstock_operator.storage.listing import Listed

NOW = 1000.0
FIRST = Listed("uid-1", "7", "Connection a/b")
WELL = Facts(started_at=0, round_ended_at=NOW - 1, listed_at=NOW - 1, watching=True)
FORBIDDEN = replace(WELL, failure="The operator may not list connections.penstock.dev.")


def unseen(seconds: float) -> Facts:
    return replace(WELL, unseen="Connection a/b", unseen_since=NOW - seconds)


def with_lease(*, leads: bool = False, holder: str = "", failing_seconds: float | None = None) -> Facts:
    since = None if failing_seconds is None else NOW - failing_seconds
    failure = None if since is None else "The API server cannot be reached."
    return replace(WELL, lease=LeaseFacts(NOW - 1, leads, holder, failure, since))


def at_work(seconds: float) -> Facts:
    return replace(WELL, work="Stream a/b", work_since=NOW - seconds)


READINESS = {
    "all is well": (WELL, True, "Ready"),
    "nothing was listed yet": (Facts(started_at=NOW - 1), False, "has not been listed yet"),
    "the first list failed": (Facts(started_at=0, round_ended_at=NOW, failure="It failed."), False, "It failed."),
    "a list failed after others succeeded": (FORBIDDEN, False, "may not list"),
    "workers cannot be watched": (replace(WELL, unwatched="No role has the verb."), False, "No role has the verb."),
    "the watches have not started": (replace(WELL, watching=False), False, "are being started"),
    "the last success is old": (
        replace(WELL, listed_at=NOW - LISTING_IS_FRESH_SECONDS - 1),
        False,
        "was last listed 21 s ago",
    ),
    "the last success is just fresh": (replace(WELL, listed_at=NOW - LISTING_IS_FRESH_SECONDS), True, "Ready"),
    "the watch lags a little": (unseen(WATCH_LAGS_SECONDS), True, "Ready"),
    "the watch lags": (unseen(WATCH_LAGS_SECONDS + 1), False, "Connection a/b has been listed for 31 s"),
    "it is stopping": (replace(WELL, stopping=True), False, "is stopping"),
    "it leads": (with_lease(leads=True, holder="me"), True, "It leads."),
    "another leads": (with_lease(holder="other"), True, "It stands by: other leads."),
    "nobody leads": (with_lease(), True, "It stands by: nobody leads."),
    "the Lease fails": (with_lease(failing_seconds=LEASE_FAILS_SECONDS - 1), True, "It stands by"),
    "the Lease has failed for long": (
        with_lease(failing_seconds=LEASE_FAILS_SECONDS),
        False,
        "which replica leads: The API server cannot",
    ),
}

LIVENESS = {
    "all is well": (WELL, True),
    "it has just started": (Facts(started_at=NOW - 1), True),
    "the API server is unreachable": (replace(WELL, listed_at=0, failure="The API server cannot be reached."), True),
    "listing is forbidden": (FORBIDDEN, True),
    "no round has ever ended": (Facts(started_at=NOW - LISTING_IS_STUCK_SECONDS - 1), False),
    "rounds no longer end": (replace(WELL, round_ended_at=NOW - LISTING_IS_STUCK_SECONDS - 1), False),
    "the watch lags": (unseen(WATCH_LAGS_SECONDS + 1), True),
    "the watch is stuck": (unseen(WATCH_IS_STUCK_SECONDS + 1), False),
    "the watch is behind an API server that is away": (
        replace(unseen(WATCH_IS_STUCK_SECONDS + 1), failure="The API server cannot be reached."),
        True,
    ),
    "an object has been worked on for a while": (at_work(WORK_IS_STUCK_SECONDS - 1), True),
    "a worker is stuck": (at_work(WORK_IS_STUCK_SECONDS + 1), False),
    "it is stopping": (replace(WELL, stopping=True), True),
    "the Lease has failed for long": (with_lease(failing_seconds=1000), True),
    "the Lease is not asked for any more": (
        replace(WELL, lease=LeaseFacts(NOW - LISTING_IS_STUCK_SECONDS - 1, leads=False, holder="")),
        False,
    ),
}


def test_readiness(subtests: pytest.Subtests) -> None:
    for name, (facts, ready, sentence) in READINESS.items():
        with subtests.test(name):
            verdict = readiness(facts, NOW)
            assert verdict.holds is ready
            assert sentence in verdict.sentence
            assert is_one_sentence(verdict.sentence)


def test_liveness(subtests: pytest.Subtests) -> None:
    for name, (facts, alive) in LIVENESS.items():
        with subtests.test(name):
            verdict = liveness(facts, NOW)
            assert verdict.holds is alive
            assert is_one_sentence(verdict.sentence)


def is_one_sentence(text: str) -> bool:
    return text.endswith((".", "?")) and "\n" not in text


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


def test_listed_object_is_unseen_until_the_watch_shows_its_version(vitals: Vitals, clock: Clock) -> None:
    vitals.shown("uid-1", "6")
    for clock.now in (10, 15, 20):
        vitals.listed([FIRST])
    assert (vitals.facts.unseen, vitals.facts.unseen_since) == ("Connection a/b", 10), "since the first list"
    vitals.shown("uid-1", "7")
    assert vitals.facts.unseen_since is None
    vitals.listed([FIRST])
    assert vitals.facts.unseen_since is None


def test_object_that_changes_between_lists_is_unseen_since_its_last_change(vitals: Vitals, clock: Clock) -> None:
    for clock.now in (10, 15, 20):
        vitals.listed([Listed("uid-1", f"version-{clock.now}", "Connection a/b")])
    assert vitals.facts.unseen_since == 20


def test_each_unseen_object_counts_from_its_own_first_list(vitals: Vitals, clock: Clock) -> None:
    second = Listed("uid-2", "1", "Stream a/c")
    vitals.listed([FIRST])
    clock.now = 5
    vitals.listed([FIRST, second])
    vitals.shown("uid-1", "7")
    assert (vitals.facts.unseen, vitals.facts.unseen_since) == ("Stream a/c", 5)


def test_nothing_is_unseen_before_the_watches_start(clock: Clock) -> None:
    vitals = Vitals(clock)
    vitals.listed([FIRST])
    assert vitals.facts.unseen_since is None


def test_failure_ends_when_a_list_succeeds(vitals: Vitals) -> None:
    vitals.not_listed("The API server cannot be reached.")
    assert vitals.facts.failure == "The API server cannot be reached."
    vitals.listed([])
    assert vitals.facts.failure is None


def test_longest_work_is_asked_for_when_facts_are_read(vitals: Vitals) -> None:
    vitals.ask_for_work(lambda: ("Stream a/c", 3.0))
    assert (vitals.facts.work, vitals.facts.work_since) == ("Stream a/c", 3.0)
