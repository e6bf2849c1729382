"""What can go wrong while a subscription finds its consumer, and what a subscription tells of its stream of messages.

Knows the sentence and the advice of each. Does not know the checks (core/subscribing.py) or who is told.
"""

from collections.abc import Sequence

from penstock_jetstream.errors.family import JetStreamError


class SubscriptionError(JetStreamError):
    """A subscription cannot be had on this stream or consumer, or not as was asked."""

    def __init__(self, sentence: str, *, stream: str = "", consumer: str = "", advice: str = "") -> None:
        super().__init__(sentence, advice=advice)
        self.stream = stream
        self.consumer = consumer


class NoMatchingStreamError(SubscriptionError):
    """No stream has the subject, or several do (a filter with wildcards can match many), so that none can be chosen."""

    def __init__(self, subject: str, streams: Sequence[str]) -> None:
        found = f"{len(streams)} streams have: {', '.join(streams)}" if streams else "no stream has"
        super().__init__(
            f"Which stream is meant by the subject {subject} is not known, as exactly one must have it, and {found}.",
            advice="Name the stream: stream=…",
        )
        self.subject = subject
        self.streams = tuple(streams)


class ConsumerMismatchError(SubscriptionError):
    """The consumer exists, and is not what this subscription wants. Nothing was changed."""


class DuplicateSubscriptionError(ConsumerMismatchError):
    """Somebody is subscribed to the consumer, which hands its messages to one subscriber only."""


class GapError(SubscriptionError):
    """The consumer's sequence did not go on by one: messages were lost on the way to us, or the consumer was reset.

    What was lost and is not acknowledged comes again. It is told, and never ends a subscription.
    """

    def __init__(self, *, stream: str, consumer: str, expected: int, got: int) -> None:
        lost = f"{got - expected} deliveries were lost on the way" if got > expected else "it was reset, or made anew"
        super().__init__(
            f"The next delivery of consumer {consumer} of stream {stream} should have been number {expected}, and is "
            f"number {got}: {lost}.",
            stream=stream,
            consumer=consumer,
            advice="What was not acknowledged will be delivered again.",
        )
        self.expected = expected
        self.got = got


class StreamRestartedError(SubscriptionError):
    """The stream is not the one that it was: it was made anew, or has lost its last messages.

    An ordered consumer goes on with what was stored after the last message that it handed over.
    """

    def __init__(self, stream: str, *, is_other: bool) -> None:
        what = "was deleted and made anew" if is_other else "has lost its last messages, and counts them anew"
        super().__init__(
            f"Stream {stream} {what}; reading goes on after the last message that was handed over.",
            stream=stream,
            advice="" if is_other else "With file storage, and replicas, a stream outlives a restart of its server.",
        )
        self.is_other = is_other
