"""The records of an exchange as bytes, and back.

Knows that each is JSON, and that what one side does not know it leaves. Raises MalformedError for what is no such
record.
"""

from typing import TypeVar

from penstock_worker.policy.typed import read, written

T = TypeVar("T")


def encode(record: object) -> bytes:
    """Return a record of records.py, or an Outcome, as it goes over the socket."""
    return written(record)


def decode(kind: type[T], data: bytes) -> T:
    """Return the record that came over the socket."""
    return read(kind, data)
