"""Each way to say who we are, with each way to encrypt: who is let in, and what is said to who is not."""

import time
from pathlib import Path

import pytest

from penstock_jetstream.errors import AuthenticationError
from penstock_jetstream.transport.connection import Connection
from penstock_jetstream.transport.encryption import Tls
from penstock_jetstream.transport.events import Connected, Disconnected, Failed
from penstock_jetstream.transport.identity import Auth, Credentials, Jwt, Nkey, Token, UserPassword
from tests.jetstream.connecting import QUICK, Events, login, trust
from tests.testbed.nats.authentication import METHODS, Access, trusted_accounts, user_of
from tests.testbed.nats.config import merged
from tests.testbed.nats.encryption import WAYS, tls
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.server import NatsServer
from tests.testbed.run import current

SECRETS = ["userpass", "token", "nkey", "creds"]
REST = [method for method in METHODS if method not in SECRETS]


def access_of(method: str) -> Access:
    return METHODS[method](current().new_folder(method))


def file_of(access: Access) -> str:
    """Return what is in the file that a client is given to log in with."""
    (file,) = access.client.arguments.values()
    return Path(file).read_text()


async def gets_in(server: NatsServer, auth: Auth | None, encryption: Tls | None = None) -> bool:
    async with Connection(server.url, auth=auth, tls=encryption, options=QUICK) as connection:
        await connection.flush()
        return connection.is_connected


async def refusal(server: NatsServer, auth: Auth | None, encryption: Tls | None = None) -> AuthenticationError:
    with pytest.raises(AuthenticationError) as problem:
        await Connection(server.url, auth=auth, tls=encryption, options=QUICK).open()
    return problem.value


@pytest.mark.parametrize("encryption", WAYS)
@pytest.mark.parametrize("method", [*SECRETS, *(pytest.param(m, marks=pytest.mark.full) for m in REST)])
async def test_known_user_gets_in_with_every_encryption(start_nats: StartNats, method: str, encryption: str) -> None:
    access, encrypted = access_of(method), WAYS[encryption](current().new_folder("tls"))
    server = start_nats(access=access, encryption=encrypted)
    assert await gets_in(server, login(access), trust(encrypted) if encrypted else None)


@pytest.mark.parametrize("method", SECRETS)
async def test_unknown_user_is_refused_with_what_to_check(start_nats: StartNats, method: str) -> None:
    server = start_nats(access=access_of(method))
    for stranger in (login(access_of(method)), None):
        problem = await refusal(server, stranger)
        assert f"{server.url} refused the connection: Authorization Violation." in str(problem)
        assert "Check that the server knows this user" in problem.advice


async def test_user_or_token_in_the_url_gets_in(start_nats: StartNats) -> None:
    for method in ("userpass", "token"):
        access = access_of(method)
        server = start_nats(access=access)
        said = ":".join(access.client.arguments.values())
        async with Connection(f"nats://{said}@127.0.0.1:{server.port}", options=QUICK) as connection:
            assert connection.is_connected


async def test_secrets_may_be_functions_files_or_text(start_nats: StartNats, tmp_path: Path) -> None:
    access = access_of("token")
    server = start_nats(access=access)
    token = access.client.arguments["token"]
    (tmp_path / "token").write_text(f"{token}\n")
    assert await gets_in(server, Token(lambda: token))
    assert await gets_in(server, Token(tmp_path / "token"))
    access = access_of("creds")
    server = start_nats(access=access)
    text = file_of(access)
    jwt, seed = text.splitlines()[1], text.splitlines()[5]
    assert await gets_in(server, Jwt(jwt, seed))
    assert await gets_in(server, Credentials(text))
    access = access_of("nkey")
    assert await gets_in(start_nats(access=access), Nkey(file_of(access)))


async def test_client_certificate_can_be_the_identity(start_nats: StartNats) -> None:
    encryption = tls(current().new_folder("tls"), verify_clients=True)
    users = {"authorization": {"users": [{"user": "CN=client"}]}}
    mapped = merged({"tls": {"verify_and_map": True}}, users)
    server = start_nats(encryption=encryption, extra=mapped)
    assert await gets_in(server, None, trust(encryption))


async def test_missing_file_or_a_server_that_knows_no_keys_is_named(nats_server: NatsServer, tmp_path: Path) -> None:
    for auth in (Nkey(tmp_path / "nothing.here"), Credentials(tmp_path / "nothing.here")):
        problem = await refusal(nats_server, auth)
        assert f"{tmp_path}/nothing.here" in str(problem)
        assert "No such file" in str(problem)
    assert "sent no challenge" in str(await refusal(nats_server, login(access_of("nkey"))))


async def test_rotated_credentials_are_read_again_when_refused(start_nats: StartNats, tmp_path: Path) -> None:
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


@pytest.mark.full
async def test_expired_user_returns_with_new_credentials(start_nats: StartNats, tmp_path: Path) -> None:
    server, account, _ = trusted_accounts()
    file = tmp_path / "user.creds"
    nats = start_nats(access=Access(server, user_of(account, file), system=None))
    user_of(account, file, expires_at=int(time.time()) + 5)  # calm: opening takes much less, also while it is stopped
    async with Connection(nats.url, auth=Credentials(file), options=QUICK) as connection:
        events = Events(connection)
        disconnected = await events.have(Disconnected)
        assert isinstance(disconnected.reason, AuthenticationError)
        assert "User Authentication Expired" in str(disconnected.reason)
        assert isinstance((await events.have(Failed)).error, AuthenticationError)
        user_of(account, file)
        await events.have(Connected)


def test_no_secret_is_in_a_representation() -> None:
    secret = "do-not-show-this"
    for auth in (Token(secret), UserPassword("me", secret), Nkey(secret), Credentials(secret), Jwt(secret, secret)):
        assert secret not in repr(auth)
