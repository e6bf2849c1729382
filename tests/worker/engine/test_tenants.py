"""What the engine's user of one queue group cannot do to another group: each attempt is refused by a real server.

And what no permission prevents within one account: only an account of its own does.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock_jetstream import Connection, JetStream, ServerReported, UserPassword
from penstock_jetstream.errors import MissingError
from penstock_worker.engine.ledger_store import BUCKET
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.waiting import eventually_async
from tests.worker.engine.test_engine_permissions import GRANTED, permissions_of
from tests.worker.engine.working import CONSUMER, create_prerequisites, settings

VICTIM, OWN = "PAYROLL", "CLICKS"
KEY = f"$KV.{BUCKET}.{VICTIM}.{CONSUMER}.1-5.0a1b2c3d"
ACK = f"$JS.ACK.{VICTIM}.{CONSUMER}.1.1.1.1.0"
NEXT = f"$JS.API.CONSUMER.MSG.NEXT.{OWN}.{CONSUMER}"
SUBSCRIPTIONS = {
    "everything": ">",
    "answers and messages of all clients": "_INBOX.>",
    "answers and messages of the other group": "_INBOX_shop_payroll.>",
    "what the operator asks all workers": "penstock.worker.>",
    "what the operator asks the other group": "penstock.worker.shop=2Fpayroll.status",
    "messages as they are published": f"{VICTIM}.>",
    "dead letters": "dead.>",
    "entries of the ledger": f"$KV.{BUCKET}.>",
    "acknowledgements": "$JS.ACK.>",
    "advisories": "$JS.EVENT.>",
}
PUBLICATIONS = {
    "create a stream that copies the other's": f"$JS.API.STREAM.CREATE.{OWN}-copy",
    "create its own stream of dead letters": f"$JS.API.STREAM.CREATE.{OWN}-{CONSUMER}-dead",
    "have its stream of dead letters republish": f"$JS.API.STREAM.UPDATE.{OWN}-{CONSUMER}-dead",
    "have its own stream republish": f"$JS.API.STREAM.UPDATE.{OWN}",
    "delete the other's stream": f"$JS.API.STREAM.DELETE.{VICTIM}",
    "purge the other's stream": f"$JS.API.STREAM.PURGE.{VICTIM}",
    "read the other's messages": f"$JS.API.STREAM.MSG.GET.{VICTIM}",
    "read them from a replica": f"$JS.API.DIRECT.GET.{VICTIM}",
    "read the last of a subject": f"$JS.API.DIRECT.GET.{VICTIM}.{VICTIM}.a",
    "create a consumer of the other's stream": f"$JS.API.CONSUMER.CREATE.{VICTIM}.x",
    "create a consumer that pushes to any subject": f"$JS.API.CONSUMER.CREATE.{OWN}.x",
    "create one that reads the ledger": f"$JS.API.CONSUMER.CREATE.KV_{BUCKET}.x",
    "pull the other's messages": f"$JS.API.CONSUMER.MSG.NEXT.{VICTIM}.{CONSUMER}",
    "look at the other's consumer": f"$JS.API.CONSUMER.INFO.{VICTIM}.{CONSUMER}",
    "delete the other's consumer": f"$JS.API.CONSUMER.DELETE.{VICTIM}.{CONSUMER}",
    "delete its own consumer": f"$JS.API.CONSUMER.DELETE.{OWN}.{CONSUMER}",
    "acknowledge the other's messages": ACK,
    "write the other's entries": KEY,
    "read the other's entries": f"$JS.API.DIRECT.GET.KV_{BUCKET}.{KEY}",
    "read all entries": f"$JS.API.DIRECT.GET.KV_{BUCKET}",
    "read all entries from the leader": f"$JS.API.STREAM.MSG.GET.KV_{BUCKET}",
    "delete the ledger": f"$JS.API.STREAM.DELETE.KV_{BUCKET}",
    "write dead letters of the other": f"dead.{VICTIM}.{CONSUMER}.{VICTIM}.a",
    "answer the other's requests": "_INBOX_shop_payroll.abc.1",
    "answer the operator's requests": "_INBOX.abc.1",
    "order the other's workers to end": "penstock.worker.shop=2Fpayroll.drain",
    "order its own workers to end": "penstock.worker.shop=2Fclicks.drain",
    "publish messages for the other": f"{VICTIM}.a",
    "look at the account": "$JS.API.INFO",
    "list the account's streams": "$JS.API.STREAM.NAMES",
}


@asynccontextmanager
async def tenants(url: str, folder: Path, *, person: str = "person") -> AsyncIterator[tuple[JetStream, Connection]]:
    """Create the victim's stream with a message under way; return a person's JetStream, and the other engine's link."""
    users = {}
    for name in (person, "mallory"):
        user, password = folder / name, folder / "password"
        user.write_text(name)
        password.write_text("hush")
        users[name] = UserPassword(user, password)
    inbox = "_INBOX_shop_clicks"
    async with (
        Connection(url, auth=users[person]) as connection,
        Connection(url, auth=users["mallory"], inbox_prefix=inbox) as mallory,
    ):
        js = JetStream(connection)
        await create(js, VICTIM)
        await js.publish(f"{VICTIM}.a", b"secret")
        await js.publish(KEY, b"{}")
        assert len(await js.consumer(VICTIM, CONSUMER).fetch(1)) == 1
        yield js, mallory


async def create(js: JetStream, stream: str) -> None:
    await js.streams.create({"name": stream, "subjects": [f"{stream}.>"], "allow_direct": True})
    await js.consumers.create(stream, {"durable_name": CONSUMER, "ack_policy": "explicit"})
    await create_prerequisites(js, settings("", stream, Path()).engine)


def login(name: str, **more: object) -> dict[str, object]:
    return {"user": name, "password": "hush", **more}


async def test_each_attempt_of_another_groups_engine_is_refused(
    start_nats: StartNats, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    mallory_may = permissions_of(GRANTED, OWN, "shop/clicks")
    users = [login("person"), login("mallory", permissions=mallory_may)]
    server = start_nats(extra={"authorization": {"users": users}})
    async with tenants(server.url, tmp_path) as (js, mallory):
        await create(js, OWN)
        reported: list[str] = []
        mallory.listen(lambda event: reported.append(event.text) if isinstance(event, ServerReported) else None)

        async def is_refused(what: str, subject: str) -> bool:
            await mallory.flush()
            return any(what in text and f'"{subject}"' in text for text in reported)

        for name, subject in SUBSCRIPTIONS.items():
            with subtests.test(f"hear {name}", subject=subject):
                mallory.subscribe(subject, lambda *_: None)
                await eventually_async(partial(is_refused, "Subscription", subject), "a refusal")
        for name, subject in PUBLICATIONS.items():
            with subtests.test(name, subject=subject):
                mallory.publish(subject, b"{}", reply=mallory.new_inbox())
                await eventually_async(partial(is_refused, "Publish", subject), "a refusal")
        with subtests.test("have the server acknowledge the other's messages"):
            mallory.publish(NEXT, b'{"batch":1,"no_wait":true}', reply=ACK)
            await eventually_async(lambda: is_refused("Publish with Reply", ACK), "a refusal")
        info = await js.consumers.info(VICTIM, CONSUMER)
        assert (info.num_ack_pending, (await js.streams.info(VICTIM)).state.messages) == (1, 1)
        with subtests.test("it sees the keys of the ledger, as the document says"):
            assert KEY in await keys(mallory)


async def keys(mallory: Connection) -> dict[str, int]:
    asked = json.dumps({"subjects_filter": ">"}).encode()
    reply = await mallory.request(f"$JS.API.STREAM.INFO.KV_{BUCKET}", asked)
    found: dict[str, int] = json.loads(reply.payload)["state"]["subjects"]
    return found


@pytest.mark.parametrize("is_own_account", [False, True])
async def test_only_an_account_of_its_own_keeps_an_engine_from_writing_through_the_server(
    start_nats: StartNats, tmp_path: Path, *, is_own_account: bool
) -> None:
    """JetStream sends its answers to any subject of the account, whatever the user may publish: also to its own API."""
    mallory = login("mallory", permissions=permissions_of(GRANTED, OWN, "shop/clicks"))
    apart: dict[str, Any] = {"jetstream": True, "users": [login("tenant"), mallory]}
    platform: dict[str, Any] = {"jetstream": True, "users": [login("person")]}
    if not is_own_account:
        platform["users"] += apart.pop("users")
    server = start_nats(extra={"accounts": {"PLATFORM": platform, "TENANT": apart}})
    async with tenants(server.url, tmp_path) as (js, attacker):
        user = tmp_path / "tenant"
        user.write_text("tenant")
        async with Connection(server.url, auth=UserPassword(user, tmp_path / "password")) as tenant:
            if is_own_account:
                await create(JetStream(tenant), OWN)
            else:
                await js.streams.create({"name": OWN, "subjects": [f"{OWN}.>"]})
                await js.consumers.create(OWN, {"durable_name": CONSUMER, "ack_policy": "explicit"})
        attacker.publish(NEXT, b'{"batch":1,"no_wait":true}', reply=f"$JS.API.STREAM.DELETE.{VICTIM}")
        await attacker.request(NEXT, b'{"batch":1,"no_wait":true}')  # the consumer answers one after the other

        async def is_deleted() -> bool:
            try:
                await js.streams.info(VICTIM)
            except MissingError:
                return True
            return False

        if is_own_account:
            assert not await is_deleted()
        else:
            await eventually_async(is_deleted, "the stream is deleted")
