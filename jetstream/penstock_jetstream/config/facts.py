"""What is known about the surroundings of a configuration, when it is judged.

Knows nothing by itself: all is optional, and what is not known is not judged.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known; None is not known."""

    api_level: int | None = None
    """The API level of the servers (`api.level` of the account's info)."""
    clustered: bool | None = None
    """Whether there is more than one server for JetStream."""
    exists: bool | None = None
    """Whether the object is there already: some settings cannot be created, some cannot be updated."""
    stream: Mapping[str, object] | None = None
    """For a consumer: the configuration of its stream, as the server has it."""
    max_ack_pending: int | None = None
    """The lowest limit that server and account set."""
    max_batch: int | None = None
    """The limit that the server sets to the batch of a pull."""
    duplicate_window: int | None = None
    """The limit that the server sets, in nanoseconds."""
    max_bytes_required: bool | None = None
    """Whether the account wants every stream bounded."""


NO_FACTS = Facts()
