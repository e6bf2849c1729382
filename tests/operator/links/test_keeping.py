"""Links over time: servers that come and go, secrets that change, Connections that mean another server."""

import asyncio
import os
import signal

from penstock_operator.plan.connections import Connected, Failing
from penstock_operator.plan.decision import Create, Delete, Failure
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Missing, Place, Present, Unknown
from penstock_operator.services.nats.families import Families
from penstock_operator.services.nats.material import material
from penstock_operator.services.nats.session import Session
from tests.jetstream.connecting import Changing
from tests.jetstream.eventually import eventually
from tests.operator.links.linking import CONNECTION, keeping, login, spec_of
from tests.testbed.nats.authentication import METHODS
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.server import NatsServer
from tests.testbed.run import current

IN_MEMORY = {"name": "ORDERS", "subjects": ["orders.>"], "storage": "memory"}


def clients_of(server: NatsServer) -> set[str]:
    """Return the names of the clients that are connected."""
    return {each.get("name", "") for each in server.monitored("connz")["connections"]}


async def is_alone(server: NatsServer) -> bool:
    return bool(server.monitored("connz")["num_connections"] == 1)


async def is_left(server: NatsServer) -> bool:
    return bool(server.monitored("connz")["num_connections"] == 0)


async def test_a_link_survives_a_server_that_restarts_and_sees_what_is_gone(start_nats: StartNats) -> None:
    server = start_nats()
    async with keeping() as kept:
        kept.keep(spec_of(server.url))
        link = await kept.connected()
        assert isinstance(await link.carry_out(Place(link.account, "ORDERS"), Create(IN_MEMORY)), Present)
        server.terminate()
        assert (await kept.failing()).reason is Reason.UNREACHABLE
        assert kept.links.link(CONNECTION) is None
        server.start()
        link = await kept.connected()
        assert await link.observe(Place(link.account, "ORDERS")) == Missing()


async def test_what_is_asked_while_a_server_does_not_answer_is_unknown_and_passes(start_nats: StartNats) -> None:
    server = start_nats()
    async with keeping() as kept:
        kept.keep(spec_of(server.url))
        link = await kept.connected()
        place = Place(link.account, "ORDERS")
        with server.frozen():
            unknown, failure = await asyncio.gather(link.observe(place), link.carry_out(place, Create(IN_MEMORY)))
        assert isinstance(unknown, Unknown)
        assert unknown.reason is Reason.UNREACHABLE
        assert isinstance(failure, Failure)
        assert failure.passing
        assert "stream ORDERS" in failure.message


async def test_a_connection_that_is_as_it_was_keeps_its_link(start_nats: StartNats) -> None:
    server = start_nats()
    async with keeping() as kept:
        kept.keep(spec_of(server.url))
        link = await kept.connected()
        kept.keep(spec_of(server.url))
        kept.keep(spec_of(server.url, allowedNamespaces={"from": "All"}))
        assert kept.links.link(CONNECTION) is link
        assert server.monitored("connz")["num_connections"] == 1


async def test_servers_show_which_connection_a_link_belongs_to(start_nats: StartNats) -> None:
    server = start_nats()
    async with keeping() as kept:
        kept.keep(spec_of(server.url))
        await kept.connected()
        assert clients_of(server) == {"penstock tests team/nats"}
        kept.links.forget(CONNECTION)
    await eventually(lambda: is_left(server), "the link is closed")


async def test_a_link_whose_secret_is_gone_stays_for_what_is_to_be_deleted_and_not_longer(
    start_nats: StartNats,
) -> None:
    access = METHODS["userpass"](current().new_folder("user"))
    server = start_nats(access=access)
    fields, secrets = login(access)
    spec, gone = spec_of(server.url, **fields), {"login": None}
    async with keeping() as kept:
        kept.keep(spec, secrets)
        link = await kept.connected()
        place = Place(link.account, "ORDERS")
        assert isinstance(await link.carry_out(place, Create(IN_MEMORY)), Present)
        kept.keep(spec, gone, is_needed=True)
        failing = await kept.failing()
        assert (failing.reason, failing.still_in) == (Reason.SECRET_NOT_FOUND, link.account)
        server.terminate()
        await kept.until(lambda: kept.links.link(CONNECTION) is None, "the server is away")
        assert (await kept.failing()).still_in == ""
        server.start()
        await kept.until(lambda: kept.links.link(CONNECTION) is not None, "the server is back")
        kept.keep(spec, secrets)
        link = await kept.connected()
        kept.keep(spec, gone, is_needed=True)
        assert kept.links.link(CONNECTION) is link
        assert await link.carry_out(place, Delete()) is None
        kept.keep(spec, gone)
        assert kept.links.link(CONNECTION) is None
        assert (await kept.failing()).still_in == ""
    await eventually(lambda: is_left(server), "the link is closed")


async def test_a_link_whose_secret_is_gone_does_not_stay_when_another_server_is_meant(start_nats: StartNats) -> None:
    access = METHODS["userpass"](current().new_folder("user"))
    before, after = start_nats(access=access), start_nats(access=access)
    fields, secrets = login(access)
    async with keeping() as kept:
        kept.keep(spec_of(before.url, **fields), secrets)
        await kept.connected()
        kept.keep(spec_of(after.url, **fields), {"login": None}, is_needed=True)
        assert kept.links.link(CONNECTION) is None
        assert (await kept.failing()).reason is Reason.SECRET_NOT_FOUND


async def test_the_old_link_is_used_until_the_new_secret_has_proved_good(start_nats: StartNats) -> None:
    """A wrong new password does not cut off what works with the old one, and is told all the same."""
    access = METHODS["userpass"](current().new_folder("user"))
    server = start_nats(access=access)
    fields, secrets = login(access)
    async with keeping() as kept:
        kept.keep(spec_of(server.url, **fields), secrets)
        link = await kept.connected()
        wrong = {"login": {**(secrets["login"] or {}), "password": b"wrong"}}
        kept.keep(spec_of(server.url, **fields), wrong)
        assert (await kept.failing()).reason is Reason.UNAUTHORIZED
        assert kept.links.link(CONNECTION) is link
        assert await link.observe(Place(link.account, "ORDERS")) == Missing()
        kept.keep(spec_of(server.url, **fields), secrets)
        await kept.until(lambda: kept.links.link(CONNECTION) not in (None, link), "another link")
        await eventually(lambda: is_alone(server), "the old link is closed")


async def test_a_user_that_is_revoked_is_told_and_comes_back_when_the_server_knows_it_again(
    start_nats: StartNats,
) -> None:
    server = start_nats(access=METHODS["userpass"](current().new_folder("user")))
    fields, secrets = login(server.access)
    known = server.config_file.read_text()
    async with keeping() as kept:
        kept.keep(spec_of(server.url, **fields), secrets)
        await kept.connected()
        server.config_file.write_text(known.replace(server.access.client.arguments["user"], "somebody-else"))
        os.kill(server.pid, signal.SIGHUP)
        failing = await kept.failing()
        assert failing.reason is Reason.UNAUTHORIZED
        assert "Check that the server knows this user" in failing.message
        server.config_file.write_text(known)
        os.kill(server.pid, signal.SIGHUP)
        link = await kept.connected()
        assert await link.observe(Place(link.account, "ORDERS")) == Missing()


async def test_another_server_is_gone_to_at_once_when_the_connection_names_it(start_nats: StartNats) -> None:
    """What is declared for one server is never made on the one before."""
    before, after = start_nats(), start_nats()
    async with keeping() as kept:
        kept.keep(spec_of(before.url))
        account = (await kept.connected()).account
        kept.keep(spec_of(after.url))
        assert kept.links.link(CONNECTION) is None
        assert (await kept.connected()).account != account
        await eventually(lambda: is_left(before), "the link to the first server is closed")


async def test_a_server_that_appears_before_it_is_ready_is_looked_at_until_it_is(start_nats: StartNats) -> None:
    server = start_nats()
    server.terminate()
    async with keeping() as kept:
        kept.keep(spec_of(server.url))
        await kept.failing()
        server.launch()
        await kept.connected()


async def test_an_account_that_gives_no_answer_once_is_not_given_up(start_nats: StartNats) -> None:
    server = start_nats()
    made_from = material("team", spec_of(server.url), {})
    changes = Changing()
    session = Session(made_from, "a test", Families(), changed=changes.change, noticed=lambda _: None)
    session.start()
    try:
        await changes.until(lambda: isinstance(session.state, Connected))
        with server.frozen():
            await session.look_again()
            assert isinstance(session.state, Connected)
            await session.look_again()
            assert isinstance(session.state, Failing)
            assert session.link is None
        await session.look_again()
        assert isinstance(session.state, Connected)
    finally:
        await session.close()
