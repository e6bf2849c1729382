"""The engine on a real server with a scripted driver: each message gets exactly one final answer."""

import threading
import time
from collections import Counter

import pyarrow as pa
import pytest

from penstock_worker.engine import intake
from penstock_worker.engine.ledger_store import BUCKET
from penstock_worker.exchange.columns import OUTGOING
from penstock_worker.exchange.records import Description, Handed
from penstock_worker.policy.machine import collecting
from penstock_worker.policy.outcome import Fault, Outcome, Rejection, Verdict
from penstock_worker.policy.settings import BatchSettings
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.shared import NEWEST_VARIANTS, SharedServers
from tests.testbed.waiting import eventually_async
from tests.worker.engine.working import ACK_WAIT, Scene, scene

MANY = 2_500
MOST = 20
"""Of a batch, where a test has its own."""
LARGE = 5 << 20
BAD = 7
REQUEST_SECONDS = 600
"""How long a pull request lasts that nothing withdraws, in tests that wait for its withdrawal."""
FAULT = Fault("ArithmeticException", "÷ by zero\nin row 7", "DIVIDE_BY_ZERO", "22012", "at\nline", "etl.py:3")


@pytest.mark.interpreter
@pytest.mark.parametrize("variant", NEWEST_VARIANTS)
async def test_every_message_is_processed_once(variant: str, shared_servers: SharedServers, fresh_name: str) -> None:
    async with scene(shared_servers.get(variant).url, f"engine-{fresh_name}") as work:
        await work.publish_many(MANY)
        await work.process_all()
        assert work.handed() == [*range(1, MANY + 1)]
        assert max(handed.count for handed, _ in work.script.handed) <= work.settings.engine.batch.max_messages
        assert await work.letters() == []


async def test_messages_of_many_megabytes_are_processed(start_nats: StartNats) -> None:
    async with scene(start_nats(max_payload_bytes=8 << 20).url, "large") as work:
        work.change(batch=BatchSettings(max_messages=10, max_bytes=2 * LARGE))
        await work.publish(*(bytes([number]) * LARGE for number in range(6)))
        await work.process_all()
        assert work.handed() == [*range(1, 7)]
        assert all(handed.bytes <= 2 * LARGE + 1000 for handed, _ in work.script.handed)


async def test_rejected_messages_become_dead_letters_and_the_others_are_acknowledged(work: Scene) -> None:
    def reject_the_first(_handed: Handed, rows: pa.Table) -> Outcome:
        rejections = (Rejection(1, "no amount\nin it"),) if 1 in rows["seq"].to_pylist() else ()
        return Outcome(Verdict.OK, 0.1, rejections)

    await work.publish(b"good", b"bad", b"good", headers={"Trace": "é", "Nats-Foo": "bar"})
    work.script.process = reject_the_first
    await work.process_all()
    (letter,) = await work.letters()
    assert (letter.subject, letter.data) == (f"dead.{work.stream}.etl.{work.stream}.a", b"good")
    headers = letter.headers
    assert headers["Penstock-Reason"] == r"no amount\nin it"
    assert headers["Penstock-Sequence"] == "1"
    assert headers["Trace"] == "é"
    assert headers["Penstock-Original-Nats-Foo"] == "bar"
    assert headers["Nats-Msg-Id"].startswith(f"{work.stream}:1:etl:")


async def test_the_one_message_that_fails_its_batch_is_found_and_dead_lettered(work: Scene) -> None:
    def fail_with_the_bad_one(_handed: Handed, rows: pa.Table) -> Outcome:
        bad = BAD in rows["seq"].to_pylist()
        return Outcome(Verdict.DATA, 0.01, fault=FAULT) if bad else Outcome(Verdict.OK, 0.01)

    await work.publish_many(40)
    work.script.process = fail_with_the_bad_one
    await work.process_all()
    (letter,) = await work.letters()
    assert letter.data == b"%d" % BAD
    headers = [letter.headers[f"Penstock-{name}"] for name in ("Error", "Condition", "Sqlstate", "Place")]
    assert headers == ["ArithmeticException", "DIVIDE_BY_ZERO", "22012", "etl.py:3"]


async def test_batch_with_a_transient_error_is_retried_in_place_and_then_acknowledged(work: Scene) -> None:
    def fail_twice(handed: Handed, _rows: pa.Table) -> Outcome:
        return Outcome(Verdict.TRANSIENT if handed.name.run < 3 else Verdict.OK, 0.01, fault=FAULT)

    await work.publish_many(10)
    work.script.process = fail_twice
    await work.process_all()
    runs: dict[str, list[int]] = {}
    for handed, _ in work.script.handed:
        runs.setdefault(handed.name.batch_id, []).append(handed.name.run)
    assert {tuple(numbers) for numbers in runs.values()} == {(1, 2, 3)}
    await work.assert_all_settled()
    assert (await work.info()).num_redelivered == 0


async def test_driver_that_cannot_import_its_code_ends_the_engine_before_it_pulls(work: Scene) -> None:
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


async def test_last_log_line_counts_the_run_that_ended_the_engine(
    work: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    await work.publish_many(10)
    work.script.process = lambda _handed, _rows: Outcome(Verdict.CODE, 0.01, fault=FAULT)
    with work.driver():
        assert (await work.drained()).code == 3
    (account,) = filter(None, (getattr(record, "facts", {}).get("account") for record in caplog.records))
    assert account["verdicts"] == {"code": 1}


async def test_nothing_is_settled_before_the_messages_that_the_code_publishes_are_stored(work: Scene) -> None:
    facts = [
        {"subject": f"{work.stream}-out.{number}", "data": b"%d" % number, "headers": None, "message_id": f"m{number}"}
        for number in range(3)
    ]
    refused = threading.Event()
    work.script.outgoing = pa.Table.from_pylist(facts, OUTGOING)
    work.script.process = lambda *_: Outcome(Verdict.OK, 0.01, outgoing=3)
    work.script.on_fetch = refused.set
    await work.publish_many(5)
    async with work.worker():
        await work.eventually(refused.is_set)
        await work.until(pending=0, ack_pending=5)
        await work.js.streams.create({"name": f"{work.stream}-out", "subjects": [f"{work.stream}-out.>"]})
        await work.until(pending=0)
    await work.assert_all_settled()
    assert (await work.js.streams.info(f"{work.stream}-out")).state.messages == 3


@pytest.mark.full
async def test_batch_that_runs_longer_than_the_ack_wait_is_not_redelivered(work: Scene) -> None:
    """Its messages are renewed three times per ack wait for as long as it runs."""
    await work.replace_consumer(ack_wait=ACK_WAIT)
    renewals: Counter[bytes] = Counter()

    def count(subject: bytes, _reply: bytes, _header: bytes, payload: bytes) -> None:
        renewals[subject] += payload == b"+WPI"

    work.js.connection.subscribe(f"$JS.ACK.{work.stream}.etl.>", count)
    gate = work.hold_runs()
    await work.publish_many(5)
    async with work.worker():
        await work.eventually(lambda: len(renewals) >= 5 and min(renewals.values()) >= 4)
        gate.open()
        await work.until(pending=0)
    assert work.handed() == [*range(1, 6)]
    await work.assert_all_settled()


async def test_small_max_ack_pending_makes_batches_smaller(work: Scene, caplog: pytest.LogCaptureFixture) -> None:
    await work.replace_consumer(max_ack_pending=1000)
    await work.publish_many(MANY)
    await work.process_all()
    assert max(handed.count for handed, _ in work.script.handed) <= 333
    assert "Batches have 333 messages at most" in caplog.text


@pytest.mark.parametrize("size", [10, pytest.param(100, marks=pytest.mark.full)])
async def test_worker_with_a_busy_driver_leaves_further_messages_to_other_workers(size: int, work: Scene) -> None:
    """For the larger batches the engine asks for as many bytes as all messages have together."""
    gate = work.hold_runs()
    work.batch_of(size)
    most = work.settings.engine.batch.in_flight * size
    await work.publish_many(10 * size)
    async with work.worker():
        busy = await work.until_status(lambda status: len(status["batches"]) == 2 and status["holds"] == ["full"])
        assert busy["heldMessages"] <= most
        other = work.another()
        async with other.worker():
            await work.until(pending=0, ack_pending=busy["heldMessages"])
            gate.open()
            await work.until(pending=0)
    assert len(work.handed()) == busy["heldMessages"]
    assert sorted(work.handed() + other.handed()) == [*range(1, 10 * size + 1)]


@pytest.mark.full
async def test_worker_that_is_full_many_times_has_each_message_delivered_once(work: Scene) -> None:
    """A request that is withdrawn while the server serves it would lose deliveries, which come again later."""

    def take_a_while(*_: object) -> Outcome:
        time.sleep(0.02)  # calm: user code that works for a while
        return Outcome(Verdict.OK, 0.0)

    work.script.process = take_a_while
    await work.publish_many(20 * MANY)
    await work.process_all()
    assert (await work.info()).delivered.consumer_sequence == 20 * MANY


async def test_full_worker_withdraws_its_pull_requests(work: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Later messages stay for other workers. It had asked ahead because its first run was short."""
    monkeypatch.setattr(collecting, "SHORT_SECONDS", 0.5)
    monkeypatch.setattr(intake, "MOST_SECONDS", REQUEST_SECONDS)
    work.batch_of(MOST)

    async def has_no_requests() -> bool:
        return (await work.info()).num_waiting == 0

    async with work.worker():
        await work.publish_many(1)
        await work.until(pending=0)
        gate = work.hold_runs()
        await work.publish_many(3 * MOST)
        await work.until_status(lambda status: len(status["batches"]) == 2 and status["holds"] == ["full"])
        await eventually_async(has_no_requests, "no pull request is open")
        held = (await work.info()).num_ack_pending
        await work.publish_many(MOST)
        await work.until(pending=MOST, ack_pending=held)
        gate.open()
        await work.until(pending=0)


async def test_ledger_keeps_nothing_of_batches_that_are_over(work: Scene) -> None:
    """Marks of deleted entries would be read at each redelivery, by every worker."""
    await work.replace_consumer(ack_wait=ACK_WAIT)
    await work.publish_many(MANY)
    ledger = await work.js.key_value.open(BUCKET)

    async def is_empty() -> bool:
        async with ledger.watch(f"{work.stream}.etl.>") as watch:
            return not await watch.initial()

    async with work.worker():
        await work.until(pending=0)
        await eventually_async(is_empty, "the ledger has no entries and no marks")


async def test_engine_works_without_a_ledger(work: Scene) -> None:
    work.change(ledger=False)
    await work.publish_many(10)
    await work.process_all()
