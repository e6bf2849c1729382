"""What an engine tells of itself and takes orders by: the NATS micro service, probes, metrics, exit codes."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import pytest

from penstock_worker.engine.ground import UnfitError
from penstock_worker.engine.service import subject_of
from penstock_worker.exchange.records import Description
from penstock_worker.policy.machine import collecting
from penstock_worker.policy.outcome import Outcome, Verdict
from penstock_worker.policy.settings import BatchSettings, ConnectionSettings
from penstock_worker.policy.trouble import Trouble
from tests.testbed import ports
from tests.testbed.nats.server import NatsServer
from tests.testbed.nats.shared import NEWEST, SharedServers
from tests.worker.engine.working import PATIENCE_SECONDS, Scene, scene
from tests.worker.probing import fetched

SOME = 20


@pytest.fixture
def server(shared_servers: SharedServers) -> NatsServer:
    return shared_servers.get(NEWEST)


@pytest.fixture
async def work(server: NatsServer, fresh_name: str) -> AsyncIterator[Scene]:
    """A scene with a group of its own: all tests share a server, and its subjects."""
    async with scene(server.url, f"service-{fresh_name}") as made:
        await made.consumer()
        made.change(group=f"shop/{fresh_name}", worker="etl-0")
        yield made


async def ask(work: Scene, subject: str, payload: object = "") -> Any:  # noqa: ANN401 - JSON
    reply = await work.js.connection.request(subject, json.dumps(payload).encode(), timeout_seconds=PATIENCE_SECONDS)
    return json.loads(reply.payload)


async def order(work: Scene, endpoint: str, payload: object = "") -> Any:  # noqa: ANN401 - JSON
    return await ask(work, subject_of(work.settings.engine.group, endpoint, worker="etl-0"), payload)


async def test_a_worker_is_found_and_described_as_nats_services_are(work: Scene) -> None:
    with work.driver():
        async with work.working():
            await work.until_status(lambda told: told["ready"])
            found = await ask(work, "$SRV.PING.penstock-worker")
            info = await ask(work, f"$SRV.INFO.penstock-worker.{found['id']}")
            await order(work, "status")
            stats = await ask(work, f"$SRV.STATS.penstock-worker.{found['id']}")
    assert found["type"] == "io.nats.micro.v1.ping_response"
    assert (found["name"], found["metadata"]["worker"]) == ("penstock-worker", "etl-0")
    group = work.settings.engine.group
    subjects = {endpoint["subject"] for endpoint in info["endpoints"]}
    assert {subject_of(group, "status"), subject_of(group, "drain", worker="etl-0")} <= subjects
    counts = {endpoint["subject"]: endpoint["num_requests"] for endpoint in stats["endpoints"]}
    assert counts[subject_of(group, "status", worker="etl-0")] >= 1


async def test_the_status_says_what_runs(work: Scene) -> None:
    """A batch runs, and so the next one is collected until it is full."""
    done = threading.Event()

    def hold(*_: object) -> Outcome:
        done.wait(PATIENCE_SECONDS)
        return Outcome(Verdict.OK, 1.5)

    work.script.process = hold
    work.batch_of(SOME)
    await work.publish_many(1)
    with work.driver():
        async with work.working():
            await work.eventually(lambda: len(work.script.handed) == 1)
            await work.publish_many(SOME)
            await work.eventually(lambda: len(work.script.handed) == 2)
            running = await order(work, "status")
            done.set()
            ended = await work.until_status(lambda told: told["answered"] == {"acked": 1 + SOME})
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


async def test_a_paused_worker_pulls_nothing_until_it_is_resumed(work: Scene) -> None:
    with work.driver():
        async with work.working():
            await work.until_status(lambda told: told["ready"])
            assert await order(work, "pause") == {"ok": True}
            await work.until_status(lambda told: told["holds"] == ["paused"] and told["ready"])
            await work.publish_many(SOME)
            assert await order(work, "resume") == {"ok": True}
            await work.until_status(lambda told: told["runMessages"] == SOME)
    await work.assert_all_settled()


async def test_a_retired_worker_holds_nothing_but_what_runs_and_goes_on_when_it_is_recalled(
    work: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its runs are taken for short ones, so that something is collected while one runs."""
    monkeypatch.setattr(collecting, "SHORT_SECONDS", PATIENCE_SECONDS)
    done = threading.Event()

    def hold(*_: object) -> Outcome:
        done.wait(PATIENCE_SECONDS)
        return Outcome(Verdict.OK, 0.1)

    work.change(batch=BatchSettings(in_flight=1))
    with work.driver():
        async with work.working():
            await work.publish_many(1)
            await work.until(pending=0)
            work.script.process = hold
            await work.publish_many(1)
            await work.eventually(lambda: len(work.script.handed) == 2)
            await work.publish_many(SOME)
            await work.until_status(lambda told: told["heldMessages"] == 1 + SOME)
            assert await order(work, "retire") == {"ok": True}
            told = await work.until_status(lambda told: told["heldMessages"] == 1)
            assert (told["holds"], told["ready"], len(told["batches"])) == (["retiring"], True, 1)
            done.set()
            await work.until_status(lambda told: told["heldMessages"] == 0)
            assert (await work.info()).ack_floor.stream_sequence == 2
            assert await order(work, "recall") == {"ok": True}
            await work.until_status(lambda told: not told["holds"])
            await work.publish_many(SOME)
            await work.until(pending=0)
    await work.assert_all_settled()


async def test_a_worker_says_why_it_is_not_ready_for_programs_too(work: Scene) -> None:
    async with work.working():
        told = await work.until_status(lambda told: not told["ready"])
        assert (told["why"], told["version"]) == ("starting", version("penstock-worker"))
        starting = Description(incarnation="1", entrypoint="e", spark="s", ready=False, why_not="No Spark.")
        work.script.description = replace(starting, trouble=Trouble.SPARK)
        with work.driver():
            told = await work.until_status(lambda told: told["why"] == "spark")
            assert told["sentence"] == "The driver is not ready. No Spark."
            work.script.description = None
            told = await work.until_status(lambda told: told["ready"])
            assert told["why"] == ""


async def test_a_worker_that_is_drained_ends_once_everything_is_processed(work: Scene) -> None:
    await work.publish_many(SOME)
    with work.driver():
        async with work.working() as engine:
            await work.until_status(lambda told: told["ready"])
            await order(work, "drain")
            stop = await engine
    assert stop.code == 0
    await work.assert_all_settled()


async def test_a_batch_that_is_cancelled_is_cancelled_at_the_driver_and_not_acknowledged(work: Scene) -> None:
    def until_cancelled(*_: object) -> Outcome:
        work.script.is_cancelled.wait(PATIENCE_SECONDS)
        return Outcome(Verdict.CANCELLED, 0.0)

    work.script.process = until_cancelled
    await work.publish_many(SOME)
    with work.driver():
        async with work.working():
            told = await work.until_status(lambda told: bool(told["batches"]))
            await order(work, "cancel", {"batch": told["batches"][0]["id"]})
            await work.eventually(work.script.is_cancelled.is_set)
    assert (await work.info()).ack_floor.stream_sequence == 0


async def test_an_order_that_cannot_be_carried_out_is_answered_by_why_not(work: Scene) -> None:
    with work.driver():
        async with work.working():
            await work.until_status(lambda told: told["ready"])
            assert await order(work, "cancel", {"batch": "b"}) == {"error": "Batch b does not run here."}
            assert (await order(work, "cancel", "nonsense"))["error"].startswith("Say which batch is to be cancelled")


async def test_probes_and_metrics_are_served(work: Scene) -> None:
    place = f"{ports.LOOPBACK}:{ports.free_port()}"
    work.change(probes=place)
    await work.publish_many(SOME)
    async with work.working():
        await work.until_status(lambda told: not told["ready"])
        assert await asyncio.to_thread(fetched, place, "/healthz") == (200, "Alive.\n")
        status, sentence = await asyncio.to_thread(fetched, place, "/readyz")
        assert (status, sentence.startswith("The driver is not ready.")) == (503, True)
        with work.driver():
            await work.until_status(lambda told: told["runMessages"] == SOME)
            await work.until(pending=0)
            await work.until_status(lambda told: told["ready"])
            assert await asyncio.to_thread(fetched, place, "/readyz") == (200, "Ready.\n")
            _, metrics = await asyncio.to_thread(fetched, place, "/metrics")
            assert (await asyncio.to_thread(fetched, place, "/nothing"))[0] == 404
    own = f'group="{work.settings.engine.group}"'
    runs = len(work.script.handed)
    assert f'penstock_batch_runs_total{{{own},verdict="ok",worker="etl-0"}} {runs}.0' in metrics
    assert f'penstock_ready{{{own},worker="etl-0"}} 1.0' in metrics


def ended(work: Scene) -> tuple[int, str]:
    """Return how the engine's process ended, and the last that it said."""
    engine = work.program()
    engine.start()
    code = engine.wait_ended(PATIENCE_SECONDS)
    return code, engine.log_tail(1)


async def test_a_consumer_that_does_not_fit_is_refused_with_exit_code_2(work: Scene) -> None:
    await work.js.consumers.delete(work.stream, "etl")
    await work.consumer(ack_policy="all")
    code, said = await asyncio.to_thread(ended, work)
    assert code == 2
    assert "has ack policy all" in json.loads(said)["message"]


async def test_a_server_that_cannot_be_reached_is_one_sentence_and_exit_code_1(work: Scene) -> None:
    work.connect(ConnectionSettings(servers=(f"nats://{ports.LOOPBACK}:{ports.free_port()}",)))
    code, said = await asyncio.to_thread(ended, work)
    assert code == 1
    assert json.loads(said)["level"] == "error"


async def test_a_worker_may_be_named_by_whoever_starts_it(work: Scene) -> None:
    work.change(worker="")
    code, said = await asyncio.to_thread(ended, work)
    assert (code, "engine.worker: it is missing" in said) == (2, True)
    engine = work.program("engine", "--worker", "etl-0")
    engine.start()
    work.change(worker="etl-0")
    assert (await work.until_status(lambda _: True))["worker"] == "etl-0"
    engine.kill()


async def test_settings_that_cannot_be_are_one_sentence_and_exit_code_2(work: Scene) -> None:
    work.settings = replace(work.settings, socket="/" + "s" * 200)
    code, said = await asyncio.to_thread(ended, work)
    assert code == 2
    assert said.startswith("penstock-engine: ")
    assert "socket: a path of a socket has at most" in said


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"deliver_subject": "push"}, "is a push consumer"),
        ({"ack_policy": "none"}, "has ack policy none"),
        ({"priority_policy": "overflow", "priority_groups": ["a"]}, "has a priority policy"),
    ],
)
async def test_what_a_consumer_must_be_is_said_in_words(work: Scene, config: dict[str, Any], said: str) -> None:
    await work.js.consumers.delete(work.stream, "etl")
    fields = {"durable_name": "etl", "ack_policy": "explicit", **config}
    await work.js.consumers.create(work.stream, fields)
    with pytest.raises(UnfitError, match=said):
        await work.drained()


async def test_a_stream_cannot_take_its_own_dead_letters(work: Scene) -> None:
    work.change(dead_letter_stream=work.stream)
    with pytest.raises(UnfitError, match="own dead letters"):
        await work.drained()
