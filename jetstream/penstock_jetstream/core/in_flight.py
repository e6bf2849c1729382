"""What has been asked for and has not come yet.

Knows the sum exactly, and each open request as well as it can be known. A message does not say which request it
answers, and a server with several requests serves them in turn; so messages are booked on the oldest request, and each
status, which does say what it answers and how much of that was left, puts it right. Amounts are messages or bytes,
whichever of the two limits the buffer. Does not know what is buffered, nor when to ask.

A request that was *written off* (its link was lost, its heartbeats missed, its time ran out) is expected to bring
nothing more. If messages of it come all the same they are booked on the requests that are open: the sum then says what
those may still bring at least.
"""

from dataclasses import dataclass

STRAGGLERS_SECONDS = 1.0
"""A cluster may send a status before the request's last messages (they wait for a quorum): so long they may come."""


@dataclass(slots=True)
class Open:
    """One request that may still bring something."""

    asked: int
    left: int
    sent_at: float
    deadline: float


class InFlight:
    """The open requests. `amount` is what they may still bring, never negative."""

    __slots__ = ("_open", "_written_off", "amount")

    def __init__(self) -> None:
        self.amount = 0
        self._open: dict[int, Open] = {}
        """By number, oldest first."""
        self._written_off = 0
        """Numbers up to this one are."""

    def __len__(self) -> int:
        return len(self._open)

    @property
    def next_deadline(self) -> float | None:
        return min((request.deadline for request in self._open.values()), default=None)

    def add(self, number: int, amount: int, *, now: float, deadline: float) -> None:
        self._open[number] = Open(amount, amount, now, deadline)
        self.amount += amount

    @property
    def oldest(self) -> int:
        return next(iter(self._open), 0)

    def find(self, number: int) -> Open | None:
        return self._open.get(number)

    def is_written_off(self, number: int) -> bool:
        return 0 < number <= self._written_off

    def arrived(self, amount: int) -> None:
        """Book on the oldest. One message or thousands cost the same, as long as no request is completed."""
        self.amount = max(0, self.amount - amount)
        completed = 0
        for request in self._open.values():
            if request.left > amount:
                request.left -= amount
                break
            amount -= request.left
            completed += 1
        for number in list(self._open)[:completed] if completed else ():
            del self._open[number]

    def close(self, number: int, left: int | None, now: float) -> None:
        """Book a status that ended a request with so much of it left; None: with all of it that we know of."""
        if number in self._open:
            request = self._open[number]
            self._settle(number, request, request.left if left is None else left, now)
        elif not self.is_written_off(number):
            # It was complete in our books only: what it had left, another has less.
            self._take(left or 0)

    def _settle(self, number: int, request: Open, left: int, now: float) -> None:
        stragglers = request.left - left
        self.amount -= request.left
        del self._open[number]
        if stragglers < 0:
            self._take(-stragglers)
        elif stragglers and self._open:
            next(iter(self._open.values())).left += stragglers
            self.amount += stragglers
        elif stragglers:
            self.add(number, stragglers, now=now, deadline=min(request.deadline, now + STRAGGLERS_SECONDS))

    def _take(self, amount: int) -> None:
        self.arrived(amount)

    def write_off(self, up_to: int) -> None:
        """Expect nothing more of this request and of those before it."""
        self._written_off = max(self._written_off, up_to)
        for number in [number for number in self._open if number <= up_to]:
            self.amount -= self._open.pop(number).left

    def overdue(self, now: float) -> int:
        """Return the newest request whose time is over without a word; 0 if there is none."""
        return max((number for number, request in self._open.items() if request.deadline <= now), default=0)

    def postpone(self, seconds: float) -> None:
        for request in self._open.values():
            request.deadline += seconds
