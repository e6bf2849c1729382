"""What a server says of an account: what it uses of JetStream and may use, and which API it can be asked in.

Knows account info. Does not know which feature needs which API level.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from penstock_jetstream.core.facts import Facts


@dataclass(frozen=True, slots=True)
class AccountInfo:
    """Use and limits of an account; a limit of -1 is none."""

    memory_bytes: int
    storage_bytes: int
    streams: int
    consumers: int
    max_memory_bytes: int
    max_storage_bytes: int
    max_streams: int
    max_consumers: int
    requires_max_bytes: bool
    """Streams must be created with max_bytes."""
    domain: str | None
    api_level: int
    """0 before server 2.11, then 1; 2 and 3 with 2.12, 4 with 2.14, 5 with 2.15 (X-08)."""
    raw: Mapping[str, Any] = field(repr=False)

    @classmethod
    def read(cls, facts: Facts) -> Self:
        limits = facts.object("limits")
        return cls(
            memory_bytes=facts.number("memory"),
            storage_bytes=facts.number("storage"),
            streams=facts.number("streams"),
            consumers=facts.number("consumers"),
            max_memory_bytes=limits.number("max_memory", -1),
            max_storage_bytes=limits.number("max_storage", -1),
            max_streams=limits.number("max_streams", -1),
            max_consumers=limits.number("max_consumers", -1),
            requires_max_bytes=limits.flag("max_bytes_required"),
            domain=facts.text("domain", "") or None,
            api_level=facts.object("api").number("level", 0),
            raw=facts.raw,
        )
