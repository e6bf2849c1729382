"""One key-value bucket: entries written, read, compared and removed.

Knows which messages that takes, and what a refused expectation means. Does not know how messages are published or got.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal, Unpack

from penstock_jetstream.client.watching import View, Watch
from penstock_jetstream.core.bucket_status import BucketStatus
from penstock_jetstream.core.keyvalue import (
    DELETE_HEADERS,
    PURGE_HEADERS,
    Entry,
    WatchOptions,
    checked_filter,
    checked_key,
    entry_of,
    ordered_options,
)
from penstock_jetstream.core.publishing import PublishOptions
from penstock_jetstream.core.stored_message import StoredMessage
from penstock_jetstream.errors import ApiError, ErrorCode, MissingError, RequestTimeoutError
from penstock_jetstream.errors.keyvalue import RevisionConflictError

if TYPE_CHECKING:
    from penstock_jetstream.client.jetstream import JetStream

_WRONG_LAST_SEQUENCE = frozenset({ErrorCode.STREAM_WRONG_LAST_SEQUENCE, ErrorCode.STREAM_WRONG_LAST_SEQUENCE_UNNAMED})
_MARKS_KEPT_SECONDS = 1800
"""Watchers that were away for so long still learn of a removal."""
_CREATE_ATTEMPTS = 3
"""So often a mark may be replaced by another one while we try to put a value in its place."""
_READ_AT_ONCE = 32
_READ_ATTEMPTS = 5
_READ_AGAIN_SECONDS = 0.2
"""So often, and so far apart, a replica is asked again for a key that the leader has and the replica has not yet."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a bucket's entries are read, and where they are written: for a mirror these are two."""

    stream: str
    read_prefix: str
    write_prefix: str
    is_direct: bool
    """Any replica answers, and not only the leader."""


class Bucket:
    """A map of keys to bytes, shared by all who open it. A key's every write has a revision, higher than all before."""

    def __init__(self, jetstream: "JetStream", name: str, place: Place) -> None:
        self.name = name
        self._jetstream = jetstream
        self._place = place

    async def get(self, key: str, *, revision: int = 0, from_leader: bool = False) -> Entry | None:
        """Return what a key has, or had at a revision; None where it has nothing.

        Any replica may answer, and may not know yet what was written a moment ago; the leader does.
        """
        entry = await self._entry(key, revision=revision, from_leader=from_leader)
        return entry if entry is not None and entry.is_value else None

    async def put(self, key: str, value: bytes, *, ttl_seconds: float | Literal["never"] | None = None) -> int:
        """Write a value, whatever was there, and return its revision. With a TTL it goes away by itself."""
        return await self._write(key, value, _options(ttl_seconds=ttl_seconds))

    async def create(self, key: str, value: bytes, *, ttl_seconds: float | Literal["never"] | None = None) -> int:
        """Write a value where there is none: not yet, or not any more. RevisionConflictError where there is one."""
        expected = 0
        for attempt in range(1, _CREATE_ATTEMPTS + 1):
            options = _options(revision=expected, ttl_seconds=ttl_seconds)
            try:
                return await self._write(key, value, options)
            except ApiError as refusal:
                if refusal.err_code not in _WRONG_LAST_SEQUENCE:
                    raise
                last = await self._entry(key, from_leader=True)
                if attempt == _CREATE_ATTEMPTS or (last is not None and last.is_value):
                    raise self._conflict(refusal, key, 0, last) from refusal
                expected = last.revision if last is not None else 0
        raise AssertionError  # the loop has an end of its own

    async def update(
        self, key: str, value: bytes, revision: int, *, ttl_seconds: float | Literal["never"] | None = None
    ) -> int:
        """Write a value only if the key still has a revision (0: it never had any), and return the new one."""
        return await self._compare_and_write(key, value, revision, _options(revision=revision, ttl_seconds=ttl_seconds))

    async def delete(self, key: str, *, revision: int | None = None) -> None:
        """Mark a key as deleted; its history stays. With a revision: only if it still has that."""
        options = _options(revision=revision, headers=DELETE_HEADERS)
        await self._compare_and_write(key, b"", revision, options)

    async def purge(
        self, key: str, *, revision: int | None = None, ttl_seconds: float | Literal["never"] | None = None
    ) -> None:
        """Remove a key with its history; a mark stays, or with a TTL goes away after it."""
        options = _options(revision=revision, ttl_seconds=ttl_seconds, headers=PURGE_HEADERS)
        await self._compare_and_write(key, b"", revision, options)

    def watch(self, *keys: str, **options: Unpack[WatchOptions]) -> Watch:
        """Return a watch of all keys, or of those given, where * and > are as in subjects. `async with` begins it."""
        prefix = self._place.read_prefix
        subjects = [prefix + checked_filter(each) for each in keys or (">",)]
        view = View(
            bucket=self.name,
            prefix=prefix,
            includes_history=options.get("include_history", False),
            includes_marks=not options.get("ignore_deletes", False),
            begins_now=options.get("updates_only", False),
            first_revision=options.get("from_revision", 1),
        )
        ordering = self._jetstream.ordered(self._place.stream, filter_subjects=subjects, **ordered_options(options))

        async def last_revision() -> int:
            return max([await self._last_sequence(subject) for subject in subjects])

        return Watch(view, ordering, last_revision)

    async def keys(self, *keys: str) -> list[str]:
        """Return all keys that have a value, or those of them that match."""
        async with self.watch(*keys, ignore_deletes=True, headers_only=True) as watch:
            return [entry.key for entry in await watch.initial()]

    async def entries(self, keys: str = ">") -> list[Entry]:
        """Return the value of each key that matches, without a consumer.

        The leader names the keys. Their values may come from any replica, as `get` has them; one that does not have a
        key yet is asked again. Permissions can limit this to some keys: see docs/permissions.md.
        """
        pattern = self._place.read_prefix + checked_filter(keys)
        found: dict[str, Entry | None] = {}
        missing: list[str] = []
        for attempt in range(_READ_ATTEMPTS):
            await asyncio.sleep(_READ_AGAIN_SECONDS if attempt else 0)
            info = await self._jetstream.streams.info(self._place.stream, subjects=pattern)
            there = [subject.removeprefix(self._place.read_prefix) for subject in info.state.subjects or {}]
            found |= await self._read([key for key in there if found.get(key) is None])
            entries = [entry for key in there if (entry := found[key]) is not None]
            if len(entries) == len(there):
                return [entry for entry in entries if entry.is_value]
            missing = [key for key in there if found[key] is None]
        raise RequestTimeoutError(
            f"A replica of bucket {self.name} lacks {len(missing)} keys that its leader has: {missing[0]} for one.",
            advice="Try again; if it stays so, look at the replicas of the bucket's stream.",
        )

    async def _read(self, keys: list[str]) -> dict[str, Entry | None]:
        gate = asyncio.Semaphore(_READ_AT_ONCE)

        async def read(key: str) -> Entry | None:
            async with gate:
                return await self._entry(key, from_leader=False)

        return dict(zip(keys, await asyncio.gather(*map(read, keys)), strict=True))

    async def history(self, key: str) -> list[Entry]:
        """Return all that is kept of a key, the oldest first."""
        async with self.watch(checked_key(key), include_history=True) as watch:
            return await watch.initial()

    async def purge_deletes(self, *, older_than_seconds: float = _MARKS_KEPT_SECONDS) -> int:
        """Remove the history of keys that were removed, and old marks with it; return how many keys that were."""
        async with self.watch(headers_only=True) as watch:
            marks = [entry for entry in await watch.initial() if not entry.is_value]
        now = datetime.now(UTC)
        for mark in marks:
            is_old = now - mark.created >= timedelta(seconds=older_than_seconds)
            subject = self._place.read_prefix + mark.key
            await self._jetstream.streams.purge(self._place.stream, subject=subject, keep=0 if is_old else 1)
        return len(marks)

    async def status(self) -> BucketStatus:
        return BucketStatus.of(self.name, await self._jetstream.streams.info(self._place.stream))

    async def _compare_and_write(self, key: str, value: bytes, revision: int | None, options: PublishOptions) -> int:
        try:
            return await self._write(key, value, options)
        except ApiError as refusal:
            if revision is None or refusal.err_code not in _WRONG_LAST_SEQUENCE:
                raise
            last = await self._entry(key, from_leader=False)  # as `get` may
            raise self._conflict(refusal, key, revision, last) from refusal

    async def _write(self, key: str, value: bytes, options: PublishOptions) -> int:
        subject = self._place.write_prefix + checked_key(key)
        return (await self._jetstream.publish(subject, value, **options)).sequence

    async def _entry(self, key: str, *, revision: int = 0, from_leader: bool) -> Entry | None:
        subject = self._place.read_prefix + checked_key(key)
        try:
            message = await self._message("" if revision else subject, revision, from_leader=from_leader)
        except MissingError as problem:
            if problem.err_code != ErrorCode.NO_MESSAGE_FOUND:
                raise
            return None
        return entry_of(self.name, self._place.read_prefix, message) if message.subject == subject else None

    async def _message(self, subject: str, sequence: int, *, from_leader: bool) -> StoredMessage:
        """Get a message by its subject or its sequence."""
        stream = self._place.stream
        if self._place.is_direct and not from_leader:
            return await self._jetstream.direct.get(stream, sequence=sequence, last_by_subject=subject)
        return await self._jetstream.streams.get_message(stream, sequence=sequence, last_by_subject=subject)

    async def _last_sequence(self, subject: str) -> int:
        """Return the sequence of the last message that matches; 0 where none does."""
        try:
            return (await self._message(subject, 0, from_leader=True)).sequence
        except MissingError as problem:
            if problem.err_code != ErrorCode.NO_MESSAGE_FOUND:
                raise
            return 0

    def _conflict(self, refusal: ApiError, key: str, expected: int, last: Entry | None) -> RevisionConflictError:
        actual = last.revision if last is not None else 0
        return RevisionConflictError(refusal, bucket=self.name, key=key, expected=expected, actual=actual)


def _options(
    *,
    revision: int | None = None,
    ttl_seconds: float | Literal["never"] | None = None,
    headers: Mapping[str, str] | None = None,
) -> PublishOptions:
    options = PublishOptions()
    if revision is not None:
        options["expected_last_subject_sequence"] = revision
    if ttl_seconds is not None:
        options["ttl_seconds"] = ttl_seconds
    if headers is not None:
        options["headers"] = headers
    return options
