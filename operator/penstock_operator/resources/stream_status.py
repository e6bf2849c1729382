"""What is said of a Stream: conditions, and what the server has of it.

Knows the names of the live facts, which whoever asks the server fills in. Does not know how they are found out.
"""

from typing import Annotated

from pydantic import Field

from penstock_operator.resources.conditions import Count, SyncedStatus, Told
from penstock_operator.resources.scalars import Time


class StreamStatus(SyncedStatus):
    """What the operator found."""

    stream_name: Told | None = None
    """The stream's name on the server."""
    messages: Count | None = None
    """Messages that are stored."""
    bytes: Count | None = None
    """Bytes that they take, with what the server keeps beside them."""
    first_sequence: Count | None = None
    """The sequence of the oldest message; one above lastSequence if there is none."""
    last_sequence: Count | None = None
    """The sequence of the newest message that was ever stored."""
    first_message_time: Time | None = None
    """When the oldest message was stored."""
    last_message_time: Time | None = None
    """When the newest message was stored."""
    subjects_count: Count | None = None
    """How many different subjects the messages have."""
    deleted_messages: Count | None = None
    """Messages between the oldest and the newest that are gone."""
    consumers: Count | None = None
    """Consumers of the stream, those that servers made included."""
    leader: Told | None = None
    """The server that leads."""
    cluster: Told | None = None
    """The cluster that the stream is in."""
    replicas: Annotated[int | None, Field(ge=0)] = None
    """Servers that hold the stream, the leader included."""
    current_replicas: Annotated[int | None, Field(ge=0)] = None
    """Those of them that are up to date."""
    mirror_lag: Count | None = None
    """Of a mirror: messages that it has not copied yet."""
    created_at: Time | None = None
    """When the stream was made on the server."""
