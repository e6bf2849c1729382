"""Which message of a stream is meant.

Knows the ways to name one message. Does not know who is asked for it: the leader or, by a direct get, any replica.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock_jetstream.errors import UsageError


@dataclass(frozen=True, slots=True)
class Selection:
    """One message: by its sequence, the last on a subject, or the first on a subject from a sequence on."""

    sequence: int = 0
    last_by_subject: str = ""
    next_by_subject: str = ""
    """May have wildcards, as may last_by_subject."""

    def __post_init__(self) -> None:
        if self.sequence < 0:
            raise UsageError(f"A message of sequence {self.sequence} was asked for.", advice="The first has 1.")
        if self.last_by_subject and (self.next_by_subject or self.sequence):
            raise UsageError(
                "The last message on a subject was asked for, and also another one.", advice="Ask for one of them."
            )
        if not (self.sequence or self.last_by_subject or self.next_by_subject):
            raise UsageError("No message was asked for.", advice="Give sequence, last_by_subject or next_by_subject.")

    @property
    def body(self) -> Mapping[str, Any]:
        """Return what the server is asked."""
        asked = {
            "seq": self.sequence,
            "last_by_subj": self.last_by_subject,
            "next_by_subj": self.next_by_subject,
        }
        return {name: value for name, value in asked.items() if value}

    @property
    def words(self) -> str:
        """Return the message as an error would call it."""
        if self.last_by_subject:
            return f"the last message on {self.last_by_subject}"
        if self.next_by_subject:
            return f"a message on {self.next_by_subject} from sequence {self.sequence or 1} on"
        return f"message {self.sequence}"
