"""The faults: what is done to whom, and at which moment of a batch's life.

Each is a moment, which is waited for, and a blow.
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from penstock_jetstream.core.keyvalue import stream_of
from penstock_worker.engine.ledger_store import BUCKET
from tests.chaos.place import Place
from tests.chaos.site import STREAM
from tests.chaos.worker import Worker
from tests.testbed.nats.relay import Relay
from tests.worker.engine.working import CONSUMER

DRIP_BYTES_PER_SECOND = 200_000
"""So that acknowledgements of a batch take a while, and can be cut off in the middle."""
SOME_ACKS = 300
SOON_ACKED = 8_000
"""Of a round's 20 000, so that work goes on."""
STORM_BLOWS = 8
FILLER_BYTES = 1 << 16
LATEST = 3
"""Moments are those of one of the first batches, by chance, so that others follow."""

Moment = Callable[[Place, random.Random], Awaitable[Worker]]
Blow = Callable[[Place, Worker], Awaitable[None]]


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong once."""

    name: str
    when: str
    blow: Blow


# Moments


async def by_chance(place: Place, chance: random.Random) -> Worker:
    """Wait for any acknowledgement, and a moment of no meaning."""
    await place.steps.after("acked", chance.randint(1, SOON_ACKED))
    await asyncio.sleep(chance.uniform(0, 0.2))  # calm: moments by chance are the subject
    return chance.choice(place.workers)


def at(step: str) -> Moment:
    async def moment(place: Place, chance: random.Random) -> Worker:
        return place.worker(await place.steps.after(step, chance.randint(1, LATEST)))

    return moment


async def half_acked(place: Place, chance: random.Random) -> Worker:
    """Have acknowledgements go slowly from when a batch is committed, and wait for some of them."""
    worker = await at("committed")(place, chance)
    place.site.link.drip(DRIP_BYTES_PER_SECOND)
    await place.steps.after("acked", SOME_ACKS)
    return worker


MOMENTS: Mapping[str, Moment] = {
    "at random": by_chance,
    "batch opened": at("opened"),
    "run began": at("began"),
    "sink written": at("wrote"),
    "committed": at("committed"),
    "half acked": half_acked,
}


# Blows


def kill(*names: str) -> Blow:
    async def blow(_place: Place, worker: Worker) -> None:
        await asyncio.to_thread(worker.kill, *names)

    return blow


async def kill_jvm(_place: Place, worker: Worker) -> None:
    jvm = worker.jvm()
    if jvm is not None:
        jvm.kill()


async def kill_server(place: Place, _worker: Worker) -> None:
    server = await place.site.victim()
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)


def freeze(name: str, seconds: float) -> Blow:
    async def blow(_place: Place, worker: Worker) -> None:
        with getattr(worker, name).frozen():
            await asyncio.sleep(seconds)  # calm: how long the fault lasts

    return blow


def freeze_jvm(seconds: float) -> Blow:
    async def blow(_place: Place, worker: Worker) -> None:
        jvm = worker.jvm()
        if jvm is not None:
            jvm.suspend()
            await asyncio.sleep(seconds)  # calm: how long the fault lasts
            jvm.resume()

    return blow


def freeze_server(seconds: float) -> Blow:
    async def blow(place: Place, _worker: Worker) -> None:
        server = await place.site.victim()
        with server.frozen():
            await asyncio.sleep(seconds)  # calm: how long the fault lasts

    return blow


async def cut(place: Place, _worker: Worker) -> None:
    place.site.link.cut()


def broken(how: Callable[[Relay], None], seconds: float) -> Blow:
    async def blow(place: Place, _worker: Worker) -> None:
        how(place.site.link)
        await asyncio.sleep(seconds)  # calm: how long the link is broken is the fault
        place.site.heal()

    return blow


def refuse(link: Relay) -> None:
    link.cut(refuse=True)


async def terminate(_place: Place, worker: Worker) -> None:
    await asyncio.to_thread(worker.terminate)


async def storm(place: Place, _worker: Worker) -> None:
    """Strike workers and servers again and again."""
    chance = random.Random(place.published)  # noqa: S311 - chance that can be repeated
    for _ in range(STORM_BLOWS):
        blow = chance.choice((kill("engine"), kill("driver"), kill_jvm, kill_server, cut, freeze("engine", 1)))
        await blow(place, chance.choice(place.workers))
        await asyncio.sleep(chance.uniform(0.5, 1.5))  # calm: moments by chance are the subject


async def recreate_consumer(place: Place, _worker: Worker) -> None:
    await place.js.consumers.delete(STREAM, CONSUMER)
    await place.create_consumer()


async def recreate_ledger(place: Place, _worker: Worker) -> None:
    await place.js.streams.delete(stream_of(BUCKET))
    await place.create_prerequisites()


async def step_down(place: Place, _worker: Worker) -> None:
    await place.js.consumers.step_down(STREAM, CONSUMER)


async def kill_executor(_place: Place, worker: Worker) -> None:
    first, *_ = worker.executors()
    first.kill()


async def kill_connect_server(place: Place, _worker: Worker) -> None:
    spark = place.spark
    if spark is None:
        raise RuntimeError("This place has no Spark Connect server.")
    spark.program.kill()
    await asyncio.to_thread(spark.start)


def fill_disk(seconds: float) -> Blow:
    """Leave the server no room; it takes JetStream away then, and has it again after a restart."""

    async def blow(place: Place, _worker: Worker) -> None:
        server = place.site.nodes[0]
        filler = server.store / "filler"
        with filler.open("wb") as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(FILLER_BYTES))
                file.flush()
        await asyncio.sleep(seconds)  # calm: how long the fault lasts
        filler.unlink()
        await asyncio.to_thread(server.restart)

    return blow


VICTIMS: Mapping[str, Blow] = {
    "kill -9 engine": kill("engine"),
    "kill -9 driver": kill("driver"),
    "kill -9 engine and driver": kill("engine", "driver"),
    "kill -9 JVM": kill_jvm,
    "kill -9 nats-server": kill_server,
}
KILLS = tuple(Fault(name, when, blow) for name, blow in VICTIMS.items() for when in MOMENTS)
TELLING = tuple(
    Fault(name, when, VICTIMS[name])
    for name, when in (
        ("kill -9 engine", "half acked"),
        ("kill -9 driver", "sink written"),
        ("kill -9 JVM", "run began"),
        ("kill -9 nats-server", "committed"),
    )
)
SERVER_FROZEN = Fault("nats-server frozen for 8 s", "run began", freeze_server(8))
STILLS = (
    Fault("engine frozen for 2 s", "run began", freeze("engine", 2)),
    Fault("engine frozen for longer than the ack wait", "run began", freeze("engine", 8)),
    Fault("driver frozen for 8 s", "run began", freeze("driver", 8)),
    Fault("JVM frozen for 8 s", "run began", freeze_jvm(8)),
    SERVER_FROZEN,
)
LINKS = (
    Fault("link cut", "at random", cut),
    Fault("link cut", "half acked", cut),
    Fault("link cut for 3 s", "run began", broken(refuse, 3)),
    Fault("link cut for longer than the ack wait", "run began", broken(refuse, 8)),
    Fault("link half-open for 2 s", "run began", broken(Relay.half_open, 2)),
    Fault("link half-open for longer than the ack wait", "half acked", broken(Relay.half_open, 10)),
)
TWINS = (
    Fault("kill -9 engine, two workers", "run began", kill("engine")),
    Fault("kill -9 engine, two workers", "sink written", kill("engine")),
    Fault("SIGTERM engine and driver, two workers", "run began", terminate),
)
STORMS = (
    Fault("zombie: engine wakes after another has its messages", "run began", freeze("engine", 12)),
    Fault("something each second, two workers", "run began", storm),
)
LEADERS = (
    Fault("kill -9 leader of three nats-servers", "run began", kill_server),
    Fault("kill -9 leader of three nats-servers", "committed", kill_server),
    Fault("leader of three nats-servers frozen for 8 s", "run began", freeze_server(8)),
    Fault("leader of three nats-servers steps down", "run began", step_down),
)
EXECUTORS = (Fault("kill -9 executor", "run began", kill_executor),)
CONSUMERS = tuple(
    Fault("consumer deleted and created again", when, recreate_consumer) for when in ("run began", "half acked")
)
LEDGERS = tuple(
    Fault("ledger deleted and created again", when, recreate_ledger) for when in ("batch opened", "committed")
)
SHARED = (*KILLS, SERVER_FROZEN, *LINKS)
"""Those that strike all workers in the same way, or end one. With the ledger gone as well, batches lose their ids."""
IN_CLUSTER = (*(each for each in KILLS if each.when != "half acked" and each.blow is not kill_server), *LEADERS)
CONNECTS = (
    Fault("kill -9 Connect server", "run began", kill_connect_server),
    Fault("kill -9 Connect server", "sink written", kill_connect_server),
)
DISKS = (Fault("disk of nats-server full for 3 s", "run began", fill_disk(3)),)
