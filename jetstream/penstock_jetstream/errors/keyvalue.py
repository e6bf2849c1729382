"""What goes wrong with buckets beyond what goes wrong with their streams.

Knows how to say which revision a key has. Does not know how that was found out.
"""

from penstock_jetstream.errors.api import ApiError, ConflictError


class RevisionConflictError(ConflictError):
    """A key was to be written only if it had a certain revision, and it has another."""

    def __init__(self, refusal: ApiError, *, bucket: str, key: str, expected: int, actual: int) -> None:
        wanted = f"revision {expected}" if expected else "no value"
        found = f"revision {actual}" if actual else "none"
        super().__init__(
            operation="written",
            object=f"key {key} of bucket {bucket}",
            code=refusal.code,
            err_code=refusal.err_code,
            description=f"{wanted} was expected, and the last one is {found}",
        )
        self.bucket = bucket
        self.key = key
        self.expected = expected
        """0: no value at all."""
        self.actual = actual
        """As `get` found it when the write had been refused; 0 where nothing is left of the key."""
