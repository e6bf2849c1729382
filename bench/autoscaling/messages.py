"""Messages by the lot: what came at one time and is alike is one thing, so that millions cost no more than lots.

Knows how lots are put in a row and cut. Does not know who holds them.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lot:
    """Messages that came at one time."""

    came_at: float
    count: int
    is_bad: bool = False
    """Whether nobody can process them."""


Lots = tuple[Lot, ...]


NEVER = float("inf")


def oldest(lots: Iterable[Lot]) -> float:
    return min((lot.came_at for lot in lots), default=NEVER)


def total(lots: Iterable[Lot]) -> int:
    return sum(lot.count for lot in lots)


class Row:
    """Lots one behind the other: what is put in last comes out last."""

    def __init__(self) -> None:
        self._lots: deque[Lot] = deque()
        self.count = 0

    @property
    def lots(self) -> Lots:
        return tuple(self._lots)

    @property
    def oldest(self) -> float:
        """Return when the first of them came; infinity if there are none."""
        return oldest(self._lots)

    @property
    def front(self) -> float:
        """Return the same of lots that were put in as they came."""
        return self._lots[0].came_at if self._lots else NEVER

    def put(self, lots: Iterable[Lot]) -> None:
        for lot in lots:
            self._lots.append(lot)
            self.count += lot.count

    def take(self, most: int) -> Lots:
        """Take so many from the front, or as many as there are."""
        taken: list[Lot] = []
        while self._lots and most > 0:
            lot = self._lots[0]
            if lot.count <= most:
                self._lots.popleft()
            else:
                self._lots[0] = Lot(lot.came_at, lot.count - most, lot.is_bad)
                lot = Lot(lot.came_at, most, lot.is_bad)
            taken.append(lot)
            most -= lot.count
            self.count -= lot.count
        return tuple(taken)
