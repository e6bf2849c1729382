"""Is the operator alive, and is it ready? Each verdict with the sentence that a person reads in the probe's answer.

Pure: the facts and the time come in. Knows what the facts mean. Does not know how they are gathered (services.vitals),
nor who asks (services.probes).

Ready means: what the operator watches could be listed just now, the watches have started and keep up with what is
listed, and the Lease can be asked for. A replica that stands by is as ready as the one that leads. Alive means: it
could still become ready without being started anew.
"""

from dataclasses import dataclass

LIST_PERIOD_SECONDS = 5.0
"""How often what is watched is listed: this often an unreachable API server is noticed."""
LIST_DEADLINE_SECONDS = 5.0
"""How long one such call may take: the API server answers in milliseconds, or there is something wrong."""
LISTING_IS_FRESH_SECONDS = 3 * LIST_PERIOD_SECONDS + LIST_DEADLINE_SECONDS
"""How long a success stands for readiness: over a round that takes its whole deadline, and a busy machine."""
LISTING_IS_STUCK_SECONDS = 60.0
"""No round can take this long, whatever the API server does: whoever makes them is stuck."""
WATCH_LAGS_SECONDS = 30.0
"""How long something may be listed that the watch has not shown, before the operator is not ready."""
WATCH_IS_STUCK_SECONDS = 180.0
"""As above, before it is not alive: kopf replaces a silent watch after 70 s, and is given the time to do so twice."""


WORK_IS_STUCK_SECONDS = 180.0
"""One step is some requests, each with a deadline of ten seconds or less: only a worker that hangs takes this long."""
LEASE_FAILS_SECONDS = 10.0
"""How long the Lease may be out of reach before the operator is not ready: an API server may start anew meanwhile."""


@dataclass(frozen=True, slots=True)
class LeaseFacts:
    """What is known of the Lease that says which replica acts."""

    looked_at: float
    """When it was last asked for, well or badly."""
    leads: bool
    holder: str
    """Who holds it, as far as is known; empty if nobody does."""
    failure: str | None = None
    """Why it could not be asked for the last time."""
    failing_since: float | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the running operator; times are of one monotonic clock, in seconds."""

    started_at: float
    round_ended_at: float | None = None
    """When a round of list calls last ended, well or badly."""
    listed_at: float | None = None
    """When a round last ended well."""
    failure: str | None = None
    """Why the last round ended badly; nothing if it did not."""
    watching: bool = False
    """Whether the watches have been started."""
    unseen: str | None = None
    """Something that is listed and that the watch has not shown."""
    unseen_since: float | None = None
    lease: LeaseFacts | None = None
    """Nothing if the operator has no Lease, or does not stand for it yet."""
    work: str | None = None
    """The object that has been worked on for longest, and since when."""
    work_since: float | None = None
    unwatched: str = ""
    """Why the workers of queue groups could never be watched; nothing if they could."""
    ended: str | None = None
    """What has ended that should run for as long as the operator does."""
    stopping: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """Yes or no, and why."""

    holds: bool
    sentence: str


def readiness(facts: Facts, now: float) -> Verdict:
    """Tell whether the operator can do its work now."""
    obstacle = (
        _ending(facts)
        or _unlisted(facts, now)
        or _watch_behind(facts, now, WATCH_LAGS_SECONDS)
        or _without_lease(facts.lease, now)
        or facts.unwatched
    )
    if obstacle:
        return Verdict(holds=False, sentence=obstacle)
    return Verdict(
        holds=True, sentence=f"Ready: what the operator watches can be listed, and is watched.{_part(facts.lease)}"
    )


def liveness(facts: Facts, now: float) -> Verdict:
    """Tell whether there is hope for this process, or only for another."""
    last_sign = facts.started_at if facts.round_ended_at is None else facts.round_ended_at
    if facts.ended:
        return Verdict(holds=False, sentence=f"{facts.ended} has ended.")
    if now - last_sign > LISTING_IS_STUCK_SECONDS:
        sentence = (
            f"No list call has ended for {now - last_sign:.0f} s, though each has a deadline: the process is stuck."
        )
        return Verdict(holds=False, sentence=sentence)
    if facts.lease and now - facts.lease.looked_at > LISTING_IS_STUCK_SECONDS:
        sentence = (
            f"The Lease was last asked for {now - facts.lease.looked_at:.0f} s ago,"
            " though each request has a deadline: the process is stuck."
        )
        return Verdict(holds=False, sentence=sentence)
    if facts.work_since is not None and now - facts.work_since > WORK_IS_STUCK_SECONDS:
        sentence = f"{facts.work} has been worked on for {now - facts.work_since:.0f} s, though no step takes so long."
        return Verdict(holds=False, sentence=sentence)
    behind = _watch_behind(facts, now, WATCH_IS_STUCK_SECONDS)
    if behind and not facts.failure:
        return Verdict(holds=False, sentence=behind)
    return Verdict(holds=True, sentence="Alive.")


def _ending(facts: Facts) -> str | None:
    if facts.ended:
        return f"{facts.ended} has ended."
    return "The operator is stopping." if facts.stopping else None


def _unlisted(facts: Facts, now: float) -> str | None:
    if facts.failure:
        return facts.failure
    if facts.listed_at is None:
        return "What the operator watches has not been listed yet."
    age = now - facts.listed_at
    if age > LISTING_IS_FRESH_SECONDS:
        return f"What the operator watches was last listed {age:.0f} s ago."
    return None if facts.watching else "What the operator watches can be listed; the watches are being started."


def _watch_behind(facts: Facts, now: float, allowed_seconds: float) -> str | None:
    if facts.unseen_since is None:
        return None
    age = now - facts.unseen_since
    if age <= allowed_seconds:
        return None
    return f"{facts.unseen} has been listed for {age:.0f} s, but the watch has not shown it: is watching allowed?"


def _without_lease(lease: LeaseFacts | None, now: float) -> str | None:
    if lease is None or lease.failing_since is None or now - lease.failing_since < LEASE_FAILS_SECONDS:
        return None
    return f"It cannot be told which replica leads: {lease.failure}"


def _part(lease: LeaseFacts | None) -> str:
    if lease is None:
        return ""
    return " It leads." if lease.leads else f" It stands by: {lease.holder or 'nobody'} leads."
