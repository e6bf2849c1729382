"""A subscription's way to its consumer, step by step, and what it leaves behind.

Knows how each step of the workflow is carried out. Does not know which steps there are (core/subscribing.py), or what
becomes of the messages.
"""

from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, TypedDict

from penstock_jetstream.client.api import Api
from penstock_jetstream.client.consumer import Consumer
from penstock_jetstream.client.consumers import Consumers
from penstock_jetstream.client.streams import Streams
from penstock_jetstream.core.subscribing import Create, Delete, FindStream, Listen, LookUp, Ready, Step, Subscribing
from penstock_jetstream.core.wanted import Wanted
from penstock_jetstream.errors import ApiError, ErrorCode, JetStreamError, MissingError


class Workflow:
    """Carries out the steps, in order, until the consumer is ready."""

    def __init__(self, api: Api, machine: Subscribing, listen: Callable[[str, str], None]) -> None:
        self._streams = Streams(api)
        self._consumers = Consumers(api)
        self._machine = machine
        self._listen = listen
        """Subscribes to a subject, with a queue or none, and no longer to any other."""

    @property
    def deletes(self) -> bool:
        """Tell whether `clean_up` is going to delete the consumer."""
        return self._machine.deletes

    async def until_ready(self) -> Ready:
        steps = deque(self._machine.start())
        while True:
            step = steps.popleft()
            if isinstance(step, Ready):
                return step
            steps.extend(await self._carry_out(step))

    async def clean_up(self) -> None:
        """Delete what was made, if anything was. What is gone already is as good."""
        for step in self._machine.over():
            await self._carry_out(step)

    async def _carry_out(self, step: Step) -> list[Step]:
        match step:
            case FindStream(subject):
                return self._machine.streams_found([name async for name in self._streams.names(subject=subject)])
            case LookUp(stream, consumer):
                return await self._look_up(stream, consumer)
            case Listen(subject, queue):
                self._listen(subject, queue)
            case Create(stream, config):
                return await self._create(stream, config)
            case Delete(stream, consumer):
                await self._delete(stream, consumer)
            case Ready():
                pass
        return []

    async def _look_up(self, stream: str, consumer: str) -> list[Step]:
        try:
            info = await self._consumers.info(stream, consumer)
        except ApiError as error:
            if error.err_code == ErrorCode.CONSUMER_NOT_FOUND:
                return self._machine.consumer_missing()
            return self._machine.look_up_failed(error)
        except JetStreamError as error:
            return self._machine.look_up_failed(error)
        return self._machine.consumer_found(info.raw)

    async def _create(self, stream: str, config: dict[str, object]) -> list[Step]:
        try:
            info = await self._consumers.create(stream, config)
        except ApiError as error:
            return self._machine.create_failed(error, error.err_code)
        return self._machine.created(info.raw)

    async def _delete(self, stream: str, consumer: str) -> None:
        with suppress(MissingError):
            await self._consumers.delete(stream, consumer)


class PullKeywords(TypedDict, total=False):
    """What may be said of a pull subscription."""

    stream: str
    """Instead of looking for the one that has the subject."""
    durable: str
    """The consumer's name; it is made if it does not exist."""
    bind: str
    """The consumer's name; it must exist."""
    config: Mapping[str, Any]
    """Fields of the consumer. One that exists must have them: a subscription changes nothing."""
    keep: bool
    """Leave the consumer there at the end, even if it was made here."""


class PullSubscription:
    """`async with` finds or makes a pull consumer, and gives a handle on it. At the end what was made here goes."""

    def __init__(self, api: Api, subject: str, said: PullKeywords) -> None:
        self._api = api
        machine = Subscribing(Wanted(subject=subject, pull=True, **said), inbox="")
        self._workflow = Workflow(api, machine, lambda _, __: None)

    async def __aenter__(self) -> Consumer:
        ready = await self._workflow.until_ready()
        return Consumer(self._api, ready.stream, ready.consumer)

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._workflow.clean_up()
