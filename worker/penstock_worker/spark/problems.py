"""What keeps Spark from starting, as a sentence for the person who can change it.

Knows whether waiting helps. Does not know what a driver does about it.
"""


class CannotStartError(RuntimeError):
    """There is no Spark to run anything on."""

    def __init__(self, sentence: str, *, is_permanent: bool = True) -> None:
        super().__init__(sentence)
        self.is_permanent = is_permanent
        """Whether it would fail again in the same way: a setting is wrong, say."""


class LostError(RuntimeError):
    """Spark was there, and is gone."""
