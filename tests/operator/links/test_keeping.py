"""Links over time: servers that restart, secrets that change, Connections that name another server."""

import asyncio
import os
import signal
from typing import NamedTuple

import pytest

from penstock_operator.plan.connections import Connected, Failing
from penstock_operator.plan.decision import Create, Delete, Failure
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Missing, Place, Present, Unknown
from penstock_operator.resources.connection import ConnectionSpec
from penstock_operator.services.links import Secrets
from penstock_operator.services.nats.families import Families
from penstock_operator.services.nats.material import material
from penstock_operator.services.nats.session import Session
from tests.operator.links.linking import CONNECTION, Kept, a_stream, login, spec_of
from tests.testbed.nats.authentication import user_and_password
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.server import NatsServer
from tests.testbed.waiting import eventually_async

ORDERS = a_stream("ORDERS")
NO_SECRET = {"login": None}


async def has_clients(server: NatsServer, number: int) -> None:
    await eventually_async(
        lambda: server.monitored("connz")["num_connections"] == number, f"{server.name} has {number} clients"
    )


class Secured(NamedTuple):
    """A server that needs a password, the spec of the Connection to it, and the Secret."""

    server: NatsServer
    spec: ConnectionSpec
    secrets: Secrets


@pytest.fixture
async def secured(start_nats: StartNats, kept: Kept) -> Secured:
    server = start_nats(access=user_and_password())
    fields, secrets = login(server.access)
    secured = Secured(server, spec_of(server.url, **fields), secrets)
    kept.keep(secured.spec, secrets)
    await kept.connected()
    return secured


@pytest.mark.interpreter
async def test_link_survives_a_restart_of_its_server_and_sees_what_is_gone(nats_server: NatsServer, kept: Kept) -> None:
    link = await kept.link_to(nats_server)
    assert isinstance(await link.carry_out(Place(link.account, "ORDERS"), Create(ORDERS)), Present)
    nats_server.terminate()
    assert (await kept.failing()).reason is Reason.UNREACHABLE
    assert kept.links.link(CONNECTION) is None
    nats_server.start()
    link = await kept.connected()
    assert await link.observe(Place(link.account, "ORDERS")) == Missing()


@pytest.mark.full
async def test_frozen_server_makes_objects_unknown_and_failures_pass(nats_server: NatsServer, kept: Kept) -> None:
    link = await kept.link_to(nats_server)
    place = Place(link.account, "ORDERS")
    with nats_server.frozen():
        unknown, failure = await asyncio.gather(link.observe(place), link.carry_out(place, Create(ORDERS)))
    assert isinstance(unknown, Unknown)
    assert unknown.reason is Reason.UNREACHABLE
    assert isinstance(failure, Failure)
    assert failure.passing
    assert "stream ORDERS" in failure.message


async def test_unchanged_connection_keeps_its_link_and_client_name(nats_server: NatsServer, kept: Kept) -> None:
    link = await kept.link_to(nats_server)
    kept.keep(spec_of(nats_server.url))
    kept.keep(spec_of(nats_server.url, allowedNamespaces={"from": "All"}))
    assert kept.links.link(CONNECTION) is link
    [client] = nats_server.monitored("connz")["connections"]
    assert client["name"] == "penstock tests team/nats"
    kept.links.forget(CONNECTION)
    await has_clients(nats_server, 0)


async def test_link_without_its_secret_stays_while_it_is_needed_for_deletions(kept: Kept, secured: Secured) -> None:
    server, spec, secrets = secured
    link = await kept.connected()
    place = Place(link.account, "ORDERS")
    assert isinstance(await link.carry_out(place, Create(ORDERS)), Present)
    kept.keep(spec, NO_SECRET, is_needed=True)
    failing = await kept.failing()
    assert (failing.reason, failing.still_in) == (Reason.SECRET_NOT_FOUND, link.account)
    server.terminate()
    await kept.until(lambda: kept.links.link(CONNECTION) is None, "the server is away")
    assert (await kept.failing()).still_in == ""
    server.start()
    await kept.until(lambda: kept.links.link(CONNECTION) is not None, "the server is back")
    kept.keep(spec, secrets)
    link = await kept.connected()
    kept.keep(spec, NO_SECRET, is_needed=True)
    assert kept.links.link(CONNECTION) is link
    assert await link.carry_out(place, Delete()) is None
    kept.keep(spec, NO_SECRET)
    assert kept.links.link(CONNECTION) is None
    assert (await kept.failing()).still_in == ""
    await has_clients(server, 0)


async def test_link_without_its_secret_does_not_move_to_another_server(
    start_nats: StartNats, kept: Kept, secured: Secured
) -> None:
    after = start_nats(access=secured.server.access)
    kept.keep(secured.spec.model_copy(update={"servers": [after.url]}), NO_SECRET, is_needed=True)
    assert kept.links.link(CONNECTION) is None
    assert (await kept.failing()).reason is Reason.SECRET_NOT_FOUND


async def test_old_link_is_used_until_the_new_secret_has_worked(kept: Kept, secured: Secured) -> None:
    """A wrong new password is reported, and does not cut off a link that works with the old one."""
    server, spec, secrets = secured
    link = await kept.connected()
    kept.keep(spec, {"login": {**(secrets["login"] or {}), "password": b"wrong"}})
    assert (await kept.failing()).reason is Reason.UNAUTHORIZED
    assert kept.links.link(CONNECTION) is link
    assert await link.observe(Place(link.account, "ORDERS")) == Missing()
    kept.keep(spec, secrets)
    await kept.until(lambda: kept.links.link(CONNECTION) not in (None, link), "another link")
    await has_clients(server, 1)


async def test_revoked_user_is_reported_and_reconnects_when_it_is_restored(kept: Kept, secured: Secured) -> None:
    server = secured.server
    known = server.config_file.read_text()
    server.config_file.write_text(known.replace(server.access.client.arguments["user"], "somebody-else"))
    os.kill(server.pid, signal.SIGHUP)
    failing = await kept.failing()
    assert failing.reason is Reason.UNAUTHORIZED
    assert "Check that the server knows this user" in failing.message
    server.config_file.write_text(known)
    os.kill(server.pid, signal.SIGHUP)
    link = await kept.connected()
    assert await link.observe(Place(link.account, "ORDERS")) == Missing()


async def test_connection_that_names_another_server_leaves_the_first_at_once(start_nats: StartNats, kept: Kept) -> None:
    """Objects declared for one server are never created on the one before."""
    before, after = start_nats(), start_nats()
    account = (await kept.link_to(before)).account
    kept.keep(spec_of(after.url))
    assert kept.links.link(CONNECTION) is None
    assert (await kept.connected()).account != account
    await has_clients(before, 0)


async def test_server_is_retried_until_it_is_ready(nats_server: NatsServer, kept: Kept) -> None:
    nats_server.terminate()
    kept.keep(spec_of(nats_server.url))
    failing = await kept.failing()
    assert failing.reason is Reason.UNREACHABLE
    assert f"{nats_server.url} refused the connection: nothing listens there." in failing.message
    nats_server.launch()
    await kept.connected()


@pytest.mark.full
async def test_account_is_given_up_after_two_requests_without_an_answer(nats_server: NatsServer) -> None:
    made_from = material("team", spec_of(nats_server.url), {})
    session = Session(made_from, "a test", Families(), changed=lambda: None, noticed=lambda _: None)
    session.start()
    try:
        await eventually_async(lambda: isinstance(session.state, Connected), "the session is connected")
        with nats_server.frozen():
            await session.look_again()
            assert isinstance(session.state, Connected)
            await session.look_again()
            assert isinstance(session.state, Failing)
            assert session.link is None
        await session.look_again()
        assert isinstance(session.state, Connected)
    finally:
        await session.close()
