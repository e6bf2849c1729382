"""Queue groups for tests of commands: declared in manifests, with a real engine in this process."""

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
from tests.testbed.waiting import WITHIN_SECONDS, eventually_async
from tests.worker.engine.working import CONSUMER, Scene, scene

HANDLER = {"entrypoint": "etl:process", "configMapRef": {"name": "code"}}


class RunningGroup:
    """A stream `work.stream` with a consumer and a queue group, on a server and in manifests."""

    def __init__(self, declared: Declared, work: Scene, group: str) -> None:
        self.declared = declared
        self.group = group
        self.work = work

    async def run(self, *command: str | Path) -> Result:
        """Run a command in a thread, so that this event loop goes on."""
        return await asyncio.to_thread(penstock, *command, "-f", self.declared.folder)

    async def data(self, *command: str | Path) -> Any:  # noqa: ANN401 - JSON
        return json.loads((await self.run(*command, "-o", "json")).stdout)

    async def dead(self, verb: str, *arguments: str | Path) -> Result:
        return await self.run("dead", verb, *arguments)

    async def listed(self, *arguments: str) -> list[int]:
        """Return the sequences of the dead letters that are listed."""
        return [each["sequence"] for each in (await self.data("dead", "list", *arguments))["deadLetters"]]

    async def dead_letter_count(self) -> int:
        return (await self.work.js.streams.info(self.work.dead)).state.messages

    @asynccontextmanager
    async def running_batches(self, messages: int) -> AsyncIterator[threading.Event]:
        """Have a worker run a batch of one message, then a full batch of this many, until the event is set."""
        released = threading.Event()

        def wait(_handed: Handed, _rows: Any) -> Outcome:  # noqa: ANN401 - a table
            released.wait(WITHIN_SECONDS)
            return Outcome(Verdict.OK, 0.1)

        handed, before = self.work.script.handed, len(self.work.script.handed)
        self.work.script.process = wait
        self.work.batch_of(messages)
        await self.work.publish_many(1)
        with self.work.driver():
            async with self.work.working():
                await eventually_async(lambda: len(handed) == before + 1, "the first batch runs")
                await self.work.publish_many(messages)
                await eventually_async(lambda: len(handed) == before + 2, "the second batch runs")
                yield released

    async def dead_letter(self, *payloads: bytes, **options: Any) -> None:  # noqa: ANN401 - of publish
        """Publish these messages, and have all of them dead-lettered, in this order."""
        await self.work.publish(*payloads, **options)
        self.work.script.process = reject_all
        self.work.change(batch=BatchSettings(max_messages=1000, max_wait_seconds=0.05, in_flight=1))
        with self.work.driver():
            await self.work.drained()
        self.work.change(drain=False)


def reject_all(_handed: Handed, rows: Any) -> Outcome:  # noqa: ANN401 - a table
    sequences = rows["seq"].to_pylist()
    return Outcome(Verdict.OK, 0.1, rejections=tuple(Rejection(each, f"no amount in {each}") for each in sequences))


def broken(_handed: Handed, _rows: Any) -> Outcome:  # noqa: ANN401 - a table
    return Outcome(
        Verdict.DATA, 0.1, fault=Fault("KeyError", "'amount'", trace="Traceback\n  line 3", place="etl.py:3")
    )


@asynccontextmanager
async def running_group(declared: Declared, url: str, stream: str) -> AsyncIterator[RunningGroup]:
    group = f"orders-{stream}"  # engines of other tests answer for their own groups on the same server
    async with scene(url, stream) as work:
        await work.consumer()
        declare(declared, stream, group)
        work.change(group=f"default/{group}", worker=f"{group}-0")
        yield RunningGroup(declared, work, group)


def declare(declared: Declared, stream: str, group: str) -> None:
    declared.stream(stream.lower(), name=stream, subjects=[f"{stream}.>"])
    declared.consumer(f"{group}-etl", stream.lower(), name=CONSUMER)
    declared.write("QueueGroup", group, consumerRef={"name": f"{group}-etl"}, handler=HANDLER)
