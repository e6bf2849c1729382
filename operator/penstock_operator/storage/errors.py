"""What can go wrong between services and a home, whichever home it is. Each text is a sentence for people."""

from collections.abc import Sequence


class HomeError(Exception):
    """The home could not be asked, or would not do it; it may later. The text is a sentence."""


class ObjectChangedError(HomeError):
    """The object is not what it was when it was read: newer, or gone. What it is now is on its way."""


class NoAnswerError(HomeError):
    """The home said nothing, in time or at all."""


class RefusedError(HomeError):
    """The home said no, with a code, and perhaps with what is wrong with the object that it was given."""

    def __init__(self, code: int, sentence: str, causes: Sequence[str] = ()) -> None:
        super().__init__(sentence)
        self.code = code
        self.causes = causes
