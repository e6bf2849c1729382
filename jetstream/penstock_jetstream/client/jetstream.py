"""JetStream over a connection: streams, consumers, messages to publish and to read, key-value buckets.

Knows which part answers for what. Does not do anything itself.
"""

from collections.abc import Sequence
from typing import Unpack

from penstock_jetstream.client.api import DEFAULT_TIMEOUT_SECONDS, Api
from penstock_jetstream.client.consumer import Consumer, HandleOptions
from penstock_jetstream.client.consumers import Consumers
from penstock_jetstream.client.direct import Direct
from penstock_jetstream.client.keyvalue import KeyValue
from penstock_jetstream.client.ordering import OrderedKeywords, Ordering, ordering
from penstock_jetstream.client.publisher import Publisher
from penstock_jetstream.client.publishing import publish, publish_batch
from penstock_jetstream.client.pushing import Pushing, SubscribeKeywords, pushing
from penstock_jetstream.client.streams import Streams
from penstock_jetstream.client.subscribing import PullKeywords, PullSubscription
from penstock_jetstream.core.account_info import AccountInfo
from penstock_jetstream.core.publishing import BATCH_LEVEL, Draft, PubAck, PublishOptions, Retry
from penstock_jetstream.core.requests import prefix
from penstock_jetstream.transport.connection import Connection

_RETRY = Retry()


class JetStream:
    """The JetStream of the connection's account; with a domain, or the prefix of an imported API, that of others."""

    def __init__(
        self,
        connection: Connection,
        *,
        domain: str | None = None,
        api_prefix: str | None = None,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        required_api_level: int | None = None,
    ) -> None:
        """A required level has every request refused by servers that are older (X-08)."""
        self.connection = connection
        self.api = Api(
            connection,
            prefix=prefix(domain=domain, api_prefix=api_prefix),
            timeout_seconds=timeout_seconds,
            required_api_level=required_api_level,
        )
        self.streams = Streams(self.api)
        self.consumers = Consumers(self.api)
        self.direct = Direct(self.api)
        self.key_value = KeyValue(self)

    def consumer(self, stream: str, name: str, **options: Unpack[HandleOptions]) -> Consumer:
        """Return a handle on a pull consumer, to read from. It asks nothing: the consumer may be there or not."""
        return Consumer(self.api, stream, name, **options)

    def ordered(self, stream: str, **options: Unpack[OrderedKeywords]) -> Ordering:
        """Return a reading of a stream, which `async with` begins: its messages in order, each once, whatever fails."""
        return ordering(self.api, stream, **options)

    def subscribe(self, subject: str = "", **options: Unpack[SubscribeKeywords]) -> Pushing:
        """Return a subscription, which `async with` begins: a consumer sends its messages to us.

        By its subject, or stream, the consumer is found or made, and checked to be what is asked for. To pull is the
        better way for most: `consumer(…).consume()` asks for no more than it can take, and shares its messages.
        """
        return pushing(self.api, subject, **options)

    def subscribe_pull(self, subject: str = "", **options: Unpack[PullKeywords]) -> PullSubscription:
        """Return a pull subscription: `async with` finds or makes the consumer, checks it, and gives a handle on it."""
        return PullSubscription(self.api, subject, options)

    async def account(self) -> AccountInfo:
        """Return what the account uses, what it may use, and the API level of its servers."""
        return await self.api.account()

    async def publish(
        self,
        subject: str,
        data: bytes = b"",
        *,
        timeout_seconds: float | None = None,
        retry: Retry = _RETRY,
        **options: Unpack[PublishOptions],
    ) -> PubAck:
        """Publish a message, and return when a stream has stored it.

        Where no stream answers, as while it has no leader, it is tried again as `retry` says. Where the link is lost in
        between, it is published again only with a message_id, as only then the stream would notice a second one.
        """
        seconds = self.api.timeout_seconds if timeout_seconds is None else timeout_seconds
        return await publish(self.connection, Draft(subject, data, options), retry=retry, timeout_seconds=seconds)

    async def publish_batch(self, drafts: Sequence[Draft]) -> PubAck:
        """Publish messages to one stream, which stores all of them or none; it must have allow_atomic."""
        await self.api.require_level(BATCH_LEVEL, "2.12", "An atomic batch")
        return await publish_batch(self.connection, drafts, timeout_seconds=self.api.timeout_seconds)

    def publisher(
        self, *, max_in_flight: int = 1000, retry: Retry = _RETRY, timeout_seconds: float | None = None
    ) -> Publisher:
        """Return a publisher of many messages, with so many on their way at once."""
        seconds = self.api.timeout_seconds if timeout_seconds is None else timeout_seconds
        return Publisher(self.connection, max_in_flight=max_in_flight, retry=retry, timeout_seconds=seconds)
