"""What the status of a QueueGroup keeps of messages that its consumer never processed."""

from typing import Annotated

from pydantic import StringConstraints

from penstock_operator.resources.conditions import Count, Told
from penstock_operator.resources.part import Part


class MessageLoss(Part):
    """Messages that the consumer did not get, or got too often, and the position up to which they were counted.

    The counts go on after a restart of the operator. They begin again at zero with another stream or consumer.
    """

    expired: Count
    """At least so many messages left the stream before they were delivered: by its limits, a TTL, a purge or a
    deletion."""
    first_expired_sequence: Count | None = None
    """No expired message has a lower sequence."""
    last_expired_sequence: Count | None = None
    """No expired message has a higher sequence."""
    limits: Annotated[str, StringConstraints(max_length=1024)]
    """The limits of the stream that remove messages."""
    given_up: Count
    """At least so many messages were delivered as often as the consumer's maxDeliver allows, and not acknowledged."""
    max_deliver: Count | None = None
    """The consumer's maxDeliver."""
    incarnation: Told
    """When the stream and the consumer were created."""
    server: Told
    """The id of the server that was asked."""
    takes_all: bool
    """Whether each message of the stream is for the consumer."""
    delivered_sequence: Count
    """The position: the stream sequence up to which messages were delivered or skipped."""
    deliveries: Count
    """How many deliveries there were up to the position."""
    pending: Count
    """How many messages were not delivered yet then."""
    last_sequence: Count | None = None
    """With a filter: the stream's last sequence shortly after."""
    skipped: Count
    """Of the expired messages, those before the position."""
    known_gaps: Count
    """Sequences after the first position that were no messages when counting began."""
