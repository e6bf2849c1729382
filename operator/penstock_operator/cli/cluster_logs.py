"""`penstock logs` in a cluster: what pods of queue groups say, all in the order of time, over pods that come and go.

Knows which logs are read when, and that a stream of one that breaks is taken up where it was. Does not know what a line
says (log_lines.py).
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime

import click
from kubernetes.aio.client import ApiClient

from penstock_operator.cli.log_lines import LONG_AGO, LogLine, log_line
from penstock_operator.cli.output import say
from penstock_operator.local.log_files import Source
from penstock_operator.storage.errors import HomeError, RefusedError
from penstock_operator.storage.pod_logs import Instance, instances, lines

LOOK_SECONDS = 1.0
"""Between two looks for pods that have come."""
SHOW_SECONDS = 0.2
"""What comes within this time is put into the order of time."""
AT_ONCE = 16
MOST_FOLLOWED = 80
"""Logs that are read at the same time: the client holds no more connections than 100."""
FORBIDDEN = 403

Show = Callable[[Sequence[LogLine]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Whose logs, and what of them."""

    namespace: str | None
    group: str | None
    worker: str | None
    process: str | None
    tail: int
    follows: bool
    is_previous: bool

    def holds(self, instance: Instance) -> bool:
        return self.worker in (None, instance.pod) and self.process in (None, instance.process)


async def show_logs(client: ApiClient, wanted: Wanted, show: Show) -> None:
    """Show what was said last, and with `follows` what is said from then on, until cancelled."""
    try:
        reading = _Reading(client, wanted, show)
        await reading.begin()
        if wanted.follows:
            await reading.go_on()
    except RefusedError as refusal:
        if refusal.code != FORBIDDEN:
            raise
        rights = "the verb list on pods, and get on pods/log"
        raise click.ClickException(f"You may not read the workers' logs: that needs {rights}.") from refusal


@dataclass(slots=True)
class _Reading:
    """One reading of all logs that are meant."""

    client: ApiClient
    wanted: Wanted
    show: Show
    _last: dict[tuple[str, str], datetime] = field(default_factory=dict)
    """When the last line came that was read, by pod and process."""
    _followed: dict[Instance, asyncio.Task[None]] = field(default_factory=dict)
    _finished: set[tuple[str, str, int]] = field(default_factory=set)
    """Those that have ended and are read to their ends."""
    _told: set[str] = field(default_factory=set)
    _new: list[LogLine] = field(default_factory=list)

    async def begin(self) -> None:
        found = await self._found()
        gate = asyncio.Semaphore(AT_ONCE)

        async def read(instance: Instance) -> None:
            async with gate:
                await self._read(instance, is_previous=self.wanted.is_previous, tail=self.wanted.tail)

        are_there = [each for each in found if (each.restarts if self.wanted.is_previous else each.has_run)]
        await asyncio.gather(*map(read, are_there))
        tail = sorted(self._new, key=lambda line: line.at)
        self._new = []
        self.show(tail[max(0, len(tail) - self.wanted.tail) :])
        if not found:
            self._tell(f"No worker runs{self._where()}: the logs of pods that are gone are gone with them.")
        for instance in found:
            if not instance.has_run:
                self._tell(f"{instance.pod} {instance.process} has not started. {instance.waits_for}".rstrip())

    async def go_on(self) -> None:
        """Follow all logs that there are and come to be."""
        loop = asyncio.get_running_loop()
        look_at = loop.time()
        try:
            while True:
                if loop.time() >= look_at:
                    await self._look()
                    look_at = loop.time() + LOOK_SECONDS
                await asyncio.sleep(SHOW_SECONDS)
                shown, self._new = sorted(self._new, key=lambda line: line.at), []
                self.show(shown)
        finally:
            for task in self._followed.values():
                task.cancel()
            await asyncio.gather(*self._followed.values(), return_exceptions=True)

    async def _look(self) -> None:
        """Begin with what is not followed yet."""
        for instance, task in list(self._followed.items()):
            if task.done():
                task.result()
                del self._followed[instance]
        try:
            found = await self._found()
        except HomeError as problem:
            if isinstance(problem, RefusedError) and problem.code == FORBIDDEN:
                raise
            self._tell(str(problem))
            return
        followed = {_key(each) for each in self._followed}
        for instance in found:
            key = _key(instance)
            if not instance.has_run or key in followed or key in self._finished:
                continue
            if len(self._followed) >= MOST_FOLLOWED:
                self._tell(f"More than {MOST_FOLLOWED} logs are not followed: --worker, --engine and --driver choose.")
                break
            self._followed[instance] = asyncio.create_task(self._follow(instance))

    async def _follow(self, instance: Instance) -> None:
        """Read on until it ends, or the stream does: then the next look takes it up again."""
        try:
            await self._read(instance, follows=True)
        except HomeError as problem:
            self._tell(f"{instance.pod} {instance.process}: {problem}")
        if not instance.is_running:
            self._finished.add(_key(instance))

    async def _read(
        self, instance: Instance, *, tail: int | None = None, follows: bool = False, is_previous: bool = False
    ) -> None:
        source = Source(f"{instance.namespace}/{instance.group}", instance.pod, instance.process)
        whose = (instance.uid, instance.process)
        last = self._last.get(whose, LONG_AGO)
        since = last if follows and last > LONG_AGO else None
        said = lines(self.client, instance, tail=tail, since=since, follows=follows, is_previous=is_previous)
        async with aclosing(said):
            async for at, text in said:
                if at > last or not follows:  # a time to begin from is a whole second
                    self._last[whose] = at
                    self._new.append(log_line(source, text, at))

    async def _found(self) -> list[Instance]:
        found = await instances(self.client, self.wanted.namespace, self.wanted.group)
        return [each for each in found if self.wanted.holds(each)]

    def _where(self) -> str:
        return f" for QueueGroup {self.wanted.group}" if self.wanted.group else ""

    def _tell(self, sentence: str) -> None:
        """Say something once."""
        if sentence not in self._told:
            self._told.add(sentence)
            say(sentence)


def _key(instance: Instance) -> tuple[str, str, int]:
    return instance.uid, instance.process, instance.restarts
