"""The engine where things break: whatever dies, each message is acknowledged, a dead letter, or still on the server."""

import shutil
import signal
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from penstock_worker.engine.ground import look
from penstock_worker.engine.ledger_store import open_ledger
from penstock_worker.exchange.records import Handed
from penstock_worker.policy.identity import batch_id
from penstock_worker.policy.ledger import Entry
from penstock_worker.policy.machine import running
from penstock_worker.policy.outcome import Outcome, Rejection, Verdict
from penstock_worker.policy.settings import BatchSettings, ConnectionSettings
from tests.testbed.nats.fixtures import StartNats, StartRelay
from tests.testbed.nats.server import NatsServer
from tests.testbed.nats.shared import NEWEST, SharedServers
from tests.testbed.programs import Program
from tests.worker.engine.working import PATIENCE_SECONDS, SECOND, Scene, scene

COUNT = 300
SOME = 50
ACK_WAIT = 2 * SECOND


@pytest.fixture
def server(shared_servers: SharedServers) -> NatsServer:
    return shared_servers.get(NEWEST)


@pytest.fixture
async def work(server: NatsServer, fresh_name: str) -> AsyncIterator[Scene]:
    """A scene with small batches."""
    async with scene(server.url, f"faults-{fresh_name}") as made:
        await made.consumer()
        made.change(batch=BatchSettings(max_messages=SOME, max_wait_seconds=0.05))
        yield made


@pytest.fixture
async def impatient(server: NatsServer, fresh_name: str) -> AsyncIterator[Scene]:
    """The same with an ack wait that tests can wait for."""
    async with scene(server.url, f"faults-{fresh_name}") as made:
        await made.consumer(ack_wait=ACK_WAIT)
        made.change(batch=BatchSettings(max_messages=SOME, max_wait_seconds=0.05))
        yield made


class Gate:
    """Lets runs begin, and holds them until it is opened."""

    def __init__(self, outcome: Outcome | None = None) -> None:
        self.outcome = outcome or Outcome(Verdict.OK, 0.0)
        self.has_begun = threading.Event()
        self.opened = threading.Event()

    def __call__(self, *_: object) -> Outcome:
        self.has_begun.set()
        self.opened.wait(PATIENCE_SECONDS)
        return self.outcome


async def test_an_engine_that_is_killed_in_a_run_gets_its_batch_again_under_its_id(impatient: Scene) -> None:
    work, gate = impatient, Gate()
    work.script.process = gate
    await work.publish_many(SOME)
    with work.driver():
        first = work.program("first")
        first.start()
        await work.eventually(gate.has_begun.is_set)
        first.kill()
        before = batches(work)
        work.script.handed.clear()
        gate.opened.set()
        await work.drained()
    after = batches(work)
    assert before
    assert before.items() <= after.items()
    assert sorted(sequence for sequences in after.values() for sequence in sequences) == list(range(1, SOME + 1))
    await work.assert_all_settled()


async def test_a_batch_of_a_worker_that_is_killed_keeps_its_id_though_several_get_its_messages(
    impatient: Scene,
) -> None:
    """The server deals what comes again to all that wait for messages, one by one."""
    work, gate = impatient, Gate()
    work.script.process = gate
    await work.publish_many(SOME)
    with work.driver():
        killed = work.program("killed")
        killed.start()
        await work.eventually(gate.has_begun.is_set)
        killed.kill()
        before = batches(work)
        work.script.handed.clear()
        gate.opened.set()
        async with work.working():
            work.change(worker="etl-1")
            async with work.working():
                await work.until(pending=0)
    assert before
    after = batches(work)
    assert before.items() <= after.items()
    assert Counter(sequence for sequences in after.values() for sequence in sequences) == Counter(range(1, SOME + 1))
    await work.assert_all_settled()


def batches(work: Scene) -> dict[str, tuple[int, ...]]:
    """Return the sequences of all batches that were handed over, by id."""
    handed = list(work.script.handed)
    return {each.name.batch_id: tuple(rows["seq"].to_pylist()) for each, rows in handed}


@pytest.mark.parametrize("moment", [0, 1, 3])
async def test_an_engine_that_is_killed_at_any_moment_loses_nothing(impatient: Scene, moment: int) -> None:
    """Each time it is killed after another number of runs; every message was in a run that went well."""
    work = impatient
    runs = threading.Semaphore(0)

    def note(*_: object) -> Outcome:
        runs.release()
        return Outcome(Verdict.OK, 0.0, (Rejection(1, "no"),))

    work.script.process = note
    await work.publish_many(COUNT)
    with work.driver():
        first = work.program("first")
        first.start()
        for _ in range(moment):
            await work.eventually(lambda: runs.acquire(blocking=False))
        first.kill()
        await work.drained()
    assert {sequence for run in work.script.sequences() for sequence in run} == set(range(1, COUNT + 1))
    await work.assert_all_settled()
    assert [letter.data for letter in await work.letters()] == [b"1"]


@asynccontextmanager
async def in_a_run(work: Scene, gate: Gate) -> AsyncIterator[Program]:
    """Have an engine as a process, at the moment when a run has begun."""
    work.script.process = gate
    with work.driver():
        engine = work.program()
        engine.start()
        await work.eventually(gate.has_begun.is_set)
        yield engine


async def code_of(work: Scene, engine: Program) -> int:
    """Wait until a process has ended, and return its exit code."""
    await work.eventually(lambda: not engine.is_running)
    return engine.wait_ended(PATIENCE_SECONDS)


async def test_after_sigterm_nothing_waits_for_its_ack_wait(server: NatsServer, fresh_name: str) -> None:
    async with scene(server.url, f"faults-{fresh_name}") as work:
        await work.consumer(ack_wait=3600 * SECOND)
        work.change(batch=BatchSettings(max_messages=SOME, in_flight=1), grace_seconds=0.5)
        await work.publish_many(COUNT)
        gate = Gate(Outcome(Verdict.CANCELLED, 0.0))
        async with in_a_run(work, gate) as engine:
            engine.send(signal.SIGTERM)
            await work.eventually(work.script.is_cancelled.is_set)
            gate.opened.set()
            assert await code_of(work, engine) == 0
            work.script.process = lambda *_: Outcome(Verdict.OK, 0.0)
            await work.drained()
        await work.assert_all_settled()


async def test_a_run_that_can_be_finished_within_the_grace_is_settled_after_sigterm(work: Scene) -> None:
    await work.publish_many(SOME)
    gate = Gate()
    async with in_a_run(work, gate) as engine:
        engine.send(signal.SIGTERM)
        gate.opened.set()
        assert await code_of(work, engine) == 0
    assert (await work.info()).ack_floor.stream_sequence >= len(work.script.sequences()[0])


async def test_sigterm_ends_an_engine_whose_driver_hangs(work: Scene) -> None:
    await work.publish_many(SOME)
    work.change(grace_seconds=0.5)
    gate = Gate()
    async with in_a_run(work, gate) as engine:
        engine.send(signal.SIGTERM)
        await code_of(work, engine)
        gate.opened.set()
    info = await work.info()
    assert info.num_pending + info.num_ack_pending == SOME


async def test_a_driver_that_comes_back_as_another_process_gets_the_batch_again(work: Scene) -> None:
    gate = Gate()
    work.script.process = gate
    await work.publish_many(SOME)
    async with work.working():
        driver = work.driver_process("hang")
        driver.start()
        await work.eventually(lambda: "hanging" in driver.log_tail())
        driver.kill()
        gate.opened.set()
        with work.driver():
            await work.until(pending=0)
    assert sorted(sequence for run in work.script.sequences() for sequence in run) == list(range(1, SOME + 1))
    assert (await work.info()).num_redelivered == 0
    await work.assert_all_settled()


async def test_an_engine_whose_driver_ends_gives_back_what_it_collected_and_finishes_what_runs(work: Scene) -> None:
    """As in a pod that is deleted: the driver is told first, and the engine only once the driver is gone."""
    gate = Gate()
    work.script.process = gate
    work.change(batch=BatchSettings(max_wait_seconds=PATIENCE_SECONDS))
    with work.driver():
        engine = work.program()
        engine.start()
        await work.until_status(lambda told: told["ready"])
        await work.publish_many(1)
        await work.eventually(gate.has_begun.is_set)
        await work.publish_many(SOME)
        await work.until_status(lambda told: told["heldMessages"] == 1 + SOME)
        work.script.is_ending.set()
        await work.until_status(lambda told: told["heldMessages"] == 1 and told["holds"] == ["driver"])
        gate.opened.set()
        await work.until_status(lambda told: told["heldMessages"] == 0)
    engine.send(signal.SIGTERM)
    assert await code_of(work, engine) == 0
    info = await work.info()
    assert (info.ack_floor.stream_sequence, info.num_ack_pending) == (1, SOME)
    assert [handed.count for handed, _ in work.script.handed] == [1]


async def test_an_engine_works_on_with_the_driver_that_comes_after_one_that_ended(work: Scene) -> None:
    """As when a kubelet starts the driver's container anew, and leaves the pod and the engine as they are."""
    await work.publish_many(COUNT)
    async with work.working():
        with work.driver():
            await work.eventually(lambda: bool(work.script.handed))
            work.script.is_ending.set()
            await work.until_status(lambda told: told["heldMessages"] == 0 and "driver" in told["holds"])
        await work.publish_many(COUNT)
        work.script.is_ending.clear()
        with work.driver():
            await work.until_status(lambda told: told["ready"])
            await work.until(pending=0)
    await work.assert_all_settled()


async def test_a_driver_that_was_given_up_is_told_to_end_once_it_answers_again(
    work: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was frozen for so long would go on for ever, and nobody would give it anything."""
    monkeypatch.setattr(running, "DRIVER_DEADLINE_SECONDS", 0)
    monkeypatch.setattr(running, "CANCELLING_SECONDS", 0.1)
    work.change(batch=BatchSettings(max_messages=SOME, deadline_seconds=0.1))
    work.script.process = gate = Gate()
    await work.publish_many(SOME)
    with work.driver():
        async with work.working():
            await work.eventually(work.script.is_ended.is_set)
            gate.opened.set()
    assert (await work.info()).ack_floor.stream_sequence == 0


async def test_an_engine_waits_for_a_driver_that_is_not_there_yet_and_pulls_nothing_meanwhile(work: Scene) -> None:
    await work.publish_many(SOME)
    async with work.working():
        await work.until_status(lambda told: "driver is not ready" in told["sentence"])
        assert (await work.info()).num_ack_pending == 0
        with work.driver():
            await work.until(pending=0)
    await work.assert_all_settled()


async def test_a_server_that_is_restarted_in_a_run_confirms_the_batch_afterwards(start_nats: StartNats) -> None:
    server = start_nats()
    async with scene(server.url, "restart") as work:
        await work.consumer()
        work.script.process = gate = Gate()
        await work.publish_many(SOME)
        with work.driver():
            async with work.working():
                await work.eventually(gate.has_begun.is_set)
                server.restart()
                gate.opened.set()
                await work.until(pending=0)
        await work.assert_all_settled()


async def test_an_engine_whose_password_is_changed_comes_back_with_the_one_in_its_file_by_then(
    start_nats: StartNats, tmp_path: Path
) -> None:
    """As when a Secret changes: the server may know of it first, and the file is away for a moment."""
    people = [{"user": "tests", "password": "tests"}, {"user": "engine", "password": "before"}]
    server = start_nats(extra={"authorization": {"users": people}})
    user, password = tmp_path / "user", tmp_path / "password"
    user.write_text("engine")
    password.write_text("before\n")
    async with scene(server.url.replace("nats://", "nats://tests:tests@"), "rotated") as work:
        await work.consumer()
        work.connect(ConnectionSettings(servers=(server.url,), user_file=str(user), password_file=str(password)))
        work.script.process = gate = Gate()
        await work.publish_many(1)
        with work.driver():
            engine = work.program()
            engine.start()
            await work.eventually(gate.has_begun.is_set)
            password.unlink()
            server.config_file.write_text(server.config_file.read_text().replace("before", "after"))
            server.program.send(signal.SIGHUP)
            await work.eventually(lambda: "The link to NATS is lost" in engine.log.read_text())
            password.write_text("after\n")
            await work.until_status(lambda told: told["ready"])
            gate.opened.set()
            await work.publish_many(SOME)
            await work.until(pending=0)
            engine.kill()
        await work.assert_all_settled()


@pytest.mark.parametrize("kind", ["cut", "half-open"])
async def test_a_link_that_breaks_in_a_run_loses_nothing(
    server: NatsServer, fresh_name: str, start_relay: StartRelay, kind: str
) -> None:
    relay = start_relay(server.port)
    async with scene(server.url, f"faults-{fresh_name}") as work:
        await work.consumer(ack_wait=ACK_WAIT)
        work.connect(ConnectionSettings(servers=(relay.url,)))
        work.script.process = gate = Gate()
        await work.publish_many(SOME)
        with work.driver():
            async with work.working():
                await work.eventually(gate.has_begun.is_set)
                breaks: Callable[[], None] = relay.cut if kind == "cut" else relay.half_open
                breaks()
                gate.opened.set()
                relay.heal()
                await work.until(pending=0)
        await work.assert_all_settled()
        assert {sequence for run in work.script.sequences() for sequence in run} == set(range(1, SOME + 1))


async def test_an_engine_whose_consumer_is_deleted_ends_and_says_so(work: Scene) -> None:
    await work.publish_many(SOME)
    with work.driver():
        async with work.working() as engine:
            await work.until(pending=0)
            await work.js.consumers.delete(work.stream, "etl")
            stop = await engine
    assert stop.code == 1
    assert "was deleted" in stop.sentence


async def test_an_engine_that_finds_another_stream_of_the_name_after_an_outage_ends(start_nats: StartNats) -> None:
    """Its numbers are those of other messages: to acknowledge what is held would lose some of them."""
    server = start_nats()
    async with scene(server.url, "anew") as work:
        await work.consumer()
        work.script.process = gate = Gate()
        await work.publish_many(SOME)
        with work.driver():
            async with work.working() as engine:
                await work.eventually(gate.has_begun.is_set)
                server.kill()
                shutil.rmtree(server.store)
                server.start()
                gate.opened.set()
                stop = await engine
        assert stop.code == 1
        assert "There is nothing to pull from" in stop.sentence


async def test_what_a_server_stored_under_sequences_that_it_had_lost_is_processed(start_nats: StartNats) -> None:
    """As after a power failure: the newest messages were not on the disk yet, and others get their sequences."""
    server = start_nats()
    async with scene(server.url, "lost") as work:
        await work.consumer()
        await work.publish_many(SOME)
        with work.driver():
            async with work.working():
                await work.until(pending=0)
                server.terminate()
                shutil.copytree(server.store, server.folder / "before")
                server.start()
                await work.until(pending=0)
                await work.publish(*(b"lost",) * SOME)
                await work.until(pending=0)
                server.kill()
                shutil.rmtree(server.store)
                (server.folder / "before").rename(server.store)
                server.start()
                await work.until(pending=0)
                await work.publish(*(b"other",) * SOME)
                await work.until(pending=0)
        runs = [rows["data"].to_pylist() for _, rows in work.script.handed]
        assert Counter(data for run in runs for data in run)[b"other"] == SOME
        ids = [handed.name.batch_id for handed, _ in work.script.handed]
        assert len(set(ids)) == len(ids)


async def test_a_stream_made_anew_has_other_batches_and_other_dead_letters(work: Scene) -> None:
    """Sinks, dead letters and drivers outlive a stream: what they know by a batch's id is not of its namesake."""
    work.script.process = lambda *_: Outcome(Verdict.OK, 0.0, (Rejection(1, "no"),))
    for _ in range(2):
        await work.publish_many(1)
        with work.driver():
            await work.drained()
        await work.assert_all_settled()
        await work.js.streams.delete(work.stream)
        await work.js.streams.create({"name": work.stream, "subjects": [f"{work.stream}.>"]})
        await work.consumer()
    ids = [handed.name.batch_id for handed, _ in work.script.handed]
    assert work.script.sequences() == [[1], [1]]
    assert len(set(ids)) == 2
    assert [letter.data for letter in await work.letters()] == [b"1"] * 2


async def test_new_messages_are_processed_after_a_reset_delivers_finished_ones_again(work: Scene) -> None:
    """More messages come again than a worker has places for; it answers them at once and must go on pulling."""
    await work.publish_many(COUNT)
    with work.driver():
        async with work.working():
            await work.until(pending=0)
            await work.js.consumers.reset(work.stream, "etl", sequence=1)
            await work.publish_many(COUNT)
            await work.until(pending=0)
    assert Counter(sequence for run in work.script.sequences() for sequence in run) == Counter(range(1, 2 * COUNT + 1))
    await work.assert_all_settled()


async def test_messages_behind_those_that_a_killed_engine_had_committed_are_processed(impatient: Scene) -> None:
    """As many come again as the new engine asks for at first, and it acknowledges them all by what the ledger says."""
    work = impatient
    committed = work.settings.engine.batch.in_flight * SOME
    await work.publish_many(committed + SOME)
    assert len(await work.js.consumer(work.stream, "etl").fetch(committed + SOME)) == committed + SOME
    ground = await look(work.js, work.settings.engine)
    ledger = await open_ledger(work.js, work.stream, "etl", incarnation=ground.life, replicas=1)
    for first in range(1, committed, SOME):
        ranges = ((first, first + SOME - 1),)
        newest = (await work.js.direct.get(work.stream, sequence=ranges[0][1])).timestamp_ns
        name = batch_id(work.stream, "etl", ranges, newest=newest)
        await ledger.write(Entry(batch_id=name, ranges=ranges, newest=newest, worker="w", committed=True))
    with work.driver():
        await work.drained()
    last = range(committed + 1, committed + SOME + 1)
    assert sorted(sequence for run in work.script.sequences() for sequence in run) == list(last)
    await work.assert_all_settled()


async def test_a_consumer_made_anew_gets_what_was_committed_for_its_namesake(work: Scene) -> None:
    """Who deletes a consumer to have everything once more is not to have it acknowledged unseen."""
    await work.publish_many(SOME)
    ground = await look(work.js, work.settings.engine)
    ledger = await open_ledger(work.js, work.stream, "etl", incarnation=ground.life, replicas=1)
    ranges = ((1, SOME),)
    newest = (await work.js.direct.get(work.stream, sequence=SOME)).timestamp_ns
    name = batch_id(work.stream, "etl", ranges, newest=newest)
    await ledger.write(Entry(batch_id=name, ranges=ranges, newest=newest, worker="w", committed=True))
    assert len(await ledger.entries()) == 1
    await work.js.consumers.delete(work.stream, "etl")
    await work.consumer()
    with work.driver():
        await work.drained()
    assert sorted(sequence for each in work.script.sequences() for sequence in each) == list(range(1, SOME + 1))


async def test_a_dead_letter_that_cannot_be_stored_keeps_its_message_until_it_can(work: Scene) -> None:
    def reject(handed: Handed, _rows: object) -> Outcome:
        return Outcome(Verdict.OK, 0.0, (Rejection(handed.ranges[0][0], "no"),))

    work.script.process = reject
    await work.js.streams.create({"name": work.dead, "subjects": ["dead.elsewhere"]})
    await work.publish_many(1)
    with work.driver():
        async with work.working():
            await work.eventually(lambda: bool(work.script.handed))
            assert (await work.info()).num_ack_pending == 1
            subjects = ["dead.elsewhere", f"dead.{work.stream}.>"]
            await work.js.streams.update({"name": work.dead, "subjects": subjects, "allow_direct": True})
            await work.until(pending=0)
    assert [letter.data for letter in await work.letters()] == [b"1"]


async def test_two_engines_share_the_messages_and_each_is_processed_once(work: Scene) -> None:
    await work.publish_many(COUNT)
    with work.driver():
        async with work.working():
            work.change(worker="etl-1")
            async with work.working():
                await work.until(pending=0)
    assert Counter(sequence for run in work.script.sequences() for sequence in run) == Counter(range(1, COUNT + 1))
    await work.assert_all_settled()
