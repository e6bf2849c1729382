"""What is measured of a contender: how it makes objects, and what it does when there is nothing to do.

Knows what is counted, where, and when. Does not know who the contender is.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass

from bench.reconciling import audit
from bench.reconciling.client import KINDS, Client
from bench.reconciling.place import Place
from penstock_jetstream import Connection, JetStream

SETTLE_SECONDS = 70
"""What was begun when the last object became Ready may still write, and so may the first periodic looks: a Connection
tells how many streams its account has, and is looked at once a minute."""
IDLE_SECONDS = 60
MILLISECONDS = 1000


@dataclass(frozen=True, kw_only=True)
class Made:
    """How objects were made of what was declared; the memory is that right after."""

    objects: int
    seconds: float
    cpu_seconds: float
    memory_mib: float
    api_server_writes: int

    @property
    def rate(self) -> float:
        return self.objects / self.seconds

    @property
    def cpu_milliseconds(self) -> float:
        """The operator's own CPU for each object."""
        return self.cpu_seconds / self.objects * MILLISECONDS

    @property
    def writes_per_object(self) -> float:
        return self.api_server_writes / self.objects


@dataclass(frozen=True, kw_only=True)
class Idle:
    """What an operator did in a minute in which nothing changed."""

    api_server_writes: int
    lease_writes: int
    jetstream_writes: int
    jetstream_reads: int
    cpu_seconds: float
    memory_mib: float


async def make(user: Client, where: Place, first: int, end: int) -> Made:
    """Declare streams and consumers, and wait until all of them are."""
    names = [f"s{number:05}" for number in range(first, end)]
    where.written.count()
    clock, cpu_before = asyncio.get_running_loop().time, where.cpu_seconds()
    started_at = clock()
    await user.declare(names)
    await user.all_ready(names)
    seconds, cpu_seconds = clock() - started_at, where.cpu_seconds() - cpu_before
    await check(where, end)
    return Made(
        objects=len(KINDS) * len(names),
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        memory_mib=where.memory_mib(),
        api_server_writes=audit.without_leases(where.written.count()),
    )


async def check(where: Place, streams: int) -> None:
    """Make sure that what says Ready is there."""
    async with Connection(where.nats.url) as connection:
        account = await JetStream(connection).account()
    if (account.streams, account.consumers) != (streams, streams):
        there = f"{account.streams} streams and {account.consumers} consumers"
        raise RuntimeError(f"All is Ready, but NATS has {there}, not {streams} each.")


async def rest(where: Place) -> Idle:
    """Leave the operator alone for a minute, and count what it does."""
    await asyncio.sleep(SETTLE_SECONDS)
    requests: Counter[str] = Counter()

    def note(subject: bytes, reply: bytes, headers: bytes, advisory: bytes) -> None:
        del subject, reply, headers
        requests[audit.jetstream_request(advisory)] += 1

    async with Connection(where.nats.url) as connection:
        connection.subscribe(audit.ADVISORIES, note)
        await connection.flush()
        where.written.count()
        cpu_before = where.cpu_seconds()
        await asyncio.sleep(IDLE_SECONDS)
        cpu_seconds, written = where.cpu_seconds() - cpu_before, where.written.count()
    jetstream_writes = sum(count for request, count in requests.items() if audit.is_write(request))
    return Idle(
        api_server_writes=audit.without_leases(written),
        lease_writes=written.total() - audit.without_leases(written),
        jetstream_writes=jetstream_writes,
        jetstream_reads=requests.total() - jetstream_writes,
        cpu_seconds=cpu_seconds,
        memory_mib=where.memory_mib(),
    )
