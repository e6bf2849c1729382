"""What a machine of this ring asks its shell to do: carried out in order, none of them answered.

Knows nothing but their content. An action that turns out impossible (the link is gone) is dropped: the machine hears of
the loss by an event, and asks anew.
"""

from dataclasses import dataclass

from penstock_jetstream.errors import JetStreamError


@dataclass(frozen=True, slots=True)
class Pull:
    """Publish the body to the consumer's MSG.NEXT subject, with `reply_to(inbox, number)` as the reply."""

    number: int
    body: bytes


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Call `tick` at this time. It replaces the wish before it; one timer is enough."""

    time: float


@dataclass(frozen=True, slots=True)
class Report:
    """Tell the user; it goes on all the same."""

    error: JetStreamError


@dataclass(frozen=True, slots=True)
class Resubscribe:
    """Take a fresh inbox for the pulls that follow, and leave the former one after so many seconds: 0 is at once.

    Statuses that come on the former one are told as ever. Its messages are booked by `arrived_late`, not `arrived`.
    """

    former_seconds: float


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """Leave the subscription, still taking what comes until a flush has returned; then call `unsubscribed`."""


@dataclass(frozen=True, slots=True)
class UnsubscribeAfter:
    """Let the server end the subscription once it has sent so many messages on it (P-11)."""

    messages: int


@dataclass(frozen=True, slots=True)
class Verify:
    """Look whether the consumer still exists, and call `verified`."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """The group's messages go to this client now. All later requests on the consumer are to carry the id."""

    pin_id: str


@dataclass(frozen=True, slots=True)
class Unpinned:
    """The group's messages go to another client now."""


@dataclass(frozen=True, slots=True)
class End:
    """It is over: leave the subscription now. With an error the user must see it, after what is buffered."""

    error: JetStreamError | None = None


Action = Pull | WakeAt | Report | Resubscribe | Unsubscribe | UnsubscribeAfter | Verify | Pinned | Unpinned | End
