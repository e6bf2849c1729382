"""Key-value buckets: made, opened, listed, deleted. What is in one is another matter (bucket.py).

Knows that a bucket is a stream. Buckets are shared with all other NATS clients, which agree on how (ADR-8). Object
stores are not offered: large values belong into an object store proper.
"""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Unpack

from penstock_jetstream.client.bucket import Bucket, Place
from penstock_jetstream.core.facts import Facts
from penstock_jetstream.core.keyvalue import BucketOptions, bucket_of, stream_config, stream_of, subject_prefix
from penstock_jetstream.core.requests import DEFAULT_PREFIX
from penstock_jetstream.core.stream_info import StreamInfo
from penstock_jetstream.errors import UsageError

if TYPE_CHECKING:
    from penstock_jetstream.client.jetstream import JetStream


class KeyValue:
    """The buckets of an account."""

    def __init__(self, jetstream: "JetStream") -> None:
        self._jetstream = jetstream

    async def create(self, bucket: str, **options: Unpack[BucketOptions]) -> Bucket:
        """Make a bucket, or open one that is there and equal; one that differs is a ConflictError."""
        return self._bucket(bucket, await self._jetstream.streams.create(stream_config(bucket, options)))

    async def create_or_update(self, bucket: str, **options: Unpack[BucketOptions]) -> Bucket:
        """Make a bucket what these options say, whether it is there or not."""
        return self._bucket(bucket, await self._jetstream.streams.create_or_update(stream_config(bucket, options)))

    async def open(self, bucket: str) -> Bucket:
        """Open a bucket that is there; MissingError if it is not."""
        return self._bucket(bucket, await self._jetstream.streams.info(stream_of(bucket)))

    async def delete(self, bucket: str) -> None:
        """Delete a bucket with all that is in it."""
        await self._jetstream.streams.delete(stream_of(bucket))

    async def names(self) -> AsyncIterator[str]:
        """Go through the names of all buckets."""
        async for stream in self._jetstream.streams.names(subject="$KV.*.>"):
            bucket = bucket_of(stream)
            if bucket is not None:
                yield bucket

    def _bucket(self, name: str, info: StreamInfo) -> Bucket:
        config = Facts(info.config, f"config of stream {info.name}")
        if config.number("max_msgs_per_subject", -1) < 1:
            raise UsageError(
                f"Stream {info.name} has the name of a bucket, and is none: it has no max_msgs_per_subject.",
                advice="Set that, or give the bucket another name.",
            )
        return Bucket(self._jetstream, name, self._place(name, config))

    def _place(self, bucket: str, config: Facts) -> Place:
        """Find where to read and write. A mirror of a bucket has the subjects of its origin, and is written there."""
        prefix = self._jetstream.api.prefix
        api_prefix = "" if prefix == DEFAULT_PREFIX else f"{prefix}."
        read_prefix = subject_prefix(bucket)
        if (mirror := config.optional("mirror")) is not None:
            read_prefix = subject_prefix(bucket_of(mirror.text("name")) or bucket)
            external = mirror.optional("external")
            if external is not None and "api" in external:
                api_prefix = f"{external.text('api')}."
        is_direct = config.flag("allow_direct") or config.flag("mirror_direct")
        return Place(stream_of(bucket), read_prefix, api_prefix + read_prefix, is_direct)
