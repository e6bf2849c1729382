"""What has been asked for and has not come yet.

Knows the sum exactly, and each open request as well as it can be known. A message does not say which request it
answers; but a server serves them in turn, so messages are booked in turn too, and each status, which does say what it
answers and how much of that was left, puts it right. Amounts are messages or bytes,
whichever of the two limits the buffer. Does not know what is buffered, nor when to ask.

A request that was *written off* (its link was lost, its heartbeats missed) is expected to bring nothing more. Should it
live all the same, what it brings must not be booked here: later requests would seem to have less left than they have,
more would be asked for, and the error would be handed on from request to request for as long as messages flow (the
simulator found that). So later requests have an inbox of their own, which tells one from the other.
"""

from dataclasses import dataclass

from penstock_jetstream.core.timing import STRAGGLERS_SECONDS

COMPLETE_MAX = 8
"""Of so many that are complete we remember what they had asked for."""


@dataclass(slots=True)
class Open:
    """One request that may still bring something."""

    asked: int
    left: int
    sent_at: float
    deadline: float
    ended: bool = False
    """It had its status; what is left are stragglers."""


class InFlight:
    """The open requests. `amount` is what they may still bring, never negative."""

    __slots__ = ("_complete", "_open", "amount", "written_off")

    def __init__(self) -> None:
        self.amount = 0
        self._open: dict[int, Open] = {}
        """By number, in the order of their turns."""
        self._complete: dict[int, Open] = {}
        """The last few that are complete, in our books: in truth one may have left what another has not."""
        self.written_off = 0
        """Numbers up to this one are."""

    def __len__(self) -> int:
        return len(self._open)

    @property
    def next_deadline(self) -> float | None:
        return min((request.deadline for request in self._open.values()), default=None)

    @property
    def last_deadline(self) -> float:
        return max((request.deadline for request in self._open.values()), default=0)

    def add(self, number: int, amount: int, *, now: float, deadline: float) -> None:
        self._open[number] = Open(amount, amount, now, deadline)
        self.amount += amount

    @property
    def oldest(self) -> int:
        return min(self._open, default=0)

    def find(self, number: int) -> Open | None:
        return self._open.get(number)

    def is_written_off(self, number: int) -> bool:
        return 0 < number <= self.written_off

    def arrived(self, messages: int, amount: int) -> None:
        """Book messages on whose turn it is; many at once are shared out evenly, as they will have been."""
        self.amount = max(0, self.amount - amount)
        while amount > 0 and self._open:
            if messages == 1 or len(self._open) == 1:
                amount -= self._book(next(iter(self._open)), amount)
                continue
            share = max(amount // len(self._open), amount // max(1, messages), 1)
            for number in list(self._open):
                amount -= self._book(number, min(share, amount))

    def _book(self, number: int, amount: int) -> int:
        """Book so much on one request, or as much as it has left; the next turn is the next one's."""
        request = self._open[number]
        booked = min(request.left, amount)
        request.left -= booked
        if not request.left:
            self._complete_one(number)
        elif len(self._open) > 1:
            del self._open[number]
            self._open[number] = request
        return booked

    def _complete_one(self, number: int) -> None:
        request = self._open.pop(number)
        if request.ended:
            return
        self._complete[number] = request
        if len(self._complete) > COMPLETE_MAX:
            del self._complete[next(iter(self._complete))]

    def close(self, number: int, left: int | None, now: float) -> None:
        """Book a status that ended a request with so much of it left; None: with all of it that we know of."""
        if number in self._open:
            request = self._open.pop(number)
            self.amount -= request.left
            if left is not None:
                self._correct(number, request.left - left, now)
        elif number > self.written_off:
            # It was complete in our books only: what it had left, another has less.
            self._complete.pop(number, None)
            self.arrived(1, left or 0)

    def _correct(self, number: int, unexplained: int, now: float) -> None:
        """Book what our books expected of a request beyond what it had left: others have it, or it is on its way."""
        if unexplained < 0:
            self.arrived(1, -unexplained)
        elif stragglers := self._hand_over(unexplained, now):
            self._open[number] = Open(stragglers, stragglers, now, now + STRAGGLERS_SECONDS, ended=True)
            self.amount += stragglers

    def _hand_over(self, amount: int, now: float) -> int:
        """Book it on others, as far as they asked for so much and may still bring it; return the rest."""
        for others in (self._open, self._complete):
            for number, request in list(others.items()):
                share = min(request.asked - request.left, amount) if request.deadline > now else 0
                if share > 0:
                    request.left += share
                    self.amount += share
                    amount -= share
                    self._open[number] = request
        for number in self._open:
            self._complete.pop(number, None)
        return amount

    def write_off(self, up_to: int) -> None:
        """Expect nothing more of this request and of those before it."""
        self.written_off = max(self.written_off, up_to)
        for number in [number for number in self._open if number <= up_to]:
            self.amount -= self._open.pop(number).left
        for number in [number for number in self._complete if number <= up_to]:
            del self._complete[number]

    def expire(self, now: float) -> bool:
        """Give up requests whose time is over without a word, and tell whether one must have been lost.

        What the books still have of one may be another's, if that was served more than the books say.
        """
        lost = False
        for number in [number for number, request in self._open.items() if request.deadline <= now]:
            request = self._open.pop(number)
            self.amount -= request.left
            lost |= self._hand_over(request.left, now) > 0 and not request.ended
        return lost

    def postpone(self, seconds: float) -> None:
        for request in self._open.values():
            request.deadline += seconds
