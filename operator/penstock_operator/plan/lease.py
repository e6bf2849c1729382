"""Who of several replicas acts: the one that holds the Lease, decided as each of them sees it.

Pure: what was read and written, and the time, come in. Knows that clocks of two machines agree on nothing but roughly
how long a second is: so nobody compares times that another wrote. A holder's time runs, by its own clock, from before
it sent the write that renewed its Lease; another's patience runs, by the other's clock, from after it saw that write.
The first is shorter than the second by a third: for writes under way when it ends, and for clocks that drift. Does not
know how a Lease is kept (storage.lease), nor when it is looked at (services.election).
"""

from dataclasses import dataclass, replace
from typing import Self

DURATION_SECONDS = 15.0
"""As long as in Kubernetes' own components: time enough for an API server that starts anew."""
ACTS_SHARE = 2 / 3
RENEWS_SHARE = 2 / 15
ASKS_SHARE = 1 / 5
LOOKS_SECONDS = 0.5
"""How often who stands by looks at the Lease: this soon it notices one that was released."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What all replicas agree on: a Lease's duration, and what follows from it."""

    duration_seconds: float = DURATION_SECONDS

    @property
    def acts_seconds(self) -> float:
        """Return how long its holder acts, if it cannot renew it."""
        return self.duration_seconds * ACTS_SHARE

    @property
    def renews_every_seconds(self) -> float:
        return self.duration_seconds * RENEWS_SHARE

    @property
    def looks_every_seconds(self) -> float:
        return min(LOOKS_SECONDS, self.renews_every_seconds)

    @property
    def asks_seconds(self) -> float:
        """Return how long a request may take: so that one without an answer is not the last of a holder's time."""
        return self.duration_seconds * ASKS_SHARE


@dataclass(frozen=True, slots=True)
class Record:
    """A Lease, as it was read or written."""

    version: str
    """Another one at each write. What is written names the version that it replaces."""
    holder: str
    """Empty if nobody holds it."""
    duration_seconds: float
    transitions: int = 0
    acquired_at: str = ""
    """For people: nothing is decided by a time that another clock told."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What is to be written: to hold the Lease, or (without a holder) to release it."""

    replaces: str
    """The version that it replaces; empty to create it."""
    holder: str
    duration_seconds: float
    transitions: int
    acquired_at: str = ""
    """Kept by a renewal; empty when the Lease changes hands just now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One replica, and what it knows of the Lease. Each method returns what it knows after something happened."""

    identity: str
    """Another one for each life of a process: one that starts anew does not take itself for its predecessor."""
    terms: Terms = Terms()
    seen: Record | None = None
    """The last one that was seen; it may be gone since."""
    seen_at: float = 0
    """When this version of it was first seen."""
    exists: bool = False
    is_fresh: bool = False
    """Whether it is what was read or written last, so that a write need not be preceded by a look."""
    acts_until: float | None = None

    def holds(self, now: float) -> bool:
        """Tell whether this one may act: the question before each write, to whichever server."""
        return self.acts_until is not None and now < self.acts_until

    def saw(self, record: Record | None, now: float) -> Self:
        """Take note of what was read; `now` is after the answer came."""
        if record is None:
            return replace(self, exists=False, is_fresh=True, acts_until=None)
        is_new = self.seen is None or self.seen.version != record.version
        return replace(
            self,
            seen=record,
            seen_at=now if is_new else self.seen_at,
            exists=True,
            is_fresh=True,
            acts_until=self.acts_until if record.holder == self.identity else None,
        )

    def claim(self, now: float) -> Claim | None:
        """Return what to write now; nothing while another holds the Lease."""
        seen, replaces = self.seen, self.seen.version if self.seen and self.exists else ""
        if seen is None:
            return Claim(replaces, self.identity, self.terms.duration_seconds, 0)
        if seen.holder == self.identity:
            return Claim(replaces, self.identity, self.terms.duration_seconds, seen.transitions, seen.acquired_at)
        if seen.holder and now < self.seen_at + seen.duration_seconds:  # also of one that somebody deleted
            return None
        return Claim(replaces, self.identity, self.terms.duration_seconds, seen.transitions + 1)

    def wrote(self, record: Record, sent_at: float) -> Self:
        """Take note of a claim that was accepted; `sent_at` is before it was sent."""
        return replace(
            self,
            seen=record,
            seen_at=sent_at,
            exists=True,
            is_fresh=True,
            acts_until=sent_at + self.terms.acts_seconds,
        )

    def failed(self) -> Self:
        """Take note of a request that was refused, or had no answer: what is true now is to be read."""
        return replace(self, is_fresh=False)

    def gave_up(self) -> Self:
        """Act no more, though the Lease may be held still."""
        return replace(self, acts_until=None, is_fresh=False)

    def release(self) -> Claim | None:
        """Return what to write so that another need not wait; nothing if there is nothing to release."""
        if self.seen is None or not self.exists or self.seen.holder != self.identity:
            return None
        return Claim(self.seen.version, "", self.terms.duration_seconds, self.seen.transitions)

    def pause_seconds(self, now: float) -> float:
        """Return how long to wait before the next look or renewal."""
        if self.holds(now):
            return self.terms.renews_every_seconds if self.is_fresh else self.terms.looks_every_seconds
        if self.seen is None or not self.seen.holder:
            return self.terms.looks_every_seconds
        patience = self.seen_at + self.seen.duration_seconds - now
        return min(self.terms.looks_every_seconds, patience) if patience > 0 else self.terms.looks_every_seconds
