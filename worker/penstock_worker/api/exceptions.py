"""What a user's function may raise to say how its run ends, and what the sinks of `Batch` may. Any other exception is
judged by what it is.

Knows the words. Does not know what follows them: that is the engine's business.
"""


class Reject(Exception):  # noqa: N818 - it is a decision, not an error
    """Something in this batch cannot be processed, by anybody, ever: bad data.

    The batch is halved and run again until the messages to blame are found; they go to the dead letters with this
    reason. Where the code knows the messages, `batch.reject` costs nothing of that.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Retry(Exception):  # noqa: N818 - it is a decision, not an error
    """What the batch needs is not there at present: run it again, after so many seconds if they are given."""

    def __init__(self, reason: str = "asked for by the code", *, after_seconds: float | None = None) -> None:
        if after_seconds is not None and not after_seconds >= 0:
            raise ValueError(f"A batch cannot be tried again after {after_seconds} seconds: give 0 or more.")
        super().__init__(reason)
        self.reason = reason
        self.after_seconds = after_seconds


class BatchCutError(RuntimeError):
    """Another worker has cut this batch, and the sink has a part of it or is reserved for one."""

    def __init__(self, target: str) -> None:
        super().__init__(f"Another worker has cut this batch, and has written a part of it to {target}.")
