"""What is wrong with a list that came.

Knows what to say of it. Does not know what is listed, or who asked.
"""

from collections.abc import Mapping

from penstock_jetstream.errors.family import JetStreamError


class IncompleteListError(JetStreamError):
    """All that could be listed was; this names the rest."""

    def __init__(self, listed: str, unavailable: Mapping[str, str]) -> None:
        named = "; ".join(f"{name}: {reason}" for name, reason in sorted(unavailable.items()))
        super().__init__(
            f"{listed[:1].upper()}{listed[1:]} could not all be listed ({named}).",
            advice="Ask again when those have a leader; what was listed before this error is right.",
        )
        self.unavailable = dict(unavailable)
        """The names that are missing, with the reasons."""
