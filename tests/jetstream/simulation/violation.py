"""What a check says when something that must hold does not."""


class Violation(AssertionError):  # noqa: N818 - it is what was violated
    """Something that must hold did not."""
