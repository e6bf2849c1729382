"""A JetStream consumer with explicit acks: what is pending, what is out with somebody, what comes again and when.

Counts as the server counts. What was given out stays ack pending until it is acked, however often it is given out
again; so does what was naked with a delay, or is with a worker that is gone. What comes again goes before what is
new, and is not held back by max_ack_pending. Knows pullers by how much they take. Does not know workers.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from bench.autoscaling.clock import Clock
from bench.autoscaling.messages import Lot, Lots, Row, oldest, total


class Puller(Protocol):
    """Whoever has asked for messages."""

    @property
    def room(self) -> int: ...

    def take(self, lots: Lots) -> None: ...


@dataclass(slots=True)
class Consumer:
    """Of one stream."""

    clock: Clock
    max_ack_pending: int = -1
    settled: Callable[[Lots], None] = lambda _: None
    """Called with what got its final answer."""
    pullers: list[Puller] = field(default_factory=list)
    is_without_leader: bool = False
    """Nothing is given out then."""
    ack_pending: int = 0
    delivered: int = 0
    """How many deliveries there were, ever."""
    redelivered: int = 0
    arrived: int = 0
    answered: int = 0
    _new: Row = field(default_factory=Row)
    _again: Row = field(default_factory=Row)
    """To be given out again, now."""
    _later: dict[int, Lots] = field(default_factory=dict)
    """To be given out again, later."""
    _laters: int = 0

    @property
    def pending(self) -> int:
        return self._new.count

    @property
    def left(self) -> Lots:
        """Return what is with nobody."""
        return self._new.lots + self._again.lots + tuple(lot for lots in self._later.values() for lot in lots)

    @property
    def oldest(self) -> float:
        """Return when the first of those came that are with nobody."""
        return min(self._new.front, self._again.oldest, *map(oldest, self._later.values()))

    def arrive(self, lots: Iterable[Lot]) -> None:
        lots = tuple(lots)
        self.arrived += total(lots)
        self._new.put(lots)
        self.hand_out()

    def answer(self, lots: Lots) -> None:
        """Ack them, or terminate them: they are done."""
        self.ack_pending -= total(lots)
        self.answered += total(lots)
        self.settled(lots)
        self.hand_out()

    def give_back(self, lots: Lots, delay: float = 0.0) -> None:
        """Nak them, or let their ack wait pass."""
        if not lots:
            return
        if delay <= 0:
            self._again.put(lots)
            self.clock.after(0, self.hand_out)
            return
        self._laters += 1
        number = self._laters
        self._later[number] = lots
        self.clock.after(delay, lambda: self._come_again(number))

    def _come_again(self, number: int) -> None:
        self._again.put(self._later.pop(number))
        self.hand_out()

    def hand_out(self) -> None:
        """Give what there is to those who asked for it, the same to each as far as they have room."""
        if self.is_without_leader:
            return
        while self._available():
            asking = [puller for puller in self.pullers if puller.room > 0]
            if not asking:
                return
            share = -(-self._available() // len(asking))
            for puller in asking:
                if lots := self._take(min(share, puller.room, self._available())):
                    self.pullers.remove(puller)
                    self.pullers.append(puller)
                    puller.take(lots)

    def _available(self) -> int:
        fresh = self._new.count
        if self.max_ack_pending >= 0:
            fresh = max(0, min(fresh, self.max_ack_pending - self.ack_pending))
        return self._again.count + fresh

    def _take(self, most: int) -> Lots:
        again = self._again.take(most)
        self.redelivered += total(again)
        fresh = self._new.take(most - total(again))
        self.ack_pending += total(fresh)
        self.delivered += total(again) + total(fresh)
        return again + fresh
