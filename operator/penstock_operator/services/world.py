"""The world as the reconciler knows it: what is declared, who depends on whom, and who declares which place.

Knows identities and how they hang together. Does not know what any of it means (plan does), nor where it comes from
(handlers feed it). Everything here is memory, and as large as what is declared: it asks nobody.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.surroundings import Place

K = TypeVar("K")


class World:
    """Used from one event loop, as everything here."""

    def __init__(self) -> None:
        self._objects: dict[Identity, Declared] = {}
        self._needs: dict[Identity, frozenset[Identity]] = {}
        self._needed_by: defaultdict[Identity, set[Identity]] = defaultdict(set)
        self._places: dict[Identity, Place] = {}
        self._claims: defaultdict[Place, set[Identity]] = defaultdict(set)

    @property
    def objects(self) -> Mapping[Identity, Declared]:
        return self._objects

    def show(self, declared: Declared) -> None:
        """Keep what the home shows of an object now."""
        self._objects[declared.identity] = declared

    def forget(self, identity: Identity) -> set[Identity]:
        """Take out what the home shows no more, and return the others whom that concerns: those that claim its place.

        Who depends on it still does.
        """
        self._objects.pop(identity, None)
        self.need(identity, ())
        return self.claim(identity, None)

    def need(self, identity: Identity, needs: Iterable[Identity]) -> None:
        """Note all that an object depends on, whether it is there or not."""
        after = frozenset(needs)
        before = self._needs.pop(identity, frozenset())
        if after:
            self._needs[identity] = after
        for needed in before - after:
            _discard(self._needed_by, needed, identity)
        for needed in after - before:
            self._needed_by[needed].add(identity)

    def dependents(self, identity: Identity) -> set[Identity]:
        """Return all that depends on it, at first and at second hand."""
        found: set[Identity] = set()
        fringe = [identity]
        while fringe:
            new = self._needed_by.get(fringe.pop(), set()) - found
            found |= new
            fringe.extend(new)
        return found

    def claim(self, identity: Identity, place: Place | None) -> set[Identity]:
        """Note which place an object declares, and return the others whom the change concerns."""
        before = self._places.get(identity)
        if before == place:
            return set()
        concerned: set[Identity] = set()
        if before is not None:
            del self._places[identity]
            _discard(self._claims, before, identity)
            concerned |= self._claims.get(before, set())
        if place is not None:
            concerned |= self._claims[place]
            self._places[identity] = place
            self._claims[place].add(identity)
        return concerned

    def place(self, identity: Identity) -> Place | None:
        return self._places.get(identity)

    def claimants(self, place: Place) -> Iterator[Declared]:
        """Yield all that declare this place."""
        for identity in self._claims.get(place, ()):
            yield self._objects[identity]

    def places(self, account: str) -> Iterator[tuple[Place, Identity]]:
        """Yield the places of an account that anybody declares, and who does."""
        for identity, place in self._places.items():
            if place.account == account:
                yield place, identity


def _discard(index: dict[K, set[Identity]], key: K, identity: Identity) -> None:
    """Take an entry out of an index, and the key with its last entry."""
    index[key].discard(identity)
    if not index[key]:
        del index[key]
