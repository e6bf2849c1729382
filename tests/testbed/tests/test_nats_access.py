"""Each way to log in and to encrypt: the right client gets in, the wrong one does not."""

import socket
import ssl
from collections.abc import Mapping
from typing import Any

import pytest

from tests.testbed import ports
from tests.testbed.nats.authentication import METHODS
from tests.testbed.nats.client import connection
from tests.testbed.nats.encryption import client_context, tls
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.server import NatsServer
from tests.testbed.run import current

pytestmark = pytest.mark.full

SECRETS = ["userpass", "token", "nkey", "creds"]


async def uses_jetstream(arguments: Mapping[str, Any]) -> bool:
    async with connection(**arguments) as client:
        await client.jetstream().add_stream(name="ORDERS", subjects=["orders"])
        return (await client.jetstream().publish("orders", b"one")).seq == 1


async def refusal(server: NatsServer, arguments: Mapping[str, Any]) -> Exception:
    """Return why a client does not get in."""
    with pytest.raises(Exception) as problem:  # noqa: PT011 - nats-py has many; the tests look at which it was
        async with connection(servers=[server.url], **arguments, allow_reconnect=False):
            pass
    return problem.value


@pytest.mark.parametrize("method", SECRETS)
async def test_the_right_secret_gets_in_and_a_wrong_one_or_none_is_refused(start_nats: StartNats, method: str) -> None:
    server = start_nats(access=METHODS[method](current().new_folder(method)))
    another = METHODS[method](current().new_folder(method))
    assert await uses_jetstream(server.connect_arguments())
    assert "authorization" in str(await refusal(server, another.client.arguments)).lower()
    assert "authorization" in str(await refusal(server, {})).lower()


@pytest.mark.parametrize("method", ["anonymous", "userpass", "nkey", "creds"])
async def test_the_system_account_can_be_reached(start_nats: StartNats, method: str) -> None:
    server = start_nats(access=METHODS[method](current().new_folder(method)))
    async with connection(**server.system_arguments()) as client:
        assert b'"server"' in (await client.request("$SYS.REQ.SERVER.PING")).data


def test_a_server_with_a_token_says_that_it_has_no_system_login(start_nats: StartNats) -> None:
    server = start_nats(access=METHODS["token"](current().new_folder("token")))
    with pytest.raises(RuntimeError, match="no users beside a token"):
        server.system_arguments()


@pytest.mark.parametrize("handshake_first", [False, True])
@pytest.mark.parametrize("verify_clients", [False, True])
async def test_tls_lets_in_who_trusts_it_and_is_trusted(
    start_nats: StartNats, *, verify_clients: bool, handshake_first: bool
) -> None:
    folder = current().new_folder("tls")
    server = start_nats(encryption=tls(folder, verify_clients=verify_clients, handshake_first=handshake_first))
    assert await uses_jetstream(server.connect_arguments())


def greeting(server: NatsServer, context: ssl.SSLContext) -> bytes:
    """Shake hands first, and wait for what the server says to that; nats-py may hang up before it has heard it."""
    address = (ports.LOOPBACK, server.port)
    with (
        socket.create_connection(address) as plain,
        context.wrap_socket(plain, server_hostname=address[0]) as encrypted,
    ):
        return encrypted.recv(5)


def test_a_server_of_an_unknown_authority_is_not_trusted(start_nats: StartNats) -> None:
    server = start_nats(encryption=tls(current().new_folder("tls"), handshake_first=True))
    another = tls(current().new_folder("tls"))
    with pytest.raises(ssl.SSLCertVerificationError):
        greeting(server, client_context(another.authority, None))


def test_a_client_needs_a_certificate_of_the_right_authority_where_one_is_wanted(start_nats: StartNats) -> None:
    wanted, another = (tls(current().new_folder("tls"), verify_clients=True, handshake_first=True) for _ in range(2))
    server = start_nats(encryption=wanted)
    assert greeting(server, client_context(wanted.authority, wanted.client_certificate)) == b"INFO "
    with pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"):
        greeting(server, client_context(wanted.authority, None))
    with pytest.raises(ssl.SSLError, match="UNKNOWN_CA"):
        greeting(server, client_context(wanted.authority, another.client_certificate))


async def test_tls_and_creds_go_together(start_nats: StartNats) -> None:
    access = METHODS["creds"](current().new_folder("creds"))
    server = start_nats(access=access, encryption=tls(current().new_folder("tls")))
    assert await uses_jetstream(server.connect_arguments())
