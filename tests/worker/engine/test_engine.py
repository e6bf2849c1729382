"""The engine on a real server, with a driver of the test's at the other end: each message has its one final answer."""

import threading
from collections import Counter
from collections.abc import AsyncIterator

import pyarrow as pa
import pytest

from penstock_worker.exchange.columns import OUTGOING
from penstock_worker.exchange.records import Description, Handed
from penstock_worker.policy.machine import collecting
from penstock_worker.policy.outcome import Fault, Outcome, Rejection, Verdict
from penstock_worker.policy.settings import BatchSettings
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.server import NatsServer
from tests.testbed.nats.shared import NEWEST, NEWEST_VARIANTS, SharedServers
from tests.worker.engine.working import PATIENCE_SECONDS, SECOND, Scene, scene

MANY = 2_500
MOST = 20
"""Of a batch, where a test has its own."""
LARGE = 5 << 20
BAD = 7
ACK_WAIT = 4 * SECOND
"""Renewed each third of it: an engine that has to wait for the processor for two more has lost nothing yet."""
FAULT = Fault("ArithmeticException", "÷ by zero\nin row 7", "DIVIDE_BY_ZERO", "22012", "at\nline", "etl.py:3")


@pytest.fixture
def server(shared_servers: SharedServers) -> NatsServer:
    return shared_servers.get(NEWEST)


@pytest.fixture
async def work(server: NatsServer, fresh_name: str) -> AsyncIterator[Scene]:
    async with scene(server.url, f"engine-{fresh_name}") as made:
        await made.consumer()
        yield made


@pytest.mark.parametrize("variant", NEWEST_VARIANTS)
async def test_every_message_goes_to_the_driver_once_and_is_acknowledged(
    variant: str, shared_servers: SharedServers, fresh_name: str
) -> None:
    async with scene(shared_servers.get(variant).url, f"engine-{fresh_name}") as work:
        await work.consumer()
        await work.publish_many(MANY)
        with work.driver():
            stop = await work.drained()
        assert stop.code == 0
        assert sorted(all_handed(work)) == list(range(1, MANY + 1))
        assert max(handed.count for handed, _ in work.script.handed) <= work.settings.engine.batch.max_messages
        await work.assert_all_settled()
        assert await work.letters() == []


def all_handed(work: Scene) -> list[int]:
    """Return the sequences of all runs, one after the other."""
    return [sequence for run in work.script.sequences() for sequence in run]


async def test_a_batch_says_what_it_is(work: Scene) -> None:
    done = threading.Event()

    def hold(*_: object) -> Outcome:
        done.wait(PATIENCE_SECONDS)
        return Outcome(Verdict.OK, 0.0)

    work.script.process = hold
    work.batch_of(2)
    await work.publish(b"1")
    with work.driver():
        async with work.working():
            await work.eventually(lambda: len(work.script.handed) == 1)
            await work.publish(b"22", b"333")
            await work.eventually(lambda: len(work.script.handed) == 2)
            done.set()
            await work.until(pending=0)
    _, (handed, _) = work.script.handed
    assert handed.name.batch_id.startswith(f"{work.stream}.etl.2-3.")
    assert (handed.ranges, handed.count, handed.attempt, handed.redelivered) == (((2, 3),), 2, 1, False)
    assert handed.deadline_seconds == work.settings.engine.batch.deadline_seconds


async def test_headers_empty_payloads_and_other_alphabets_reach_the_driver_as_they_were(work: Scene) -> None:
    await work.publish(b"", subject="commande.é", headers={"Name": ["é", "è"], "name": "ñ"})
    with work.driver():
        await work.drained()
    (row,) = work.script.handed[0][1].to_pylist()
    assert row["subject"] == f"{work.stream}.commande.é"
    assert row["data"] == b""
    assert row["headers"] == [("Name", ["é", "è"]), ("name", ["ñ"])]
    assert row["stream"] == work.stream


async def test_messages_of_many_megabytes_are_processed(start_nats: StartNats) -> None:
    async with scene(start_nats(max_payload_bytes=8 << 20).url, "large") as work:
        await work.consumer()
        work.change(batch=BatchSettings(max_messages=10, max_bytes=2 * LARGE))
        await work.publish(*(bytes([number]) * LARGE for number in range(6)))
        with work.driver():
            await work.drained()
        assert sorted(all_handed(work)) == list(range(1, 7))
        assert all(handed.bytes <= 2 * LARGE + 1000 for handed, _ in work.script.handed)
        await work.assert_all_settled()


async def test_rejected_messages_become_dead_letters_and_the_others_are_acknowledged(work: Scene) -> None:
    def reject_the_first(_handed: Handed, rows: pa.Table) -> Outcome:
        rejections = (Rejection(1, "no amount\nin it"),) if 1 in rows["seq"].to_pylist() else ()
        return Outcome(Verdict.OK, 0.1, rejections)

    await work.publish(b"good", b"bad", b"good", headers={"Trace": "é", "Nats-Foo": "bar"})
    work.script.process = reject_the_first
    with work.driver():
        await work.drained()
    await work.assert_all_settled()
    (letter,) = await work.letters()
    assert letter.subject == f"dead.{work.stream}.{work.stream}.a"
    assert letter.data == b"good"
    headers = letter.headers
    assert headers["Penstock-Reason"] == r"no amount\nin it"
    assert headers["Penstock-Sequence"] == "1"
    assert headers["Trace"] == "é"
    assert headers["Penstock-Original-Nats-Foo"] == "bar"
    assert headers["Nats-Msg-Id"].startswith(f"{work.stream}:1:etl:")


async def test_a_message_that_cannot_be_processed_is_found_and_put_aside_alone(work: Scene) -> None:
    def fail_with_the_bad_one(_handed: Handed, rows: pa.Table) -> Outcome:
        bad = BAD in rows["seq"].to_pylist()
        return Outcome(Verdict.DATA, 0.01, fault=FAULT) if bad else Outcome(Verdict.OK, 0.01)

    await work.publish_many(40)
    work.script.process = fail_with_the_bad_one
    with work.driver():
        await work.drained()
    await work.assert_all_settled()
    (letter,) = await work.letters()
    assert letter.data == b"%d" % BAD
    assert letter.headers["Penstock-Error"] == "ArithmeticException"
    assert letter.headers["Penstock-Condition"] == "DIVIDE_BY_ZERO"
    assert letter.headers["Penstock-Sqlstate"] == "22012"
    assert letter.headers["Penstock-Place"] == "etl.py:3"


async def test_what_passes_is_tried_again_in_place_and_then_acknowledged(work: Scene) -> None:
    def fail_twice(handed: Handed, _rows: pa.Table) -> Outcome:
        return Outcome(Verdict.TRANSIENT if handed.name.run < 3 else Verdict.OK, 0.01, fault=FAULT)

    await work.publish_many(10)
    work.script.process = fail_twice
    with work.driver():
        await work.drained()
    runs: dict[str, list[int]] = {}
    for handed, _ in work.script.handed:
        runs.setdefault(handed.name.batch_id, []).append(handed.name.run)
    assert {tuple(numbers) for numbers in runs.values()} == {(1, 2, 3)}
    await work.assert_all_settled()
    assert (await work.info()).num_redelivered == 0


async def test_an_error_of_the_code_ends_the_engine_and_leaves_every_message_on_the_server(work: Scene) -> None:
    await work.publish_many(10)
    work.script.process = lambda *_: Outcome(Verdict.CODE, 0.01, fault=FAULT)
    with work.driver():
        stop = await work.drained()
    assert stop.code == 3
    assert "ArithmeticException" in stop.sentence
    assert await work.letters() == []
    info = await work.info()
    assert info.ack_floor.stream_sequence == 0
    assert info.num_pending + info.num_ack_pending == 10


async def test_a_driver_whose_code_cannot_be_imported_ends_the_engine_before_it_pulls(work: Scene) -> None:
    await work.publish_many(10)
    work.script.description = Description(
        incarnation="a",
        entrypoint="etl:process",
        spark="",
        ready=False,
        why_not="etl.py, line 3: no module named 'pandsa'",
        permanent=True,
    )
    with work.driver():
        stop = await work.drained()
    assert stop.code == 3
    assert "pandsa" in stop.sentence
    await work.until(pending=10)


async def test_what_the_code_wants_published_is_stored_before_its_batch_is_settled(work: Scene) -> None:
    facts = [
        {"subject": f"{work.stream}-out.{number}", "data": b"%d" % number, "headers": None, "message_id": f"m{number}"}
        for number in range(3)
    ]
    await work.js.streams.create({"name": f"{work.stream}-out", "subjects": [f"{work.stream}-out.>"]})
    await work.publish_many(5)
    work.script.outgoing = pa.Table.from_pylist(facts, OUTGOING)
    work.script.process = lambda *_: Outcome(Verdict.OK, 0.01, outgoing=3)
    with work.driver():
        await work.drained()
    await work.assert_all_settled()
    assert (await work.js.streams.info(f"{work.stream}-out")).state.messages == 3


async def test_nothing_is_settled_while_what_is_to_be_published_is_stored_nowhere(work: Scene) -> None:
    facts = [{"subject": f"{work.stream}-out.x", "data": b"", "headers": None, "message_id": "m"}]
    refused = threading.Event()
    work.script.outgoing = pa.Table.from_pylist(facts, OUTGOING)
    work.script.process = lambda *_: Outcome(Verdict.OK, 0.01, outgoing=1)
    work.script.on_fetch = refused.set
    await work.publish_many(5)
    with work.driver():
        async with work.working():
            await work.eventually(refused.is_set)
            await work.until(pending=0, ack_pending=5)
            await work.js.streams.create({"name": f"{work.stream}-out", "subjects": [f"{work.stream}-out.>"]})
            await work.until(pending=0)
    assert (await work.js.streams.info(f"{work.stream}-out")).state.messages == 1


async def test_a_batch_outlives_an_ack_wait_that_is_shorter(server: NatsServer, fresh_name: str) -> None:
    """Its messages are renewed three times per ack wait for as long as it runs."""
    async with scene(server.url, f"engine-{fresh_name}") as work:
        await work.consumer(ack_wait=ACK_WAIT)
        renewals: Counter[bytes] = Counter()
        done = threading.Event()

        def heard(subject: bytes, _reply: bytes, _header: bytes, payload: bytes) -> None:
            renewals[subject] += payload == b"+WPI"

        def hold(*_: object) -> Outcome:
            done.wait(PATIENCE_SECONDS)
            return Outcome(Verdict.OK, 0.0)

        work.js.connection.subscribe(f"$JS.ACK.{work.stream}.etl.>", heard)
        work.script.process = hold
        await work.publish_many(5)
        with work.driver():
            async with work.working():
                await work.eventually(lambda: len(renewals) >= 5 and min(renewals.values()) >= 4)
                done.set()
                await work.until(pending=0)
        assert sorted(all_handed(work)) == list(range(1, 6))
        await work.assert_all_settled()


async def test_a_small_max_ack_pending_makes_batches_smaller_and_nothing_stops(
    server: NatsServer, fresh_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with scene(server.url, f"engine-{fresh_name}") as work:
        await work.consumer(max_ack_pending=1000)
        await work.publish_many(MANY)
        with work.driver():
            await work.drained()
        assert max(handed.count for handed, _ in work.script.handed) <= 333
        assert "Batches have 333 messages at most" in caplog.text
        await work.assert_all_settled()


@pytest.mark.parametrize("size", [10, 100])
async def test_while_its_driver_is_busy_a_worker_holds_no_more_than_that_has_and_others_get_the_rest(
    size: int, work: Scene
) -> None:
    """Of the larger batches as many bytes are asked for as would be all messages that there are."""
    done = threading.Event()

    def hold(*_: object) -> Outcome:
        done.wait(PATIENCE_SECONDS)
        return Outcome(Verdict.OK, 0.0)

    work.batch_of(size)
    work.script.process = hold
    most = work.settings.engine.batch.in_flight * size
    await work.publish_many(10 * size)
    with work.driver():
        async with work.working():
            busy = await work.until_status(lambda told: len(told["batches"]) == 2 and told["holds"] == ["full"])
            assert busy["heldMessages"] <= most
            other = work.another()
            with other.driver():
                async with other.working():
                    await work.until(pending=0, ack_pending=busy["heldMessages"])
                    done.set()
                    await work.until(pending=0)
    first, second = all_handed(work), all_handed(other)
    assert len(first) == busy["heldMessages"]
    assert sorted(first + second) == list(range(1, 10 * size + 1))


async def test_a_worker_that_is_full_again_and_again_has_each_message_delivered_once(work: Scene) -> None:
    """Who ends requests while the server serves them has it deliver to nobody, and to somebody later."""

    def take_a_while(*_: object) -> Outcome:
        threading.Event().wait(0.02)
        return Outcome(Verdict.OK, 0.0)

    work.script.process = take_a_while
    await work.publish_many(20 * MANY)
    with work.driver():
        await work.drained()
    assert (await work.info()).delivered.consumer_sequence == 20 * MANY
    await work.assert_all_settled()


async def test_who_is_full_while_nothing_comes_leaves_to_others_what_comes_later(
    work: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had asked ahead, as its first run was short; the requests would go on for ten seconds."""
    monkeypatch.setattr(collecting, "SHORT_SECONDS", 0.5)
    done = threading.Event()

    def hold_all_but_the_first(*_: object) -> Outcome:
        if len(work.script.handed) > 1:
            done.wait(PATIENCE_SECONDS)
        return Outcome(Verdict.OK, 0.0)

    work.batch_of(MOST)
    work.script.process = hold_all_but_the_first
    with work.driver():
        async with work.working():
            await work.publish_many(1)
            await work.until(pending=0)
            await work.publish_many(3 * MOST)
            await work.until_status(lambda told: len(told["batches"]) == 2 and told["holds"] == ["full"])
            await work.until_withdrawn()
            held = (await work.info()).num_ack_pending
            await work.publish_many(MOST)
            await work.until(pending=MOST, ack_pending=held)
            done.set()
            await work.until(pending=0)


async def test_messages_that_come_again_are_batches_of_their_own(work: Scene) -> None:
    await work.publish_many(5)
    handle = work.js.consumer(work.stream, "etl")
    for message in await handle.fetch(5):
        message.nak()
    await work.publish_many(5)
    with work.driver():
        await work.drained()
    kinds = {
        (handed.redelivered, row["seq"], row["delivered"])
        for handed, rows in work.script.handed
        for row in rows.to_pylist()
    }
    again, fresh = range(1, 6), range(6, 11)
    assert kinds == {*((True, each, 2) for each in again), *((False, each, 1) for each in fresh)}


async def test_the_driver_is_told_when_nobody_will_ask_for_a_run_any_more(work: Scene) -> None:
    await work.publish_many(3)
    with work.driver():
        async with work.working():
            await work.until(pending=0)
            await work.eventually(lambda: len(work.script.forgotten) == len(work.script.handed))
    assert set(work.script.forgotten) == {handed.name for handed, _ in work.script.handed}


async def test_an_engine_without_a_ledger_works_as_well(work: Scene) -> None:
    work.change(ledger=False)
    await work.publish_many(10)
    with work.driver():
        await work.drained()
    await work.assert_all_settled()
