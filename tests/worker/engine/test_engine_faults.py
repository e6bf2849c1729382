"""The engine when something fails: each message is acknowledged, a dead letter, or still on the server."""

import shutil
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import pytest

from penstock_jetstream.errors import BufferFullError
from penstock_worker.engine.answers import Answers
from penstock_worker.engine.ground import look
from penstock_worker.engine.ledger_store import BUCKET, LedgerStore
from penstock_worker.policy.identity import batch_id
from penstock_worker.policy.ledger import Entry
from penstock_worker.policy.machine import running
from penstock_worker.policy.outcome import Outcome, Rejection, Verdict
from penstock_worker.policy.settings import BatchSettings, ConnectionSettings
from tests.testbed.nats.fixtures import StartNats, StartRelay
from tests.testbed.nats.server import NatsServer
from tests.testbed.programs import Program
from tests.worker.engine.working import ACK_WAIT, PATIENCE_SECONDS, SECOND, Scene, scene
from tests.worker.scripted_driver import Gate

COUNT = 300
SOME = 50
REJECTED = Outcome(Verdict.OK, 0.0, (Rejection(1, "no"),))
T = TypeVar("T")


@pytest.fixture
def work(work: Scene) -> Scene:
    """A scene with small batches."""
    work.change(batch=BatchSettings(max_messages=SOME, max_wait_seconds=0.05))
    return work


@asynccontextmanager
async def process(work: Scene) -> AsyncIterator[Program]:
    """Start a driver, and an engine as a process."""
    with work.driver():
        engine = work.program()
        engine.start()
        yield engine


@asynccontextmanager
async def in_a_run(
    work: Scene, worker: AbstractAsyncContextManager[T], *, messages: int = SOME, outcome: Outcome | None = None
) -> AsyncIterator[tuple[T, Gate]]:
    """Publish messages, start a worker, and wait until it has a run, which ends once the gate is opened."""
    gate = work.hold_runs(outcome)
    await work.publish_many(messages)
    async with worker as engine:
        await work.eventually(gate.has_begun.is_set)
        yield engine, gate


def batches(work: Scene) -> dict[str, tuple[int, ...]]:
    """Return the sequences of all batches that were handed over, by id."""
    handed = list(work.script.handed)
    return {each.name.batch_id: tuple(rows["seq"].to_pylist()) for each, rows in handed}


async def code_of(work: Scene, engine: Program) -> int:
    """Wait until a process has ended, and return its exit code."""
    await work.eventually(lambda: not engine.is_running)
    return engine.wait_ended(PATIENCE_SECONDS)


@pytest.mark.parametrize(
    "workers", [pytest.param(1, marks=pytest.mark.interpreter), pytest.param(2, marks=pytest.mark.full)]
)
async def test_batch_of_a_killed_engine_is_processed_again_under_its_id(work: Scene, workers: int) -> None:
    """The server deals redelivered messages to all workers that wait for messages, one by one."""
    await work.replace_consumer(ack_wait=ACK_WAIT)
    async with in_a_run(work, process(work)) as (killed, gate), AsyncExitStack() as engines:
        killed.kill()
        before = batches(work)
        work.script.handed.clear()
        gate.open()
        for number in range(workers):
            work.change(worker=f"etl-{number}")
            _ = await engines.enter_async_context(work.working())
        await work.until(pending=0)
    after = batches(work)
    assert before
    assert before.items() <= after.items()
    assert sorted(chain(*after.values())) == [*range(1, SOME + 1)], "each message is in one batch"
    await work.assert_all_settled()


@pytest.mark.full
async def test_engine_gives_its_messages_back_at_sigterm(work: Scene) -> None:
    """None of them waits for the end of its ack wait."""
    await work.replace_consumer(ack_wait=3600 * SECOND)
    work.change(batch=BatchSettings(max_messages=SOME, in_flight=1), grace_seconds=0.5)
    cancelled = Outcome(Verdict.CANCELLED, 0.0)
    async with in_a_run(work, process(work), messages=COUNT, outcome=cancelled) as (engine, gate):
        engine.send(signal.SIGTERM)
        await work.eventually(work.script.is_cancelled.is_set)
        gate.open()
        assert await code_of(work, engine) == 0
        work.script.process = lambda *_: Outcome(Verdict.OK, 0.0)
        await work.drained()
    await work.assert_all_settled()


@pytest.mark.interpreter
async def test_run_that_finishes_within_the_grace_period_is_settled_after_sigterm(work: Scene) -> None:
    async with in_a_run(work, process(work)) as (engine, gate):
        engine.send(signal.SIGTERM)
        gate.open()
        assert await code_of(work, engine) == 0
    assert (await work.info()).ack_floor.stream_sequence >= len(work.script.sequences()[0])


@pytest.mark.full
async def test_sigterm_ends_an_engine_whose_driver_hangs(work: Scene) -> None:
    work.change(grace_seconds=0.5)
    async with in_a_run(work, process(work)) as (engine, gate):
        engine.send(signal.SIGTERM)
        await code_of(work, engine)
        gate.open()
    info = await work.info()
    assert info.num_pending + info.num_ack_pending == SOME


async def test_engine_goes_on_with_the_driver_that_replaces_one_that_ended(work: Scene) -> None:
    """A kubelet may restart the driver's container, and leave the pod and the engine as they are."""
    await work.publish_many(COUNT)
    async with work.working():
        with work.driver():
            await work.eventually(lambda: bool(work.script.handed))
            work.script.is_ending.set()
            await work.until_status(lambda status: status["heldMessages"] == 0 and "driver" in status["holds"])
        await work.publish_many(COUNT)
        work.script.is_ending.clear()
        with work.driver():
            await work.until_status(lambda status: status["ready"])
            await work.until(pending=0)
    await work.assert_all_settled()


async def test_abandoned_driver_is_ordered_to_end(work: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that was frozen for long would otherwise stay, and get no batch from any engine."""
    monkeypatch.setattr(running, "DRIVER_DEADLINE_SECONDS", 0)
    monkeypatch.setattr(running, "CANCELLING_SECONDS", 0.1)
    work.change(batch=BatchSettings(max_messages=SOME, deadline_seconds=0.1))
    gate = work.hold_runs()
    await work.publish_many(SOME)
    async with work.worker():
        await work.eventually(work.script.is_ended.is_set)
        gate.open()
    assert (await work.info()).ack_floor.stream_sequence == 0


async def test_batch_is_confirmed_after_its_server_restarts_in_a_run(start_nats: StartNats) -> None:
    server = start_nats()
    async with scene(server.url, "restart") as work:
        async with in_a_run(work, work.worker()) as (_, gate):
            server.restart()
            gate.open()
            await work.until(pending=0)
        await work.assert_all_settled()


@pytest.mark.full
async def test_engine_reconnects_with_a_changed_password(start_nats: StartNats, tmp_path: Path) -> None:
    """When a Secret changes, the server may know of it first, and the file may be missing for a moment."""
    people = [{"user": "tests", "password": "tests"}, {"user": "engine", "password": "before"}]
    server = start_nats(extra={"authorization": {"users": people}})
    user, password = tmp_path / "user", tmp_path / "password"
    user.write_text("engine")
    password.write_text("before\n")
    async with scene(server.url.replace("nats://", "nats://tests:tests@"), "rotated") as work:
        work.connect(ConnectionSettings(servers=(server.url,), user_file=str(user), password_file=str(password)))
        async with in_a_run(work, process(work), messages=1) as (engine, gate):
            password.unlink()
            server.config_file.write_text(server.config_file.read_text().replace("before", "after"))
            server.send(signal.SIGHUP)
            await work.eventually(lambda: "The link to NATS is lost" in engine.log.read_text())
            password.write_text("after\n")
            await work.until_status(lambda status: status["ready"])
            gate.open()
            await work.publish_many(SOME)
            await work.until(pending=0)
            engine.kill()
        await work.assert_all_settled()


@pytest.mark.full
@pytest.mark.parametrize("kind", ["cut", "half-open"])
async def test_broken_link_loses_nothing(server: NatsServer, work: Scene, start_relay: StartRelay, kind: str) -> None:
    relay = start_relay(server.port)
    await work.replace_consumer(ack_wait=ACK_WAIT)
    work.connect(ConnectionSettings(servers=(relay.url,)))
    async with in_a_run(work, work.worker()) as (_, gate):
        breaks: Callable[[], None] = relay.cut if kind == "cut" else relay.half_open
        breaks()
        gate.open()
        relay.heal()
        await work.until(pending=0)
    await work.assert_all_settled()
    assert {*work.handed()} == {*range(1, SOME + 1)}


async def test_deletion_of_the_consumer_ends_the_engine(work: Scene) -> None:
    await work.publish_many(SOME)
    async with work.worker() as engine:
        await work.until(pending=0)
        await work.js.consumers.delete(work.stream, "etl")
        stop = await engine
    assert stop.code == 1
    assert "was deleted" in stop.sentence


async def test_engine_that_pulls_nothing_notices_that_its_consumer_was_recreated(work: Scene) -> None:
    work.change(batch=BatchSettings(max_messages=SOME, max_wait_seconds=0.05, in_flight=1))
    async with in_a_run(work, work.worker(), messages=4 * SOME) as (engine, _):
        await work.until_status(lambda status: "full" in status["holds"])
        await work.replace_consumer()
        stop = await engine
    assert stop.code == 1
    assert "made anew" in stop.sentence


async def test_engine_settles_its_batch_and_ends_once_the_server_limits_deliveries(work: Scene) -> None:
    async with in_a_run(work, work.worker(), messages=SOME) as (engine, gate):
        await work.js.consumers.modify(work.stream, "etl", lambda config: {**config, "max_deliver": 2})
        await work.until_status(lambda status: "has max_deliver 2" in status["sentence"])
        gate.open()
        stop = await engine
    assert stop.code == 0
    await work.assert_all_settled()


async def test_engine_ends_if_it_cannot_carry_out_what_it_decided(work: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise BufferFullError("The buffer is full.")

    monkeypatch.setattr(Answers, "in_progress", refuse)
    await work.replace_consumer(ack_wait=ACK_WAIT)
    with pytest.RaisesGroup(BufferFullError, flatten_subgroups=True):
        async with in_a_run(work, work.worker()) as (engine, _):
            await engine


@pytest.mark.full
async def test_another_stream_of_the_same_name_after_an_outage_ends_the_engine(start_nats: StartNats) -> None:
    """Its sequences are those of other messages: to acknowledge what is held would lose some of them."""
    server = start_nats()
    async with scene(server.url, "replaced") as work:
        async with in_a_run(work, work.worker()) as (engine, gate):
            server.kill()
            shutil.rmtree(server.store)
            server.start()
            gate.open()
            stop = await engine
        assert stop.code == 1
        assert "There is nothing to pull from" in stop.sentence


@pytest.mark.full
async def test_messages_stored_under_sequences_that_the_server_had_lost_are_processed(start_nats: StartNats) -> None:
    """After a power failure the newest messages may not be on the disk, and others get their sequences."""
    server = start_nats()
    async with scene(server.url, "lost") as work:
        await work.publish_many(SOME)
        async with work.worker():
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
        payloads = [data for _, rows in work.script.handed for data in rows["data"].to_pylist()]
        assert payloads.count(b"other") == SOME
        ids = [handed.name.batch_id for handed, _ in work.script.handed]
        assert len(set(ids)) == len(ids)


async def test_recreated_stream_or_consumer_has_other_batch_ids_and_other_dead_letters(work: Scene) -> None:
    """Sinks, dead letters and drivers outlive both: what they know by a batch's id is about the former ones."""
    work.script.process = lambda *_: REJECTED
    await work.publish_many(1)
    await work.process_all()
    await work.replace_consumer()
    await work.process_all()
    await work.js.streams.delete(work.stream)
    await work.create_stream()
    await work.publish_many(1)
    await work.process_all()
    assert work.script.sequences() == [[1]] * 3
    assert len({handed.name.batch_id for handed, _ in work.script.handed}) == 3
    assert len({handed.incarnation for handed, _ in work.script.handed}) == 3, "messages that are sent have new ids"
    assert [letter.data for letter in await work.letters()] == [b"1"] * 3


async def test_new_messages_are_processed_after_a_reset_redelivers_finished_ones(work: Scene) -> None:
    """More messages come again than a worker has places for; it answers them at once and must go on pulling."""
    await work.publish_many(COUNT)
    async with work.worker():
        await work.until(pending=0)
        await work.js.consumers.reset(work.stream, "etl", sequence=1)
        await work.publish_many(COUNT)
        await work.until(pending=0)
    assert work.handed() == [*range(1, 2 * COUNT + 1)]
    await work.assert_all_settled()


async def commit(work: Scene, *firsts: int) -> LedgerStore:
    """Write to the ledger that batches which begin with these messages are committed, and return it."""
    ground = await look(work.js, work.settings.engine)
    ledger = LedgerStore(work.js, work.stream, "etl", ground.life)
    for first in firsts:
        ranges = ((first, first + SOME - 1),)
        newest = (await work.js.direct.get(work.stream, sequence=ranges[0][1])).timestamp_ns
        name = batch_id(work.stream, "etl", ranges, newest=newest, life=ground.life)
        await ledger.write(Entry(batch_id=name, ranges=ranges, newest=newest, worker="w", committed=True))
    return ledger


@pytest.mark.full
async def test_messages_behind_those_that_a_killed_engine_had_committed_are_processed(work: Scene) -> None:
    """As many come again as the new engine asks for at first, and it acknowledges them all because of the ledger."""
    await work.replace_consumer(ack_wait=ACK_WAIT)
    committed = work.settings.engine.batch.in_flight * SOME
    await work.publish_many(committed + SOME)
    assert len(await work.js.consumer(work.stream, "etl").fetch(committed + SOME)) == committed + SOME
    await commit(work, *range(1, committed, SOME))
    await work.process_all()
    assert work.handed() == [*range(committed + 1, committed + SOME + 1)]


async def test_entries_of_a_former_consumer_are_removed_and_those_of_a_later_one_stay(work: Scene) -> None:
    """An engine that has not yet noticed that its consumer was recreated must not remove what the next one writes."""
    former, later = (
        LedgerStore(work.js, work.stream, "etl", f"2026-11-19T10:00:00+00:00 2026-11-19T{hour}:00:00.5+00:00")
        for hour in ("11", "12")
    )
    for store, last in ((former, 1), (later, 2)):
        entry = Entry(batch_id=f"{work.stream}.etl.1-{last}.0", ranges=((1, last),), newest=1, worker="w")
        await store.write(entry)
    assert [entry.ranges for entry in await former.entries()] == [((1, 1),)]
    for _ in range(2):
        assert [entry.ranges for entry in await later.entries()] == [((1, 2),)]
    assert await former.entries() == ()


async def test_recreated_consumer_gets_messages_that_were_committed_for_the_former_one(work: Scene) -> None:
    """A user who deletes a consumer to process everything once more must not have it acknowledged unprocessed."""
    await work.publish_many(SOME)
    ledger = await commit(work, 1)
    assert len(await ledger.entries()) == 1
    await work.replace_consumer()
    await work.process_all()
    assert work.handed() == [*range(1, SOME + 1)]


@pytest.fixture
async def alone(start_nats: StartNats) -> AsyncIterator[Scene]:
    """A scene on a server of its own: all groups of an account share the ledger's bucket."""
    async with scene(start_nats().url, "alone") as made:
        made.script.process = lambda *_: Outcome(
            Verdict.OK, 0.0, tuple(Rejection(each, "no") for each in range(1, SOME))
        )
        yield made


def saying(what: str) -> Callable[[dict[str, Any]], bool]:
    return lambda status: what in status["sentence"]


async def test_deleted_ledger_and_dead_letter_stream_are_reported_until_they_are_back(
    alone: Scene, subtests: pytest.Subtests
) -> None:
    """Also at the start. Nothing is lost, and work goes on without a restart."""
    work = alone
    missing = (f"KV_{BUCKET}", work.dead)
    for name in missing:
        await work.js.streams.delete(name)
    async with work.worker():
        for round_ in range(2):
            for name in missing:
                with subtests.test(name, round=round_):
                    await work.publish_many(1)
                    status = await work.until_status(saying(name))
                    assert (status["ready"], status["why"]) == (False, "streams")
            await work.create_prerequisites()
            await work.until_status(lambda status: status["ready"])
            await work.until(pending=0)
            assert [letter.data for letter in await work.letters()] == [b"1"] * len(missing)
            for name in missing:
                await work.js.streams.delete(name)
    await work.assert_all_settled()


async def test_streams_that_would_lose_letters_or_entries_are_reported_with_the_fix(
    alone: Scene, subtests: pytest.Subtests
) -> None:
    work = alone
    cases: dict[str, dict[str, Any]] = {
        "retention is interest": {"retention": "interest"},
        "no_ack is set": {"no_ack": True},
        "max_msgs_per_subject is 1": {"max_msgs_per_subject": 1},
        "it is sealed": {"sealed": True},
    }
    for sentence, config in cases.items():
        with subtests.test(sentence):
            await work.js.streams.delete(work.dead)
            dead = {
                "name": work.dead,
                "subjects": [f"{work.settings.engine.dead_letter_subject}.>"],
                "allow_direct": True,
            }
            sealed = config.pop("sealed", False)
            await work.js.streams.create({**dead, **config})
            if sealed:
                await work.js.streams.update({**dead, "sealed": True})
            await work.publish_many(1)
            async with work.worker():
                status = await work.until_status(saying(sentence))
                await work.eventually(lambda: bool(work.script.handed))
                assert "name another stream" in status["sentence"]
                assert (await work.info()).ack_floor.stream_sequence == 0
    await work.js.streams.delete(work.dead)
    await work.create_prerequisites()
    await work.js.streams.delete(f"KV_{BUCKET}")
    await work.js.key_value.create(BUCKET, storage="memory")
    async with work.worker():
        await work.until_status(saying("storage is memory"))


async def test_message_is_kept_until_its_dead_letter_can_be_stored(work: Scene) -> None:
    work.script.process = lambda *_: REJECTED
    await work.js.streams.update({"name": work.dead, "subjects": ["dead.elsewhere"], "allow_direct": True})
    await work.publish_many(1)
    async with work.worker():
        await work.eventually(lambda: bool(work.script.handed))
        assert (await work.info()).num_ack_pending == 1
        subjects = ["dead.elsewhere", f"{work.settings.engine.dead_letter_subject}.>"]
        await work.js.streams.update({"name": work.dead, "subjects": subjects, "allow_direct": True})
        await work.until(pending=0)
    assert [letter.data for letter in await work.letters()] == [b"1"]
