"""A batch of the usual size lapses on a real server, comes back and is settled, and the event loop is never blocked."""

import time
from asyncio import Handle

import pytest

from penstock_worker.engine.ground import look
from penstock_worker.engine.ledger_store import LedgerStore
from penstock_worker.policy.identity import batch_id
from penstock_worker.policy.ledger import Entry
from penstock_worker.policy.settings import BatchSettings
from tests.testbed.heap import small_heap
from tests.testbed.waiting import WITHIN_SECONDS, eventually_async
from tests.worker.engine.working import CONSUMER, SECOND, Scene

ENTRIES = 800
"""200 workers with 4 open batches each."""
MESSAGES = BatchSettings().max_messages
STALL_SECONDS = 0.2
"""Of CPU time, which other processes hardly change."""
ACK_WAIT_SECONDS = 10
"""Longer than a busy machine takes to deliver all of them."""
PATIENCE_SECONDS = 2 * WITHIN_SECONDS


async def write_entries(work: Scene) -> str:
    """Write open batches of other workers to the ledger, and return the id of the first, which has all messages."""
    ground = await look(work.js, work.settings.engine)
    ledger = LedgerStore(work.js, work.stream, CONSUMER, ground.life)
    newest = (await work.js.direct.get(work.stream, sequence=MESSAGES)).timestamp_ns
    names = []
    for number in range(ENTRIES):
        ranges = ((number * MESSAGES + 1, (number + 1) * MESSAGES),)
        names.append(batch_id(work.stream, CONSUMER, ranges, newest=newest, life=ground.life))
        await ledger.write(Entry(batch_id=names[-1], ranges=ranges, newest=newest, worker="w"))
    return names[0]


async def publish(work: Scene) -> None:
    async with work.js.publisher(max_in_flight=1000, timeout_seconds=WITHIN_SECONDS) as publisher:
        for number in range(MESSAGES):
            _ = await publisher.submit(f"{work.stream}.a", b"%d" % number)


async def deliver_to_a_lost_worker(work: Scene) -> None:
    """Have each message delivered once, and available again."""
    replies: list[bytes] = []
    async with work.js.consumer(work.stream, CONSUMER).lane(max_messages=MESSAGES) as lane:
        async for block in lane:
            replies += block.replies
            if len(replies) == MESSAGES:
                break
        lane.nak(replies)


class Watch:
    """Measures the longest step of the event loop, in CPU time."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.longest = 0.0
        run = Handle._run  # noqa: SLF001 - there is no other place where every step can be seen

        def measured(handle: Handle) -> None:
            began = time.thread_time()
            run(handle)
            self.longest = max(self.longest, time.thread_time() - began)

        patch.setattr(Handle, "_run", measured)


def freeze_this_process() -> None:
    """Stop for longer than leases last, as SIGSTOP does, which would stop the test as well."""
    time.sleep(1.5 * ACK_WAIT_SECONDS)  # calm: nothing else is to happen meanwhile


@pytest.mark.full
async def test_batch_of_the_usual_size_comes_back_without_blocking_the_event_loop(
    work: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def delivered(times: int) -> bool:
        return (await work.info()).delivered.consumer_sequence >= times * MESSAGES

    await publish(work)
    await deliver_to_a_lost_worker(work)
    await work.js.consumers.update(work.stream, {**(await work.info()).config, "ack_wait": ACK_WAIT_SECONDS * SECOND})
    lost = await write_entries(work)
    work.change(batch=BatchSettings())
    gate = work.hold_runs()
    watch = Watch(monkeypatch)
    with small_heap():
        async with work.worker():
            await eventually_async(gate.has_begun.is_set, "the batch of the lost worker runs", PATIENCE_SECONDS)
            before = (await work.info()).delivered.consumer_sequence
            freeze_this_process()
            await eventually_async(
                lambda: delivered(before // MESSAGES + 1), "its messages come again", PATIENCE_SECONDS
            )
            gate.open()
            await work.until(pending=0)
    ((handed, _),) = work.script.handed
    assert (handed.name.batch_id, handed.count) == (lost, MESSAGES)
    assert watch.longest < STALL_SECONDS
