"""The engine's interfaces for operators and people: NATS micro service, status, probes, metrics, exit codes."""

import asyncio
import json
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import pytest

from penstock_worker.engine.ground import UnfitError
from penstock_worker.engine.service import subject_of
from penstock_worker.exchange.records import Description
from penstock_worker.policy.outcome import Outcome, Verdict
from penstock_worker.policy.settings import ConnectionSettings
from penstock_worker.policy.trouble import Trouble
from tests.testbed import ports
from tests.worker.engine.working import PATIENCE_SECONDS, Scene
from tests.worker.probing import fetched

SOME = 20


async def ask(work: Scene, subject: str, payload: object = "") -> Any:  # noqa: ANN401 - JSON
    reply = await work.js.connection.request(subject, json.dumps(payload).encode(), timeout_seconds=PATIENCE_SECONDS)
    return json.loads(reply.payload)


async def order(work: Scene, endpoint: str, payload: object = "") -> Any:  # noqa: ANN401 - JSON
    return await ask(work, subject_of(work.settings.engine.group, endpoint, worker="etl-0"), payload)


async def test_worker_is_a_discoverable_nats_service_that_explains_refused_orders(work: Scene) -> None:
    async with work.worker():
        await work.until_status(lambda status: status["ready"])
        found = await ask(work, "$SRV.PING.penstock-worker")
        info = await ask(work, f"$SRV.INFO.penstock-worker.{found['id']}")
        await order(work, "status")
        stats = await ask(work, f"$SRV.STATS.penstock-worker.{found['id']}")
        assert await order(work, "cancel", {"batch": "b"}) == {"error": "Batch b does not run here."}
        assert (await order(work, "cancel", "nonsense"))["error"].startswith("Say which batch is to be cancelled")
    assert found["type"] == "io.nats.micro.v1.ping_response"
    assert (found["name"], found["metadata"]["worker"]) == ("penstock-worker", "etl-0")
    group = work.settings.engine.group
    subjects = {endpoint["subject"] for endpoint in info["endpoints"]}
    assert {subject_of(group, "status"), subject_of(group, "drain", worker="etl-0")} <= subjects
    counts = {endpoint["subject"]: endpoint["num_requests"] for endpoint in stats["endpoints"]}
    assert counts[subject_of(group, "status", worker="etl-0")] >= 1


async def test_what_the_server_was_made_to_send_to_a_worker_is_no_order(work: Scene) -> None:
    """The server does not check where a user's requests to JetStream have their answers sent."""
    drain = subject_of(work.settings.engine.group, "drain")
    sent = []
    work.js.connection.subscribe(drain, lambda _subject, reply, _header, _payload: sent.append(reply))
    async with work.worker() as engine:
        await work.until_status(lambda status: status["ready"])
        await work.js.streams.create({"name": "LURE", "subjects": ["lure"], "allow_direct": True})
        await work.js.consumers.create("LURE", {"durable_name": "own", "ack_policy": "explicit"})
        ask = b'{"batch":1,"no_wait":true}'
        work.js.connection.publish("$JS.API.CONSUMER.MSG.NEXT.LURE.own", ask, reply=drain)  # a status: there is none
        await work.js.publish("lure", b"")
        work.js.connection.publish("$JS.API.CONSUMER.MSG.NEXT.LURE.own", ask, reply=drain)
        work.js.connection.publish("$JS.API.DIRECT.GET.LURE.lure", reply=drain)
        await work.eventually(lambda: len(sent) == 3, "the server's answers")
        await work.status()
        assert not engine.done()
        assert await order(work, "drain") == {"ok": True}
        assert (await engine).code == 0
    await work.js.streams.delete("LURE")


async def test_driver_and_status_have_the_facts_of_batches_and_a_settled_batch_is_forgotten(work: Scene) -> None:
    """While a batch runs, the next one is collected until it is full."""
    gate = work.hold_runs(Outcome(Verdict.OK, 1.5))
    work.batch_of(SOME)
    await work.publish_many(1)
    async with work.worker():
        await work.eventually(lambda: len(work.script.handed) == 1)
        await work.publish_many(SOME)
        await work.eventually(lambda: len(work.script.handed) == 2)
        running = await order(work, "status")
        gate.open()
        ended = await work.until_status(lambda status: status["answered"] == {"acked": 1 + SOME})
        await work.eventually(lambda: len(work.script.forgotten) == 2)
    assert set(work.script.forgotten) == {each.name for each, _ in work.script.handed}
    _, (handed, _) = work.script.handed
    assert handed.name.batch_id.startswith(f"{work.stream}.etl.2-{SOME + 1}.")
    assert (handed.ranges, handed.count, handed.attempt, handed.redelivered) == (((2, SOME + 1),), SOME, 1, False)
    assert handed.deadline_seconds == work.settings.engine.batch.deadline_seconds
    _, batch = sorted(running["batches"], key=lambda batch: int(batch["messages"]))
    assert (batch["ranges"], batch["messages"], batch["attempt"]) == (f"2-{SOME + 1}", SOME, 1)
    assert running["heldMessages"] == 1 + SOME
    assert (ended["batches"], ended["runMessages"], ended["runSeconds"]) == ([], 1 + SOME, 3.0)
    assert (ended["heldMessages"], ended["verdicts"]) == (0, {"ok": 2})
    work_done = ended["work"]
    assert work_done.pop("busySeconds") > 0
    assert work_done == {
        "batches": 2,
        "messages": 1 + SOME,
        "seconds": 3.0,
        "messagesSquared": 1 + SOME**2,
        "messagesTimesSeconds": 1.5 * (1 + SOME),
    }


async def test_drained_worker_ends_once_everything_is_processed(work: Scene) -> None:
    async with work.worker() as engine:
        await work.until_status(lambda status: status["ready"])
        await work.publish_many(SOME)
        assert await order(work, "drain") == {"ok": True}
        stop = await engine
    assert stop.code == 0
    await work.assert_all_settled()


async def test_cancelled_batch_is_cancelled_in_the_driver_and_not_acknowledged(work: Scene) -> None:
    def until_cancelled(*_: object) -> Outcome:
        work.script.is_cancelled.wait(PATIENCE_SECONDS)
        return Outcome(Verdict.CANCELLED, 0.0)

    work.script.process = until_cancelled
    await work.publish_many(SOME)
    async with work.worker():
        status = await work.until_status(lambda status: bool(status["batches"]))
        await order(work, "cancel", {"batch": status["batches"][0]["id"]})
        await work.eventually(work.script.is_cancelled.is_set)
    assert (await work.info()).ack_floor.stream_sequence == 0


async def test_worker_that_is_not_ready_pulls_nothing_and_reports_why_until_it_is_ready(work: Scene) -> None:
    """In its status, its probes and its metrics."""
    place = f"{ports.LOOPBACK}:{ports.free_port()}"
    work.change(probes=place)
    await work.publish_many(SOME)

    async def page(path: str) -> tuple[int, str]:
        return await asyncio.to_thread(fetched, place, path)

    async with work.working():
        status = await work.until_status(lambda status: not status["ready"])
        assert (status["why"], status["version"]) == ("starting", version("penstock-worker"))
        assert await page("/healthz") == (200, "Alive.\n")
        code, sentence = await page("/readyz")
        assert (code, sentence.startswith("The driver is not ready.")) == (503, True)
        starting = Description(incarnation="1", entrypoint="e", spark="s", ready=False, why_not="No Spark.")
        work.script.description = replace(starting, trouble=Trouble.SPARK)
        with work.driver():
            status = await work.until_status(lambda status: status["why"] == "spark")
            assert status["sentence"] == "The driver is not ready. No Spark."
            await work.until(pending=SOME)
            work.script.description = None
            await work.until_status(lambda status: status["runMessages"] == SOME)
            await work.until(pending=0)
            status = await work.until_status(lambda status: status["ready"])
            assert status["why"] == ""
            assert await page("/readyz") == (200, "Ready.\n")
            _, metrics = await page("/metrics")
            assert (await page("/nothing"))[0] == 404
    await work.assert_all_settled()
    own = f'group="{work.settings.engine.group}"'
    runs = len(work.script.handed)
    assert f'penstock_batch_runs_total{{{own},verdict="ok",worker="etl-0"}} {runs}.0' in metrics
    assert f'penstock_ready{{{own},worker="etl-0"}} 1.0' in metrics


async def ended(work: Scene, name: str) -> tuple[int, str]:
    """Start an engine as a process, wait until it has ended, and return its exit code and the last line of its log."""
    engine = work.program(name)
    engine.start()
    await work.eventually(lambda: not engine.is_running)
    return engine.wait_ended(PATIENCE_SECONDS), engine.log_tail(1)


@pytest.mark.interpreter
async def test_engine_that_cannot_start_reports_why_in_one_sentence(work: Scene, subtests: pytest.Subtests) -> None:
    nowhere = ConnectionSettings(servers=(f"nats://{ports.LOOPBACK}:{ports.free_port()}",))
    settings, engine = work.settings, work.settings.engine
    await work.replace_consumer(ack_policy="all")
    cases = {
        "unfit consumer": (settings, 2, "has ack policy all"),
        "unreachable server": (replace(settings, connection=nowhere), 1, '"level": "error"'),
        "long path": (replace(settings, socket="/" + "s" * 200), 2, "socket: a path of a socket has at most"),
        "missing name": (replace(settings, engine=replace(engine, worker="")), 2, "engine.worker: it is missing"),
    }
    ends = await asyncio.gather(
        *(ended(replace(work, settings=changed), name) for name, (changed, *_) in cases.items())
    )
    for (name, (_, expected_code, sentence)), (code, line) in zip(cases.items(), ends, strict=True):
        with subtests.test(name):
            assert code == expected_code
            assert sentence in line
            assert line.startswith("penstock-engine: ") or json.loads(line)["message"]


async def test_stream_or_consumer_that_does_not_fit_is_refused(work: Scene, subtests: pytest.Subtests) -> None:
    cases: dict[str, tuple[dict[str, Any], str]] = {
        "is a push consumer": ({"deliver_subject": "push"}, work.dead),
        "has ack policy none": ({"ack_policy": "none", "max_ack_pending": 0}, work.dead),
        "has a priority policy": ({"priority_policy": "overflow", "priority_groups": ["a"]}, work.dead),
        "has max_deliver 5": ({"max_deliver": 5}, work.dead),
        "own dead letters": ({}, work.stream),
    }
    for sentence, (config, dead_letter_stream) in cases.items():
        with subtests.test(sentence):
            await work.replace_consumer(**config)
            work.change(dead_letter_stream=dead_letter_stream)
            with pytest.raises(UnfitError, match=sentence):
                await work.drained()
