"""Queue groups for tests of commands: declared in manifests, with a real engine that works on them in this process."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from click.testing import Result

from penstock_worker.exchange.records import Handed
from penstock_worker.policy.outcome import Fault, Outcome, Rejection, Verdict
from penstock_worker.policy.settings import BatchSettings
from tests.operator.cli.commands import Declared, penstock
from tests.worker.engine.working import CONSUMER, PATIENCE_SECONDS, Scene, scene

GROUP = "orders"


class Shop:
    """A stream `scene.stream` with the consumer and the queue group that work on it, declared and there."""

    def __init__(self, declared: Declared, work: Scene, group: str) -> None:
        self.declared = declared
        self.group = group
        self.work = work

    async def run(self, *command: str | Path) -> Result:
        """Run a command beside what runs in this process."""
        return await asyncio.to_thread(penstock, *command, "-f", self.declared.folder)

    async def data(self, *command: str | Path) -> Any:  # noqa: ANN401 - JSON
        return json.loads((await self.run(*command, "-o", "json")).stdout)

    async def dead(self, verb: str, *arguments: str | Path) -> Result:
        return await self.run("dead", verb, *arguments)

    async def letters(self) -> int:
        """Return how many dead letters there are."""
        return (await self.work.js.streams.info(self.work.dead)).state.messages

    @asynccontextmanager
    async def holding(self, messages: int) -> AsyncIterator["Held"]:
        """Have a worker run a batch of one message, and one of so many, which end when they are let go.

        While a batch runs, the next one is collected until it is full: without the first, it might be two.
        """
        held = Held()
        self.work.script.process = held.process
        self.work.batch_of(messages)
        await self.work.publish_many(1)
        with self.work.driver():
            async with self.work.working():
                await self.work.eventually(lambda: len(self.work.script.handed) == 1)
                await self.work.publish_many(messages)
                await self.work.eventually(lambda: len(self.work.script.handed) == 2)
                yield held

    async def bury(self, *payloads: bytes, **options: Any) -> None:  # noqa: ANN401 - of publish
        """Have these messages become dead letters, in this order."""
        await self.work.publish(*payloads, **options)
        self.work.script.process = reject_all
        self.work.change(batch=BatchSettings(max_messages=1000, max_wait_seconds=0.05, in_flight=1))
        with self.work.driver():
            await self.work.drained()
        self.work.change(drain=False)


class Held:
    """Batches that run until they are let go."""

    def __init__(self) -> None:
        self.free = threading.Event()

    def process(self, _handed: Handed, _rows: Any) -> Outcome:  # noqa: ANN401 - a table
        self.free.wait(PATIENCE_SECONDS)
        return Outcome(Verdict.OK, 0.1)


def reject_all(_handed: Handed, rows: Any) -> Outcome:  # noqa: ANN401 - a table
    sequences = rows["seq"].to_pylist()
    return Outcome(Verdict.OK, 0.1, rejections=tuple(Rejection(each, f"no amount in {each}") for each in sequences))


def broken(_handed: Handed, _rows: Any) -> Outcome:  # noqa: ANN401 - a table
    return Outcome(
        Verdict.DATA, 0.1, fault=Fault("KeyError", "'amount'", trace="Traceback\n  line 3", place="etl.py:3")
    )


@asynccontextmanager
async def shop(declared: Declared, url: str, stream: str, group: str = GROUP) -> AsyncIterator[Shop]:
    async with scene(url, stream) as work:
        await work.consumer()
        declare(declared, stream, group)
        work.change(
            group=f"default/{group}",
            worker=f"{group}-0",
            dead_letter_stream=f"{stream}-{CONSUMER}-dead",
            dead_letter_subject=f"dead.{stream}.{CONSUMER}",
        )
        yield Shop(declared, work, group)


def declare(declared: Declared, stream: str, group: str) -> None:
    declared.stream(stream.lower(), name=stream, subjects=[f"{stream}.>"])
    declared.consumer(f"{group}-etl", stream.lower(), name=CONSUMER)
    declared.write(
        "QueueGroup",
        group,
        consumerRef={"name": f"{group}-etl"},
        handler={"entrypoint": "etl:process", "configMapRef": {"name": "code"}},
    )
