"""Who goes first when there are to be fewer workers, and when: nobody is taken away who holds messages.

    retire ─→ holds nothing ─→ marked (deletion cost) ─→ fewer replicas

Which pods go when replicas fall is the ReplicaSet controller's choice: those first that are on no node, then those that
are pending, not ready, cheap by their mark. Of all else that it weighs (what is on the same node, who is older) nothing
is assumed. So replicas fall only as far as whoever may go next, by that order, holds nothing. Until the controller has
deleted those pods their marks stay: it reads them when it chooses, which may be after the next look. Pure; no clock.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock_operator.plan.fleet.pods import WorkerPod

RETIRING = "retiring"
"""What a worker says that it holds itself for, once it was told to retire."""
FIRST_TO_GO = -(2**31)
"""The deletion cost of one that is to go: no pod can have a lower one."""
PHASES = {"Pending": 0, "Unknown": 1}

Statuses = Mapping[str, Mapping[str, Any]]
"""What workers said of themselves last, by name; who did not answer is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """What is to be done, in this order."""

    recall: tuple[str, ...] = ()
    """Who is to pull again."""
    unmark: tuple[str, ...] = ()
    """Who is to lose a mark of ours."""
    retire: tuple[str, ...] = ()
    """Who is to pull no more."""
    mark: tuple[str, ...] = ()
    """Who is to go before all others, FIRST_TO_GO: it holds nothing, or its time is up."""
    replicas: int | None = None
    """To which number the Deployment is to be set; None: to none other than it has."""


@dataclass(frozen=True, slots=True)
class _Member:
    pod: WorkerPod
    status: Mapping[str, Any] | None
    is_late: bool

    @property
    def name(self) -> str:
        return self.pod.name

    @property
    def is_retiring(self) -> bool:
        return RETIRING in (self.status or {}).get("holds", ())

    @property
    def is_marked(self) -> bool:
        return self.pod.deletion_cost == FIRST_TO_GO

    @property
    def is_busy(self) -> bool:
        """Whether it holds messages, or may: one that does not answer may hold any."""
        if self.status is None:
            return self.pod.has_engine
        return bool(self.status.get("heldMessages") or self.status.get("batches"))

    @property
    def may_go(self) -> bool:
        """Whether it can be taken away now: it holds nothing and never will again, or its time is up."""
        return self.is_late or (not self.is_busy and (self.is_retiring or not self.pod.has_engine))

    @property
    def place_in_line(self) -> tuple[bool, int, bool]:
        """The first three things by which the controller chooses who goes; less goes first."""
        return bool(self.pod.node), PHASES.get(self.pod.phase, 2), self.pod.is_ready


def shrink(
    asked: int,
    wanted: int,
    pods: Sequence[WorkerPod],
    statuses: Statuses,
    *,
    revision: str | None = None,
    late: Collection[str] = (),
) -> Moves:
    """Decide what to do now so that there are as many workers as are wanted; asked again at the next look.

    `asked` is how many pods the Deployment has been told to have. With the newest `revision`, it can be told whether
    workers of another give way to it: until they have, there are only more, or none. `late` are those whose time is up
    since they were told to retire.
    """
    members = [_Member(pod, statuses.get(pod.name), pod.name in late) for pod in pods if pod.is_there]
    is_rolling = revision is not None and any(member.pod.revision != revision for member in members)
    if not wanted:
        return Moves(replicas=0 if asked else None)  # whoever is there finishes what it holds while it ends
    if is_rolling or (wanted >= asked and not _has_surplus(asked, members)):
        return _spare(members, replicas=wanted if wanted > asked else None)
    if wanted > asked:
        return Moves(replicas=wanted)
    return _fewer(asked, wanted, members)


def _has_surplus(asked: int, members: Sequence[_Member]) -> bool:
    """Tell whether the controller is about to delete some of these."""
    return len(members) > asked


def _spare(members: Sequence[_Member], replicas: int | None = None) -> Moves:
    """Have all of these stay."""
    return Moves(
        recall=tuple(member.name for member in members if member.is_retiring),
        unmark=tuple(member.name for member in members if member.is_marked),
        replicas=replicas,
    )


def _fewer(asked: int, wanted: int, members: Sequence[_Member]) -> Moves:
    line = sorted(members, key=_first_to_retire)
    excess = max(0, len(line) - wanted)
    victims, staying = line[:excess], line[excess:]
    spared = Moves() if _has_surplus(asked, members) else _spare(staying)
    replicas = max(wanted, len(line) - _sure_to_go(line))
    return Moves(
        recall=spared.recall,
        unmark=spared.unmark,
        retire=tuple(each.name for each in victims if each.pod.has_engine and not each.is_retiring),
        mark=tuple(each.name for each in victims if each.may_go and not each.is_marked),
        replicas=replicas if replicas < asked else None,
    )


def _first_to_retire(member: _Member) -> tuple[object, ...]:
    """Order by whom it costs least to lose, but never against the controller's own order, which would win."""
    youngest_first = tuple(-ord(letter) for letter in member.pod.created)
    is_to_go = member.is_retiring or member.is_marked
    return *member.place_in_line, not is_to_go, member.is_busy, youngest_first, member.name


def _sure_to_go(members: Sequence[_Member]) -> int:
    """Return how many may go at once so that surely only those go that are marked and may."""

    def key(member: _Member) -> tuple[object, ...]:
        return *member.place_in_line, member.pod.deletion_cost

    kept = [key(member) for member in members if not (member.may_go and member.is_marked)]
    going = [key(member) for member in members if member.may_go and member.is_marked]
    return len(going) if not kept else sum(each < min(kept) for each in going)
