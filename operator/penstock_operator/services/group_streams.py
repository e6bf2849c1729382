"""Keeps the streams that the operator creates for one queue group, in a cluster and in `penstock up`."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

from penstock_operator.plan.decision import Create, Failure, Note
from penstock_operator.plan.group_places import GroupPlace
from penstock_operator.plan.group_streams import GroupStream, group_streams
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Missing, Place, Present, Waiting
from penstock_operator.services.links import Link

DELETED_SECONDS = 1.0
"""A stream that was there is created again only after this time: a server may still be deleting its files."""

Write = Callable[[], AbstractAsyncContextManager[None]]
"""In which each write has to happen."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What came of one look."""

    notes: tuple[Note, ...] = ()
    trouble: Waiting | None = None
    """A stream is missing and cannot be created."""
    is_over: bool = True
    """Whether all are there, as far as is known; else another look is due in DELETED_SECONDS."""


@dataclass(slots=True)
class GroupStreams:
    """Remembers which were there, from one look to the next."""

    _seen: set[str] = field(default_factory=set)
    _gone_since: dict[str, float] = field(default_factory=dict)

    async def keep(self, link: Link, place: GroupPlace, now: float, write: Write) -> Kept:
        """Look at each, and create what is missing."""
        kept = [await self._keep(link, place, wanted, now, write) for wanted in group_streams(place)]
        return Kept(
            notes=tuple(note for each in kept for note in each.notes),
            trouble=next((each.trouble for each in kept if each.trouble), None),
            is_over=all(each.is_over for each in kept),
        )

    async def _keep(self, link: Link, place: GroupPlace, wanted: GroupStream, now: float, write: Write) -> Kept:
        observed = await link.observe(Place(link.account, wanted.name))
        if isinstance(observed, Present):
            self._seen.add(wanted.name)
            self._gone_since.pop(wanted.name, None)
        if not isinstance(observed, Missing):
            return Kept()
        was_there = wanted.name in self._seen
        if was_there and now - self._gone_since.setdefault(wanted.name, now) < DELETED_SECONDS:
            return Kept(is_over=False)
        source = await link.observe(Place(link.account, place.stream))
        if not isinstance(source, Present):
            return Kept(is_over=False)
        [config] = [
            each.config
            for each in group_streams(place, int(source.config.get("num_replicas", 1)))
            if each.name == wanted.name
        ]
        async with write():
            outcome = await link.carry_out(Place(link.account, wanted.name), Create(config))
        if isinstance(outcome, Failure):
            sentence = f"Stream {wanted.name} {wanted.purpose} is missing and cannot be created: {outcome.message}"
            unheard = outcome.reason is Reason.UNREACHABLE
            return Kept(trouble=None if unheard else Waiting(outcome.reason, sentence), is_over=False)
        return Kept((_created(wanted, was_there=was_there),))


def _created(stream: GroupStream, *, was_there: bool) -> Note:
    what = f"Stream {stream.name} {stream.purpose}"
    if was_there:
        return Note(Reason.RECREATED, f"{what} was deleted, and was created again, empty.", is_warning=True)
    return Note(Reason.CREATED, f"{what} was created.")
