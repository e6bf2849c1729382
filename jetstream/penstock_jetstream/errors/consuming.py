"""What can end or trouble the consumption of a consumer's messages.

Knows the sentence and the advice of each. Does not know statuses (core has their table), or which of these end a
consumption and which are only reported.
"""

from penstock_jetstream.errors.family import JetStreamError, LinkError, RequestTimeoutError


class ConsumeError(JetStreamError):
    """Messages of a consumer cannot be had, or not as was asked."""

    def __init__(self, sentence: str, *, stream: str, consumer: str, advice: str = "") -> None:
        super().__init__(sentence, advice=advice)
        self.stream = stream
        self.consumer = consumer


class ConsumerDeletedError(ConsumeError):
    """The consumer was deleted while it was read. Nothing more will come."""

    def __init__(self, *, stream: str, consumer: str) -> None:
        super().__init__(
            f"Consumer {consumer} of stream {stream} was deleted while its messages were read.",
            stream=stream,
            consumer=consumer,
            advice="Create it again, then consume anew. Without durable_name the server drops one that is idle.",
        )


class PushBasedError(ConsumeError):
    """The consumer pushes its messages to a subject; it cannot be pulled from."""

    def __init__(self, *, stream: str, consumer: str) -> None:
        super().__init__(
            f"Consumer {consumer} of stream {stream} is push based, and cannot be pulled from.",
            stream=stream,
            consumer=consumer,
            advice="Subscribe to its deliver_subject, or make a consumer that has none.",
        )


class BadRequestError(ConsumeError):
    """The server finds that a pull request contradicts itself, or the consumer's configuration (400)."""

    def __init__(self, description: str, *, stream: str, consumer: str) -> None:
        super().__init__(
            f"Consumer {consumer} of stream {stream} refused a pull request as wrong: \u201c{description}\u201d.",
            stream=stream,
            consumer=consumer,
            advice="Compare the options of this call with the consumer: group, priority, min_pending, idle_heartbeat.",
        )
        self.description = description


class RequestRefusedError(ConsumeError):
    """A pull request is beyond a limit of the consumer (409 Exceeded …). Unchanged it will be refused again."""

    def __init__(self, description: str, *, stream: str, consumer: str) -> None:
        super().__init__(
            f"Consumer {consumer} of stream {stream} refused a pull request: \u201c{description}\u201d.",
            stream=stream,
            consumer=consumer,
            advice="Ask for less, or raise max_batch, max_bytes or max_expires of the consumer; "
            "max_waiting is set when it is created.",
        )
        self.description = description


class RequestLostError(ConsumeError):
    """The server dropped a pull request that it could not keep: its leader changed, or it shuts down (409)."""

    def __init__(self, description: str, *, stream: str, consumer: str) -> None:
        super().__init__(
            f"Consumer {consumer} of stream {stream} lost a pull request: \u201c{description}\u201d.",
            stream=stream,
            consumer=consumer,
            advice="Pull again: the consumer lives on with another leader, or when its server is back.",
        )
        self.description = description


class MessageTooLargeError(ConsumeError):
    """The next message is larger than all that a fresh request allows: no request of that size will ever get it."""

    def __init__(self, *, stream: str, consumer: str, max_bytes: int) -> None:
        super().__init__(
            f"The next message of consumer {consumer} of stream {stream} is larger than the {max_bytes} bytes that a "
            "whole pull request allows.",
            stream=stream,
            consumer=consumer,
            advice="Raise max_bytes above the largest message, with its subject, headers and ack subject.",
        )
        self.max_bytes = max_bytes


class NoLeaderOrMissingError(ConsumeError):
    """Nobody answers for the consumer (503): it or its stream does not exist, or has no leader at the moment."""

    def __init__(self, *, stream: str, consumer: str) -> None:
        super().__init__(
            f"Nobody answers for consumer {consumer} of stream {stream}: it does not exist, or has no leader now.",
            stream=stream,
            consumer=consumer,
            advice="If it should exist, look at its info: a leader comes by itself, a consumer must be created.",
        )


class RequiredLevelError(ConsumeError):
    """The request asked for a newer JetStream API than the server has (412)."""

    def __init__(self, *, stream: str, consumer: str) -> None:
        super().__init__(
            f"The server of consumer {consumer} of stream {stream} is too old for the API level that was required.",
            stream=stream,
            consumer=consumer,
            advice="Upgrade the server, or require a lower level.",
        )


class UnknownStatusError(ConsumeError):
    """The server sent a status that this library does not know."""

    def __init__(self, code: int | None, description: str, *, stream: str, consumer: str) -> None:
        super().__init__(
            f"Consumer {consumer} of stream {stream} sent a status that is not known: "
            f"{'none' if code is None else code} \u201c{description}\u201d.",
            stream=stream,
            consumer=consumer,
            advice="Is the server newer than this library?",
        )
        self.code = code
        self.description = description


class HeartbeatMissedError(ConsumeError):
    """Neither messages nor heartbeats came for several intervals. A request may be lost, or the link half-open."""

    def __init__(self, *, stream: str, consumer: str, silent_seconds: float) -> None:
        super().__init__(
            f"Nothing was heard from consumer {consumer} of stream {stream} for {silent_seconds:g} s, not even a "
            "heartbeat.",
            stream=stream,
            consumer=consumer,
            advice="Reading goes on by itself. If this repeats, look at the link, at max_waiting if it is pulled from, "
            "and whether the consumer still exists.",
        )
        self.silent_seconds = silent_seconds


class PinTimeoutError(ConsumeError):
    """A pin can time out while one request of its holder lasts."""

    def __init__(self, *, stream: str, consumer: str, expires_seconds: float, timeout_seconds: float) -> None:
        super().__init__(
            f"Pulls from consumer {consumer} of stream {stream} last {expires_seconds:g} s, and its pin times out "
            f"after {timeout_seconds:g} s without a new one: a quiet client may lose it.",
            stream=stream,
            consumer=consumer,
            advice="Let expires_seconds be at most half of the consumer's priority_timeout.",
        )


class PullUnansweredError(ConsumeError, RequestTimeoutError):
    """Neither messages nor a status came until well after the pull request had expired."""

    def __init__(self, *, stream: str, consumer: str) -> None:
        super().__init__(
            f"A pull from consumer {consumer} of stream {stream} was not answered, not even when it had expired.",
            stream=stream,
            consumer=consumer,
            advice="Look at the link, and whether too many requests wait at the consumer (num_waiting, max_waiting).",
        )


class PullWithoutLinkError(ConsumeError, LinkError):
    """There was no link to the servers when the time of a fetch was over."""

    def __init__(self, *, stream: str, consumer: str) -> None:
        super().__init__(
            f"There was no link to the servers when the time to fetch from consumer {consumer} of stream {stream} "
            "was over.",
            stream=stream,
            consumer=consumer,
            advice="Wait for the connection, or allow more time.",
        )


class AckWaitOverError(ConsumeError):
    """Messages waited in the buffer for longer than their ack wait. Dropped: the server delivers them anew."""

    def __init__(self, messages: int, *, stream: str, consumer: str) -> None:
        super().__init__(
            f"{messages} messages of consumer {consumer} of stream {stream} were dropped: they waited in the buffer "
            "for longer than their ack wait, so that the server delivers them again.",
            stream=stream,
            consumer=consumer,
            advice="Buffer fewer (max_messages), work faster or in more tasks, or raise the consumer's ack_wait.",
        )
        self.messages = messages
