"""Replicas that compete for one Lease in a simulated network, and write while they lead.

A seed chooses all faults: clocks that drift, slow and lost requests, and processes that stop, end and start.
"""

import asyncio
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from typing_extensions import override

from penstock_operator.plan.lease import Candidate, Claim, Record, Terms
from penstock_operator.services.election import Election
from penstock_operator.services.leading import NotLeadingError
from penstock_operator.services.vitals import Vitals
from penstock_operator.storage.errors import ObjectChangedError

DRIFT = 0.1
WRITE_SECONDS = 2.0
"""The longest that a write takes to land; the rest of the Lease's last third is for drift."""
SLOW_SECONDS = 4.0
FOR_EVER_SECONDS = 1e6


@dataclass
class Kept:
    """The Lease as the API server keeps it."""

    record: Record | None = None
    writes: int = 0

    def write(self, claim: Claim) -> Record:
        version = self.record.version if self.record else ""
        if claim.replaces != version:
            raise ObjectChangedError("The Lease is not what it was.")
        self.writes += 1
        self.record = Record(str(self.writes), claim.holder, claim.duration_seconds, claim.transitions)
        return self.record


@dataclass(frozen=True)
class Write:
    """Something that a leader did: from when it was begun to when it landed."""

    by: str
    begun_at: float
    landed_at: float


@dataclass
class World:
    seed: int
    terms: Terms = field(default_factory=Terms)
    kept: Kept = field(default_factory=Kept)
    writes: list[Write] = field(default_factory=list)
    is_calm: bool = False

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)  # noqa: S311 - a seed repeats the run

    def happens(self, share: float) -> bool:
        return not self.is_calm and self.chance.random() < share

    def overlapping(self) -> Iterator[tuple[Write, Write]]:
        """Return writes of two replicas of which one had not landed when the other was begun."""
        last = self.writes[0]
        for write in sorted(self.writes, key=lambda write: write.begun_at):
            if write.by != last.by and write.begun_at < last.landed_at:
                yield last, write
            last = max(last, write, key=lambda write: write.landed_at)


class Replica:
    """A process: its election, and something that writes as often as it may."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        self.rate = world.chance.uniform(1 - DRIFT, 1 + DRIFT)
        self.offset = world.chance.uniform(0, 1000)
        self.runs = asyncio.Event()
        self.runs.set()
        self.election = Election(
            Wire(self), Candidate(identity=name, terms=world.terms), Vitals(self.clock), self.clock
        )
        self._tasks: list[asyncio.Task[None]] = []

    def clock(self) -> float:
        return self.offset + self.rate * asyncio.get_running_loop().time()

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self.election.stand()), asyncio.create_task(self._write_on())]

    async def die(self) -> None:
        await _cancel(*self._tasks)

    async def end(self) -> None:
        """End as on SIGTERM: writes under way finish."""
        standing, writing = self._tasks
        await _cancel(standing)
        await self.election.release()
        await _cancel(writing)

    async def end_in_haste(self) -> None:
        """End on SIGTERM and cancel writes under way."""
        await self.die()
        await self.election.release()

    async def _write_on(self) -> None:
        while True:
            await asyncio.sleep(self.world.chance.uniform(0.05, 0.5))  # calm: virtual time
            await self.runs.wait()
            try:
                async with self.election.leadership.held():
                    await self._write()
            except NotLeadingError:
                continue

    async def _write(self) -> None:
        now, seconds = asyncio.get_running_loop().time(), self.world.chance.uniform(0, WRITE_SECONDS)
        self.world.writes.append(Write(self.name, now, now + seconds))
        await asyncio.sleep(seconds)  # calm: virtual time


async def _cancel(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Wire:
    """The network between a replica and the API server."""

    def __init__(self, replica: Replica) -> None:
        self._replica, self._world = replica, replica.world

    @override
    def __str__(self) -> str:
        return "test/penstock"

    async def read(self) -> Record | None:
        await self._travel()
        record = self._world.kept.record
        await self._travel()
        return record

    async def write(self, claim: Claim) -> Record:
        await self._travel()
        record = self._world.kept.write(claim)
        await self._travel()
        return record

    async def _travel(self) -> None:
        """Arrive soon, late or never; a stopped process neither sends nor receives."""
        await self._replica.runs.wait()
        longest = SLOW_SECONDS if self._world.happens(0.1) else 0.05
        is_lost = self._world.happens(0.05)
        seconds = FOR_EVER_SECONDS if is_lost else self._world.chance.uniform(0.001, longest)
        await asyncio.sleep(seconds)  # calm: virtual time
        await self._replica.runs.wait()


async def trouble(world: World, replicas: list[Replica], seconds: float) -> None:
    """Stop, kill, end and start replicas for that long; then let all go on without faults."""
    loop = asyncio.get_running_loop()
    while loop.time() < seconds:
        await asyncio.sleep(world.chance.uniform(0.1, 20))  # calm: virtual time
        at = world.chance.randrange(len(replicas))
        leave = world.chance.choice((None, None, Replica.die, Replica.end, Replica.end_in_haste))
        if leave:
            await leave(replicas[at])
            replicas[at] = begin(world, f"{replicas[at].name}'")
        else:
            replicas[at].runs.clear()
            loop.call_later(world.chance.uniform(0.1, 30), replicas[at].runs.set)
    world.is_calm = True
    for replica in replicas:
        replica.runs.set()


def begin(world: World, name: str) -> Replica:
    replica = Replica(world, name)
    replica.start()
    return replica
