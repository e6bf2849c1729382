"""The scenes of chaos: which place, which messages, which faults, and what must have come of them."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from penstock_worker.policy.settings import BatchSettings
from tests.chaos import faults
from tests.chaos.faults import Fault
from tests.chaos.place import BATCH, CONNECT, Draft, Shape
from tests.chaos.rounds import POISON, Play, faithful, fed, stopped, struck, struck_often
from tests.chaos.site import Site, clustered, cramped, single
from tests.testbed.nats.server import Options
from tests.worker.driver.driving import QUICK

LARGE_BYTES = 5_000_000
KILLER = Draft(b"killer")
EXECUTORS = {**QUICK, "spark.executor.memory": "512m", "spark.scheduler.minRegisteredResourcesRatio": "1.0"}


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One place, and what happens in it."""

    name: str
    shape: Shape
    plays: tuple[Play, ...]
    site: Callable[[], AbstractContextManager[Site]] = single
    is_exact: bool = True
    """Whether a sink that takes a batch's id once has each message once."""


def large() -> AbstractContextManager[Site]:
    return single(Options(max_payload_bytes=2 * LARGE_BYTES))


def each(faults: tuple[Fault, ...], messages: int) -> tuple[Play, ...]:
    return tuple(struck(fault, messages) for fault in faults)


def some(draft: Draft, *places: int) -> Mapping[int, Draft]:
    return dict.fromkeys(places, draft)


def large_ones(count: int) -> Mapping[int, Draft]:
    """Return numbers with many spaces around them, which are numbers all the same."""
    return {place: Draft((b"%d" % place).ljust(LARGE_BYTES)) for place in range(1, count + 1)}


HEADERS = {
    1: Draft(b""),
    2: Draft(b"", {"Empty": ""}),
    3: Draft(b"\xff\x00\r\n", {"Region": "é", "Letters": ["ä", "ß", "ä"]}),
    4: Draft(b"x", {"Twice": ["1", "2"], "twice": "3"}),
    5: Draft(b"\x00" * 1000),
}
SMALL = replace(BATCH, max_messages=20)

TELLING = (
    Scene(
        name="cheap",
        shape=Shape(batch=replace(BATCH, max_messages=500)),
        plays=(
            *each(faults.TELLING, 4_000),
            fed("message that cannot be processed", "last", 1_000, some(POISON, 1_000)),
        ),
    ),
    Scene(
        name="cheap, three servers",
        shape=Shape(batch=replace(BATCH, max_messages=500)),
        site=clustered,
        plays=(struck_often("any, three servers", faults.IN_CLUSTER, 6, 3_000),),
    ),
    Scene(name="cheap, consumer", shape=Shape(), plays=each(faults.CONSUMERS, 2_000), is_exact=False),
)
"""Of all, what tells most for its time: for every run of the tests."""

SCENES = (
    Scene(name="killed", shape=Shape(), plays=each(faults.KILLS, 20_000)),
    Scene(name="frozen and cut off", shape=Shape(), plays=each((*faults.STILLS, *faults.LINKS), 20_000)),
    Scene(name="two workers", shape=Shape(workers=2), plays=each(faults.TWINS, 30_000)),
    Scene(
        name="two workers in a storm",
        shape=Shape(workers=2),
        plays=each(faults.STORMS, 30_000),
    ),
    Scene(name="three servers", shape=Shape(), site=clustered, plays=each(faults.LEADERS, 20_000)),
    Scene(name="consumer deleted", shape=Shape(), plays=each(faults.CONSUMERS, 5_000), is_exact=False),
    Scene(name="ledger deleted", shape=Shape(workers=2), plays=each(faults.LEDGERS, 20_000)),
    Scene(
        name="one worker, again and again",
        shape=Shape(),
        plays=(struck_often("any, one worker", (*faults.SHARED, *faults.STILLS), 50, 10_000, poison_share=0.1),) * 10,
    ),
    Scene(
        name="two workers, again and again",
        shape=Shape(workers=2),
        plays=(struck_often("any, two workers", (*faults.SHARED, *faults.STILLS), 50, 10_000, poison_share=0.1),) * 6,
    ),
    Scene(
        name="three workers and servers, again and again",
        shape=Shape(workers=3),
        site=clustered,
        plays=(struck_often("any, three workers and servers", faults.IN_CLUSTER, 50, 6_000),) * 3,
    ),
    Scene(
        name="batches of the default size",
        shape=Shape(batch=BatchSettings(), ack_wait_seconds=10),
        plays=(struck_often("any, batches of the default size", faults.SHARED, 16, 100_000),),
    ),
    Scene(
        name="executors",
        shape=Shape(master="local-cluster[2,1,768]", conf=EXECUTORS),
        plays=each(faults.EXECUTORS, 20_000),
    ),
    Scene(name="connect", shape=Shape(master=CONNECT), plays=each(faults.CONNECTS, 20_000)),
    Scene(
        name="slow job",
        shape=Shape(entrypoint="chaos_job:slow", ack_wait_seconds=1),
        plays=(fed("ack wait shorter than a batch", "4 s of 1 s", 10_000),),
    ),
    Scene(
        name="few at a time",
        shape=Shape(max_ack_pending=1_000),
        plays=(
            fed("max_ack_pending 1 000", "", 20_000),
            *each((faults.Fault("kill -9 engine, max_ack_pending 1 000", "run began", faults.kill("engine")),), 10_000),
        ),
    ),
    Scene(
        name="poison",
        shape=Shape(),
        plays=(
            fed("message that cannot be processed", "first", 10_000, some(POISON, 1)),
            fed("message that cannot be processed", "last", 10_000, some(POISON, 10_000)),
            fed("message that cannot be processed", "everywhere", 20_000, some(POISON, *range(1_000, 20_000, 2_000))),
        ),
    ),
    Scene(
        name="killer",
        shape=Shape(entrypoint="chaos_job:killed_by_a_message", batch=SMALL),
        plays=(fed("message that kills the JVM each time", "", 100, some(KILLER, 50)),),
    ),
    Scene(
        name="hanging",
        shape=Shape(entrypoint="chaos_job:hangs_once", batch=replace(BATCH, deadline_seconds=4)),
        plays=(fed("process() that hangs", "past its deadline", 10_000),),
    ),
    Scene(
        name="wrong column",
        shape=Shape(entrypoint="chaos_job:wrong_column"),
        plays=(stopped("wrong column", "stops, dead letters empty", "no_such_column", 10_000),),
    ),
    Scene(
        name="missing module",
        shape=Shape(entrypoint="chaos_job:missing_module", master=CONNECT),
        plays=(stopped("missing module on a Connect server", "stops, dead letters empty", "no_such_module", 10_000),),
    ),
    Scene(
        name="large", shape=Shape(), site=large, plays=(fed("messages of 5 MB", "", 20, large_ones(20), is_dead=False),)
    ),
    Scene(
        name="faithful",
        shape=Shape(entrypoint="chaos_job:faithful"),
        plays=(faithful("empty payloads, repeated and non-ASCII headers", HEADERS),),
    ),
    Scene(name="disk full", shape=Shape(), site=cramped, plays=each(faults.DISKS, 20_000)),
)
