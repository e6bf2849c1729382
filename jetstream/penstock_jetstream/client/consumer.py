"""A consumer as one holds it: where its messages are had from.

Knows its names, and what all who pull through one handle share. Does not ask the server anything by itself: a handle
may be made before the consumer is, and pulling needs no right but to pull.
"""

from collections.abc import Callable
from typing import TypedDict, Unpack

from penstock_jetstream.client.api import Api
from penstock_jetstream.client.consumers import Consumers
from penstock_jetstream.client.consuming import Consuming, Extras, MessageHandler
from penstock_jetstream.client.fetching import Fetching
from penstock_jetstream.client.lane import Lane
from penstock_jetstream.client.message import Message
from penstock_jetstream.client.pulling import ReportHandler, Source, log_report
from penstock_jetstream.core.consumer_info import ConsumerInfo
from penstock_jetstream.core.names import checked_name
from penstock_jetstream.core.options import ConsumeOptions, FetchOptions, Wait
from penstock_jetstream.core.pulls import next_subject
from penstock_jetstream.core.times import NANOSECONDS_PER_SECOND
from penstock_jetstream.errors import JetStreamError, MissingError


class HandleOptions(TypedDict, total=False):
    """What one may say of a consumer when taking hold of it."""

    is_acknowledged: bool
    """False if its ack policy is none: then answers to its messages are not sent."""
    on_report: ReportHandler
    """Hears of what goes wrong, but does not end anything. Otherwise it is logged."""


LANE_BYTES = 16 << 20
"""Enough to keep a server busy; what is left of it when a lane is stopped has to be delivered again."""


class GroupKeywords(TypedDict, total=False):
    """The fields of GroupOptions, as keywords."""

    group: str
    min_pending: int
    min_ack_pending: int
    priority: int | None
    priority_timeout_seconds: float | None


class NextKeywords(GroupKeywords, total=False):
    """Those of FetchOptions that say how long to wait."""

    expires_seconds: float
    idle_heartbeat_seconds: float | None
    wait: Wait


class FetchKeywords(NextKeywords, total=False):
    """The fields of FetchOptions, as keywords; max_messages stands by itself."""

    max_bytes: int | None


class ConsumeKeywords(GroupKeywords, total=False):
    """The fields of ConsumeOptions, as keywords."""

    max_messages: int | None
    max_bytes: int | None
    expires_seconds: float
    idle_heartbeat_seconds: float | None
    threshold_messages: int | None
    threshold_bytes: int | None
    verify_on_reconnect: bool


class Consumer:
    """A handle on a pull consumer: `js.consumer(stream, name)`."""

    def __init__(self, api: Api, stream: str, name: str, **options: Unpack[HandleOptions]) -> None:
        self.stream = checked_name(stream, "stream")
        self.name = checked_name(name, "consumer")
        self.cached_info: ConsumerInfo | None = None
        """What the server said when it was last asked."""
        self._consumers = Consumers(api)
        self._on_report = options.get("on_report", log_report)
        self._source = Source(
            connection=api.connection,
            stream=stream,
            consumer=name,
            subject=next_subject(api.prefix, stream, name),
            headers=api.headers,
            is_acknowledged=options.get("is_acknowledged", True),
        )

    async def fetch(self, max_messages: int | None = None, **options: Unpack[FetchKeywords]) -> list[Message]:
        """Return messages: all that was asked for, or those that came before it expired, which may be none.

        `wait` says what to wait for: for all that was asked for, for the first there are, or for nothing.
        """
        wanted = FetchOptions(max_messages=max_messages, **options)
        return await Fetching(self._source, wanted, self._on_report).messages()

    async def next(self, **options: Unpack[NextKeywords]) -> Message | None:
        """Return the next message, or None if there was none before it expired. Nothing is asked for in advance."""
        wanted = FetchOptions(max_messages=1, **options)
        return next(iter(await Fetching(self._source, wanted, self._on_report).messages()), None)

    def consume(
        self,
        on_message: MessageHandler | None = None,
        *,
        on_report: ReportHandler | None = None,
        on_pinned: Callable[[str], None] | None = None,
        on_unpinned: Callable[[], None] | None = None,
        ack_wait_seconds: float | None = None,
        keep_alive: bool = True,
        **options: Unpack[ConsumeKeywords],
    ) -> Consuming:
        """Return a consumption, which `async with` begins: messages as they come, until you have had enough.

        A message's ack wait begins when the server sends it, and not when you get it. Give the consumer's
        ack_wait_seconds (it is taken from `info()`, if you asked for that) to have what is buffered kept alive while
        you go on asking for messages, and what ran out all the same dropped instead of worked on twice.
        """
        extras = Extras(
            on_message=on_message,
            on_report=on_report or self._on_report,
            on_pinned=on_pinned,
            on_unpinned=on_unpinned,
            ack_wait_seconds=ack_wait_seconds or self._known_ack_wait_seconds(),
            keep_alive=keep_alive,
        )
        return Consuming(self._source, ConsumeOptions(**options), extras, self._exists)

    def lane(self, *, on_report: ReportHandler | None = None, **options: Unpack[ConsumeKeywords]) -> Lane:
        """Return a consumption by blocks of messages, which `async with` begins.

        Without max_messages or max_bytes it holds up to 16 MiB; it notices a lost request in 4 s instead of 30 s.
        """
        if "max_messages" not in options:
            options.setdefault("max_bytes", LANE_BYTES)
        wanted = ConsumeOptions.for_worker(**options)
        return Lane(self._source, wanted, on_report or self._on_report, self._exists)

    async def info(self) -> ConsumerInfo:
        """Return config and state as they are now."""
        self.cached_info = await self._consumers.info(self.stream, self.name)
        return self.cached_info

    async def delete(self) -> None:
        await self._consumers.delete(self.stream, self.name)

    def _known_ack_wait_seconds(self) -> float | None:
        return None if self.cached_info is None else shortest_ack_wait_seconds(self.cached_info)

    async def _exists(self) -> bool:
        """Tell whether the consumer is there; if that cannot be found out, it may be."""
        try:
            await self.info()
        except MissingError:
            return False
        except JetStreamError:
            return True
        return True


def shortest_ack_wait_seconds(info: ConsumerInfo) -> float | None:
    """Return how long a message may wait for its ack at least; with backoff that differs from delivery to delivery."""
    if info.config.get("ack_policy") not in {"explicit", "all"}:
        return None
    waits = [info.config.get("ack_wait"), *(info.config.get("backoff") or ())]
    shortest = min((wait for wait in waits if isinstance(wait, int) and wait > 0), default=None)
    return None if shortest is None else shortest / NANOSECONDS_PER_SECOND
