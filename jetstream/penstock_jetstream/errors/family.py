"""The families of errors. Each error is one sentence of what, where and why, and one of what to do."""


class JetStreamError(Exception):
    """The base of all errors of this library."""

    def __init__(self, sentence: str, *, advice: str = "") -> None:
        super().__init__(f"{sentence} {advice}" if advice else sentence)
        self.sentence = sentence
        self.advice = advice


class UsageError(JetStreamError, ValueError):
    """The caller asked for what cannot be; nothing was sent."""


class ProtocolError(JetStreamError):
    """The other side sent what is not NATS, or not JetStream."""


class LinkError(JetStreamError, ConnectionError):
    """The link to the servers is not there, or was lost."""


class AuthenticationError(LinkError):
    """The server refused us, or what we would identify ourselves with cannot be had."""


class ClosedError(LinkError):
    """The connection was closed by its owner; nothing more can be done with it."""


class BufferFullError(LinkError):
    """What waits to be sent has reached its bound; nothing was added to it."""


class RequestTimeoutError(JetStreamError, TimeoutError):
    """No answer came in time; whether the request was carried out is not known."""


class NoRespondersError(JetStreamError):
    """Nobody listens on the subject that was asked: such as no JetStream, or no such stream."""
