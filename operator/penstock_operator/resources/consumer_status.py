"""What is said of a Consumer: conditions, and what the server has of it.

Knows the names of the live facts, which whoever asks the server fills in. Does not know how they are found out.
"""

from typing import Annotated

from pydantic import Field

from penstock_operator.resources.conditions import Count, SyncedStatus, Told
from penstock_operator.resources.scalars import Time


class ConsumerStatus(SyncedStatus):
    """What the operator found."""

    stream_name: Told | None = None
    """The stream's name on the server."""
    consumer_name: Told | None = None
    """The consumer's name on the server."""
    pending: Count | None = None
    """Messages that were not delivered yet: the lag."""
    ack_pending: Count | None = None
    """Messages that were delivered and are not acknowledged. At maxAckPending nothing new is delivered."""
    redelivered: Count | None = None
    """Those of them that were delivered more than once."""
    waiting: Count | None = None
    """Pull requests that wait for messages."""
    delivered_sequence: Count | None = None
    """The stream sequence up to which messages were delivered."""
    ack_floor_sequence: Count | None = None
    """The stream sequence up to which all is acknowledged."""
    last_delivery_time: Time | None = None
    """When a message was delivered last."""
    last_ack_time: Time | None = None
    """When the acknowledged part grew last."""
    push_bound: bool | None = None
    """Whether somebody is subscribed to a push consumer."""
    paused: bool | None = None
    """Whether nothing is delivered, on purpose."""
    paused_until: Time | None = None
    """Until when."""
    leader: Told | None = None
    """The server that leads."""
    replicas: Annotated[int | None, Field(ge=0)] = None
    """Servers that keep the consumer's position, the leader included."""
    current_replicas: Annotated[int | None, Field(ge=0)] = None
    """Those of them that are up to date."""
    created_at: Time | None = None
    """When the consumer was made on the server."""
