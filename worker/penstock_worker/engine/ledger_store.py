"""The ledger's entries in a key-value bucket: one for all queue groups of an account, a key for each open batch.

Knows the bucket and its keys. What an entry is stands in policy.ledger; when one is written is the machine's matter.
"""

import asyncio
import logging
from dataclasses import dataclass

from penstock_jetstream import Bucket, JetStream
from penstock_jetstream.core.keyvalue import Entry as KeyValueEntry
from penstock_jetstream.core.tokens import as_token
from penstock_jetstream.errors import JetStreamError
from penstock_jetstream.errors.keyvalue import RevisionConflictError
from penstock_worker.policy.ledger import Entry, LedgerEntryError, decode, encode, is_former

BUCKET = "penstock-ledger"
MARK_SECONDS = 1.0
"""How long the mark of a deleted entry stays, the shortest that a server takes: marks are read with each reading."""
WRITE_ATTEMPTS = 3
"""So often another worker may write an entry between our reading it and our writing it."""
DECODED_AT_ONCE_BYTES = 64 << 10
"""In about 20 ms; then the event loop does other things."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class LedgerStore:
    """The entries of one consumer, for all its workers. The bucket is the operator's: it is opened, never created."""

    jetstream: JetStream
    stream: str
    consumer: str
    incarnation: str
    """That of stream and consumer: entries about others of the same names say nothing."""
    _bucket: Bucket | None = None

    async def entries(self) -> tuple[Entry, ...]:
        """Return all that is open, as far as it can be read. Entries that no worker will ever use are removed."""
        bucket = await self._open()
        found = []
        decoded_bytes = 0
        for held in await bucket.entries(f"{self._prefix}.>"):
            if (entry := self._entry(held.key, held.value)) is not None:
                found.append(entry)
            elif is_former(held.value, incarnation=self.incarnation):
                await self._remove(bucket, held)
            decoded_bytes += len(held.value)
            if decoded_bytes >= DECODED_AT_ONCE_BYTES:
                decoded_bytes = 0
                await asyncio.sleep(0)
        return tuple(found)

    async def write(self, entry: Entry) -> bool:
        """Write an entry unless it may not replace what is there; tell whether it is written.

        That takes one request for a key that is new, as almost all are.
        """
        bucket, key, value = await self._open(), self._key(entry.batch_id), encode(entry, incarnation=self.incarnation)
        revision = 0
        for attempt in range(1, WRITE_ATTEMPTS + 1):
            try:
                await (bucket.put(key, value) if entry.committed else bucket.update(key, value, revision))
            except RevisionConflictError as problem:
                held = await bucket.get(key)
                former = self._entry(key, held.value) if held is not None else None
                if former is not None and not entry.may_replace(former):
                    return False
                if attempt == WRITE_ATTEMPTS:
                    raise
                revision = held.revision if held is not None else problem.actual
            else:
                break
        return True

    async def delete(self, batch_id: str) -> None:
        """Remove an entry. Its mark goes away by itself: marks that stay would be read with each reading."""
        await (await self._open()).purge(self._key(batch_id), ttl_seconds=MARK_SECONDS)

    async def _remove(self, bucket: Bucket, former: KeyValueEntry) -> None:
        """Remove it unless it was written again meanwhile."""
        try:
            await bucket.purge(former.key, revision=former.revision, ttl_seconds=MARK_SECONDS)
        except JetStreamError as problem:
            logger.warning("The ledger's entry %s of a former consumer stays for now: %s", former.key, problem)

    async def _open(self) -> Bucket:
        if self._bucket is None:
            self._bucket = await self.jetstream.key_value.open(BUCKET)
        return self._bucket

    @property
    def _prefix(self) -> str:
        return f"{as_token(self.stream)}.{as_token(self.consumer)}"

    def _key(self, batch_id: str) -> str:
        return f"{self._prefix}.{batch_id.removeprefix(f'{self.stream}.{self.consumer}.')}"

    def _entry(self, key: str, value: bytes) -> Entry | None:
        batch_id = f"{self.stream}.{self.consumer}.{key.removeprefix(f'{self._prefix}.')}"
        try:
            return decode(batch_id, value, incarnation=self.incarnation)
        except LedgerEntryError as problem:
            logger.warning("%s", problem)
            return None
