"""What keeps a worker from working, for programs: beside it there is always a sentence for people."""

from enum import StrEnum


class Trouble(StrEnum):
    """What somebody would have to look at."""

    NONE = ""
    CODE = "code"
    SPARK = "spark"
    STARTING = "starting"
    """The driver is on its way, or on its way back."""
    NATS = "nats"
    STREAMS = "streams"
    """The ledger or the stream of dead letters is missing, or would lose what is stored in it."""
