"""Each way to say who we are, with each way to encrypt: who is let in, and what is said to who is not."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock_jetstream.errors import AuthenticationError
from penstock_jetstream.transport.connection import Connection
from penstock_jetstream.transport.encryption import Tls
from penstock_jetstream.transport.events import Connected, Disconnected, Failed
from penstock_jetstream.transport.identity import Auth, Credentials, Jwt, Nkey, Token, UserPassword
from tests.jetstream.connecting import QUICK, Events, echo, login, trust
from tests.testbed.nats.authentication import METHODS, Access, trusted_accounts, user_of
from tests.testbed.nats.config import merged
from tests.testbed.nats.encryption import WAYS, tls
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.server import NatsServer
from tests.testbed.run import current

SECRETS = ["userpass", "token", "nkey", "creds"]


def access_of(method: str) -> Access:
    return METHODS[method](current().new_folder(method))


def file_of(access: Access) -> str:
    """Return what is in the file that a client is given to log in with."""
    (file,) = access.client.arguments.values()
    return Path(file).read_text()


async def gets_in(server: NatsServer, auth: Auth | None, encryption: Tls | None = None) -> bool:
    async with Connection(server.url, auth=auth, tls=encryption, options=QUICK) as connection:
        echo(connection, "echo")
        return (await connection.request("echo", b"hello")).payload == b"hello"


async def refusal(server: NatsServer, auth: Auth | None, encryption: Tls | None = None) -> AuthenticationError:
    with pytest.raises(AuthenticationError) as problem:
        await Connection(server.url, auth=auth, tls=encryption, options=QUICK).open()
    return problem.value


@pytest.mark.parametrize("encryption", WAYS)
@pytest.mark.parametrize("method", METHODS)
async def test_who_is_known_gets_in_with_every_encryption(start_nats: StartNats, method: str, encryption: str) -> None:
    access, encrypted = access_of(method), WAYS[encryption](current().new_folder("tls"))
    server = start_nats(access=access, encryption=encrypted)
    assert await gets_in(server, login(access), trust(encrypted) if encrypted else None)


@pytest.mark.parametrize("method", SECRETS)
async def test_who_is_not_known_is_told_so_and_what_to_check(start_nats: StartNats, method: str) -> None:
    server = start_nats(access=access_of(method))
    for stranger in (login(access_of(method)), None):
        problem = await refusal(server, stranger)
        assert f"{server.url} refused the connection: Authorization Violation." in str(problem)
        assert "Check that the server knows this user" in problem.advice


async def test_an_identity_in_the_url_gets_in(start_nats: StartNats) -> None:
    access = access_of("userpass")
    server = start_nats(access=access)
    user, password = access.client.arguments["user"], access.client.arguments["password"]
    async with Connection(f"nats://{user}:{password}@127.0.0.1:{server.port}") as connection:
        assert connection.is_connected


async def test_a_token_in_the_url_gets_in(start_nats: StartNats) -> None:
    access = access_of("token")
    server = start_nats(access=access)
    async with Connection(f"nats://{access.client.arguments['token']}@127.0.0.1:{server.port}") as connection:
        assert connection.is_connected


async def test_a_secret_may_come_from_a_function_or_a_file(start_nats: StartNats, tmp_path: Path) -> None:
    access = access_of("token")
    server = start_nats(access=access)
    token = access.client.arguments["token"]
    (tmp_path / "token").write_text(f"{token}\n")
    assert await gets_in(server, Token(lambda: token))
    assert await gets_in(server, Token(tmp_path / "token"))


async def test_a_jwt_and_its_seed_may_come_apart_or_as_text(start_nats: StartNats) -> None:
    access = access_of("creds")
    server = start_nats(access=access)
    text = file_of(access)
    jwt, seed = text.splitlines()[1], text.splitlines()[5]
    assert await gets_in(server, Jwt(jwt, seed))
    assert await gets_in(server, Credentials(text))


async def test_an_nkey_may_come_as_text(start_nats: StartNats) -> None:
    access = access_of("nkey")
    server = start_nats(access=access)
    assert await gets_in(server, Nkey(file_of(access)))


async def test_a_client_certificate_can_be_the_identity(start_nats: StartNats) -> None:
    encryption = tls(current().new_folder("tls"), verify_clients=True)
    users = {"authorization": {"users": [{"user": "CN=client"}]}}
    mapped = merged({"tls": {"verify_and_map": True}}, users)
    server = start_nats(encryption=encryption, extra=mapped)
    assert await gets_in(server, None, trust(encryption))


@pytest.mark.parametrize("auth", [Nkey, Credentials])
async def test_a_file_that_is_not_there_is_named(
    nats_server: NatsServer, tmp_path: Path, auth: Callable[[Path], Auth]
) -> None:
    problem = await refusal(nats_server, auth(tmp_path / "nothing.here"))
    assert f"{tmp_path}/nothing.here" in str(problem)
    assert "No such file" in str(problem)


async def test_a_server_that_knows_no_keys_cannot_be_shown_one(nats_server: NatsServer) -> None:
    key = login(access_of("nkey"))
    assert "sent no challenge" in str(await refusal(nats_server, key))


async def test_credentials_that_were_rotated_are_read_anew_when_the_server_wants_them(
    start_nats: StartNats, tmp_path: Path
) -> None:
    before, after = access_of("creds"), access_of("creds")
    file = tmp_path / "user.creds"
    file.write_text(file_of(before))
    old, new = start_nats(access=before), start_nats(access=after)
    async with Connection([old.url, new.url], auth=Credentials(file), options=QUICK) as connection:
        events = Events(connection)
        old.kill()
        await events.have(Failed, 3)
        assert any(isinstance(failed.error, AuthenticationError) for failed in events.of(Failed))
        file.write_text("half a fi")
        await events.until(lambda: any("has no user JWT" in str(failed.error) for failed in events.of(Failed)))
        file.write_text(file_of(after))
        connected = await events.have(Connected)
        assert connected.server.id == connection.server.id
        assert connected.reconnects == 1


async def test_a_user_that_expires_comes_back_with_the_credentials_that_are_in_the_file_by_then(
    start_nats: StartNats, tmp_path: Path
) -> None:
    server, account, _ = trusted_accounts()
    file = tmp_path / "user.creds"
    expiring = user_of(account, file, expires_at=int(time.time()) + 2)
    nats = start_nats(access=Access(server, expiring, system=None))
    async with Connection(nats.url, auth=Credentials(file), options=QUICK) as connection:
        events = Events(connection)
        disconnected = await events.have(Disconnected)
        assert isinstance(disconnected.reason, AuthenticationError)
        assert "User Authentication Expired" in str(disconnected.reason)
        assert isinstance((await events.have(Failed)).error, AuthenticationError)
        user_of(account, file)
        await events.have(Connected)


async def test_a_user_that_is_not_known_any_more_is_tried_again_until_it_is(start_nats: StartNats) -> None:
    server = start_nats(access=access_of("userpass"))
    configuration = server.config_file.read_text()
    user = server.access.client.arguments["user"]
    async with Connection(server.url, auth=login(server.access), options=QUICK) as connection:
        events = Events(connection)
        server.config_file.write_text(configuration.replace(user, "someone-else"))
        server.restart()
        await events.have(Disconnected)
        await events.until(lambda: any(isinstance(failed.error, AuthenticationError) for failed in events.of(Failed)))
        server.config_file.write_text(configuration)
        server.restart()
        await events.have(Connected)


def test_no_secret_is_in_a_representation() -> None:
    secret = "do-not-show-this"
    for auth in (Token(secret), UserPassword("me", secret), Nkey(secret), Credentials(secret), Jwt(secret, secret)):
        assert secret not in repr(auth)
