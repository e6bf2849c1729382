"""The permissions of an engine's NATS user in docs/permissions.md: they are enough, and each is needed."""

import asyncio
import re
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock_jetstream import Bucket
from penstock_jetstream.errors import JetStreamError
from penstock_worker.engine.ledger_store import BUCKET
from penstock_worker.engine.process import run
from penstock_worker.engine.service import subject_of
from penstock_worker.exchange.records import Handed
from penstock_worker.policy.outcome import Fault, Outcome, Rejection, Verdict
from penstock_worker.policy.settings import ConnectionSettings
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.server import NatsServer
from tests.worker.engine.working import CONSUMER, PATIENCE_SECONDS, Scene, scene

DOCUMENT = (Path(__file__).parents[3] / "docs" / "permissions.md").read_text()
ROW = re.compile(r"^\| engine: [^|]*\|(?P<permissions>[^|]+)\|", re.MULTILINE)
PERMISSION = re.compile(r"(publish|subscribe|allow_responses) `([^`]+)`")
GRANTED = tuple(found for row in ROW.finditer(DOCUMENT) for found in PERMISSION.findall(row["permissions"]))
ACKS = "$JS.ACK.STREAM.CONSUMER.>"
ACKS_V2 = "$JS.ACK.*.*.STREAM.CONSUMER.>"
REFUSED = re.compile(r'(?:Publish|Subscription) Violation .*Subject "(?P<subject>[^"]+)"')
"""As a nats-server logs it."""
STREAM, GROUP, WORKER = "ORDERS", "shop/etl", "etl-0"

Permission = tuple[str, str]
"""To publish or to subscribe, and the subject as the document has it."""
ANSWERS: Permission = ("allow_responses", "true")


@asynccontextmanager
async def allowed(
    start_nats: StartNats, folder: Path, granted: Collection[Permission], **options: bool
) -> AsyncIterator[tuple[Scene, NatsServer]]:
    """Set up an engine with exactly these permissions; the test itself has all."""
    engine = {"user": "engine", "password": "hush", "permissions": permissions_of(granted)}
    users = {"users": [{"user": "person", "password": "hush"}, engine]}
    server = start_nats(extra={"authorization": users, "no_auth_user": "person"}, **options)
    user, password = folder / "user", folder / "password"
    user.write_text("engine")
    password.write_text("hush")
    async with scene(server.url, STREAM) as work:
        work.connect(
            ConnectionSettings(
                servers=(server.url,),
                user_file=str(user),
                password_file=str(password),
                inbox_prefix="_INBOX_shop_etl",
            )
        )
        work.change(group=GROUP, worker=WORKER)
        work.script.process = process
        yield work, server


def process(handed: Handed, _: pa.Table) -> Outcome:
    """Have each batch cut, which takes all that an engine may do with its ledger."""
    if handed.count > 1:
        return Outcome(Verdict.DATA, 0.0, fault=Fault("ValueError", "bad"))
    return Outcome(Verdict.OK, 0.0, rejections=(Rejection(2, "Not today."),))


def named(subject: str, stream: str = STREAM, group: str = GROUP) -> str:
    """Return a subject of the document with the names of a stream, its consumer and a queue group."""
    subject = re.sub(r"STREAM([.-])CONSUMER", rf"{stream}\1{CONSUMER}", subject)
    namespace, name = group.split("/")
    subject = subject.replace("NAMESPACE=2FGROUP", f"{namespace}=2F{name}").replace(
        "NAMESPACE_GROUP", f"{namespace}_{name}"
    )
    return subject.replace("STREAM.INFO.STREAM", f"STREAM.INFO.{stream}")


def permissions_of(granted: Collection[Permission], stream: str = STREAM, group: str = GROUP) -> dict[str, Any]:
    """Return permissions as a server's configuration has them."""
    verbs = ("publish", "subscribe")
    allowed = {each: [named(subject, stream, group) for verb, subject in granted if verb == each] for each in verbs}
    return {**{verb: {"allow": subjects} for verb, subjects in allowed.items()}, "allow_responses": ANSWERS in granted}


def refused(server: NatsServer) -> list[str]:
    """Return the subjects that the server has refused so far."""
    return [found["subject"] for found in REFUSED.finditer(server.log.read_text(errors="replace"))]


async def open_a_batch(bucket: Bucket) -> None:
    """Put an entry into the ledger, which each engine reads when it starts."""
    await bucket.put(f"{STREAM}.{CONSUMER}.1-1.of-another-life", b"{}")


@pytest.mark.parametrize("is_v2", [False, pytest.param(True, marks=pytest.mark.full)])
async def test_documented_permissions_are_enough(start_nats: StartNats, tmp_path: Path, *, is_v2: bool) -> None:
    acks = ACKS_V2 if is_v2 else ACKS
    granted = [(verb, acks if subject == ACKS else subject) for verb, subject in GRANTED]
    async with allowed(start_nats, tmp_path, granted, js_ack_fc_v2=is_v2) as (work, server):
        with work.driver():
            async with work.working():
                await work.publish_many(3)
                await work.until(pending=0)
                await work.until_status(lambda status: status["ready"] and not status["heldMessages"])
                await work.js.connection.request("$SRV.PING", b"", timeout_seconds=PATIENCE_SECONDS)
            await open_a_batch(await work.js.key_value.open(BUCKET))
            await work.publish_many(3)
            await work.drained()
        await work.assert_all_settled()
        assert [letter.subject for letter in await work.letters()] == [f"dead.{STREAM}.{CONSUMER}.{STREAM}.a"]
        assert refused(server) == []


@pytest.mark.full
@pytest.mark.parametrize("missing", GRANTED, ids=" ".join)
async def test_each_permission_is_needed(start_nats: StartNats, tmp_path: Path, missing: Permission) -> None:
    """The server's log names the subject that it refused."""
    granted = [each for each in GRANTED if each != missing]
    if missing[1] == ACKS:  # where responses are allowed, each message allows one
        granted = [each for each in granted if each != ANSWERS] + [("publish", "_INBOX.>")]
    async with AsyncExitStack() as ends:
        work, server = await ends.enter_async_context(allowed(start_nats, tmp_path, granted))
        await open_a_batch(await work.js.key_value.open(BUCKET))
        await work.publish_many(3)
        ends.enter_context(work.driver())
        engine = asyncio.create_task(run(work.settings))

        def has_refused() -> bool:
            """Ask for the status as the operator does, and look for services; await no replies."""
            for subject in (subject_of(GROUP, "status"), subject_of(GROUP, "status", worker=WORKER), "$SRV.PING"):
                work.js.connection.publish(subject, b"", reply=work.js.connection.new_inbox())
            return bool(refused(server))

        await work.eventually(has_refused, f"the server refuses {missing}")
        engine.cancel()
        with suppress(JetStreamError, asyncio.CancelledError):
            await engine
        covered = "_INBOX." if missing == ANSWERS else named(missing[1]).rstrip("*>")
        assert all(subject.startswith(covered) for subject in refused(server))
