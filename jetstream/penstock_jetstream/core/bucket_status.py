"""What a bucket is at one moment, read from the info of its stream.

Knows which facts of a stream are which of a bucket. Does not know how they are had.
"""

from dataclasses import dataclass, field
from typing import Self

from penstock_jetstream.core.facts import Facts
from penstock_jetstream.core.stream_info import StreamInfo
from penstock_jetstream.core.times import NANOSECONDS_PER_SECOND


@dataclass(frozen=True, slots=True)
class BucketStatus:
    """How a bucket was made, and how full it is."""

    bucket: str
    values: int
    """Stored entries: earlier revisions and marks count, too."""
    size_bytes: int
    history: int
    ttl_seconds: float
    """How long values are kept; 0 is for ever."""
    limit_marker_ttl_seconds: float
    storage: str
    replicas: int
    is_compressed: bool
    has_ttl_per_key: bool
    info: StreamInfo = field(repr=False)

    @classmethod
    def of(cls, bucket: str, info: StreamInfo) -> Self:
        config = Facts(info.config, f"config of bucket {bucket}")
        return cls(
            bucket=bucket,
            values=info.state.messages,
            size_bytes=info.state.size_bytes,
            history=config.number("max_msgs_per_subject", 1),
            ttl_seconds=config.number("max_age", 0) / NANOSECONDS_PER_SECOND,
            limit_marker_ttl_seconds=config.number("subject_delete_marker_ttl", 0) / NANOSECONDS_PER_SECOND,
            storage=config.text("storage", "file"),
            replicas=config.number("num_replicas", 1),
            is_compressed=config.text("compression", "none") != "none",
            has_ttl_per_key=config.flag("allow_msg_ttl"),
            info=info,
        )
