"""Files of a batch: written beside their place, and put there in one step once the function has returned.

Knows where files are staged, and that a place that is taken is taken by an earlier attempt at this very batch: then its
files stay, and ours are dropped. So two attempts that overlap leave one result. A batch that was cut from others takes
their places, too, with a mark: a worker that still runs one of them can no longer publish it. Each attempt records the
messages that it rejected in a file next to its output. stores.py knows which stores can publish in one step, and how.
Does not know what the files hold.
"""

from __future__ import annotations

import posixpath
import re
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock_worker.api.exceptions import BatchCutError
from penstock_worker.api.stores import address_of, store_of
from penstock_worker.policy.rejected import as_text, from_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from penstock_worker.api.stores import Store

STAGING, REJECTED, CUT = "_penstock", "_penstock_rejected", "_penstock_cut"
"""Spark, Hive and others read neither folders nor files whose names begin so."""


@dataclass(frozen=True, slots=True)
class Staged:
    """One folder of one batch."""

    store: Store
    folder: str
    """Of this attempt alone."""
    places: tuple[str, ...]
    """Where readers find it, and where they find the batches that it was cut from."""

    @property
    def place(self) -> str:
        return self.places[0]

    @property
    def sign(self) -> str:
        """A folder that is there until another attempt has published: that one removes what is staged, ours included.

        What is written after that is a part of the batch only, and must not get the name, should that be free again.
        """
        return f"{self.folder}.begun"


class StagedFiles:
    """All folders that one run of a batch writes."""

    def __init__(self, spark: SparkSession, batch_ids: Sequence[str]) -> None:
        """Of the batch with the first id; the others are of batches that it was cut from."""
        self._spark = spark
        self._names = tuple("batch=" + as_partition(each) for each in batch_ids)
        self._attempt = uuid.uuid4().hex
        self._staged: dict[str, Staged] = {}

    def folder(self, base: str) -> str:
        """Return where to write what is to be published under the base; the same folder for the same base."""
        base = address_of(base)
        if base not in self._staged:
            store = store_of(base, self._spark)
            folder = posixpath.join(base, STAGING, self._names[0], self._attempt)
            self._staged[base] = staged = Staged(store, folder, self._places(base))
            store.make(staged.sign)
        return self._staged[base].folder

    def published(self, base: str) -> dict[int, str] | None:
        """Return what was rejected by the attempt at this batch, or at one that it was cut from, that has published.

        None if none has.
        """
        base = address_of(base)
        return _rejected_in(store_of(base, self._spark), self._places(base))

    def _places(self, base: str) -> tuple[str, ...]:
        return tuple(posixpath.join(base, name) for name in self._names)

    def publish(self, rejected: Mapping[int, str]) -> list[dict[int, str] | None]:
        """Put everything in its place, and remove what is staged of this batch by anybody: it is published.

        Return for each folder what the attempt rejected whose files stay, or None if they are this one's.
        """
        earlier = [_publish(staged, rejected) for staged in self._staged.values()]
        self._staged.clear()
        return earlier

    def drop(self) -> None:
        """Remove what this run staged."""
        for staged in self._staged.values():
            staged.store.remove(staged.folder)
            staged.store.remove(staged.sign)
        self._staged.clear()


def _publish(staged: Staged, rejected: Mapping[int, str]) -> dict[int, str] | None:
    store, ancestors, is_ours = staged.store, staged.places[1:], False
    is_old = any(_is_published(store, place) for place in ancestors)
    if not is_old and store.exists(staged.sign) and all(_is_refused(staged, place) for place in ancestors):
        if rejected:
            store.write(posixpath.join(staged.folder, REJECTED), as_text(rejected).encode())
        is_ours = store.move(staged.folder, staged.place)
    earlier = None if is_ours else _rejected_in(store, staged.places)
    store.remove(posixpath.dirname(staged.folder))
    if not is_ours and earlier is None and store.exists(staged.place):
        raise BatchCutError(posixpath.dirname(staged.place))
    return earlier


def _is_refused(staged: Staged, place: str) -> bool:
    """Have the place of an ancestor taken by a mark; False if its files have come to be there."""
    mark = f"{staged.folder}.cut"
    staged.store.make(mark)
    staged.store.write(posixpath.join(mark, CUT), staged.place.encode())
    is_marked = staged.store.move(mark, place)
    staged.store.remove(mark)
    return is_marked or not _is_published(staged.store, place)


def _is_published(store: Store, place: str) -> bool:
    return store.exists(place) and not store.exists(posixpath.join(place, CUT))


def _rejected_in(store: Store, places: Sequence[str]) -> dict[int, str] | None:
    """Return what the attempt rejected that published, or None if its files are in none of these places."""
    place = next((each for each in places if _is_published(store, each)), None)
    if place is None:
        return None
    text = store.read(posixpath.join(place, REJECTED))
    return {} if text is None else from_text(text.decode())


def as_partition(value: str) -> str:
    """Return a value as it stands in the name of a partition's folder, by Hive's rule, so that readers see it whole."""
    return re.sub(r"""[\x00-\x1f"#%'*/:=?\\{\[\]^\x7f]""", lambda found: f"%{ord(found[0]):02X}", value)
