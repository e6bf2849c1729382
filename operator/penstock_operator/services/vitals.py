"""The operator's vital signs, gathered as it runs, and handed out as facts.

Knows what has been listed and what the watches have shown. Does not judge (plan.health does). The clock comes in.
"""

from collections.abc import Callable
from dataclasses import replace

from penstock_operator.plan.health import Facts
from penstock_operator.storage.listing import Listed

Clock = Callable[[], float]


class Vitals:
    """Everybody who does something vital notes it here."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._facts = Facts(started_at=clock())
        self._shown: dict[str, str] = {}
        self._unseen: Listed | None = None

    @property
    def facts(self) -> Facts:
        return self._facts

    def listed(self, first: Listed | None) -> None:
        """Note that a round of list calls ended well, and the first object that it found."""
        now = self._clock()
        self._facts = replace(self._facts, round_ended_at=now, listed_at=now, failure=None)
        if first is None or not self._facts.watching or self._shown.get(first.uid) == first.resource_version:
            self._all_seen()
        elif self._unseen is None or self._unseen.resource_version != first.resource_version:
            self._unseen = first
            self._facts = replace(self._facts, unseen=first.name, unseen_since=now)

    def not_listed(self, why: str) -> None:
        """Note that a round of list calls ended badly."""
        self._facts = replace(self._facts, round_ended_at=self._clock(), failure=why)

    def watching(self) -> None:
        self._facts = replace(self._facts, watching=True)

    def shown(self, uid: str, resource_version: str) -> None:
        """Note that a watch has shown an object, and in which version."""
        self._shown[uid] = resource_version
        if self._unseen and (self._unseen.uid, self._unseen.resource_version) == (uid, resource_version):
            self._all_seen()

    def gone(self, uid: str) -> None:
        """Note that a watch has shown an object's end."""
        self._shown.pop(uid, None)

    def ended(self, what: str) -> None:
        self._facts = replace(self._facts, ended=what)

    def stopping(self) -> None:
        self._facts = replace(self._facts, stopping=True)

    def _all_seen(self) -> None:
        self._unseen = None
        self._facts = replace(self._facts, unseen=None, unseen_since=None)
