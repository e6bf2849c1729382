"""Liveness and readiness: the decision for each fact, with the sentence that a probe answers."""

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

NOW = 1000.0
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
