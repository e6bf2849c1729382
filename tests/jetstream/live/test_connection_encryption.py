"""TLS: whom we trust, what is said where trust fails, and that nothing is left open then."""

import asyncio
import gc
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from penstock_jetstream.errors import AuthenticationError, LinkError
from penstock_jetstream.transport.connection import Connection
from penstock_jetstream.transport.encryption import Tls
from penstock_jetstream.transport.events import Connected
from penstock_jetstream.transport.options import Options
from tests.jetstream.connecting import QUICK, Events, Heard, trust
from tests.testbed.certificates import Authority
from tests.testbed.nats.encryption import tls
from tests.testbed.nats.fixtures import StartNats, StartRelay
from tests.testbed.nats.server import NatsServer
from tests.testbed.run import current

pytestmark = pytest.mark.interpreter
HASTY = replace(QUICK, connect_timeout_seconds=0.3)


async def failure(url: str, encryption: Tls | None, options: Options = QUICK) -> LinkError:
    """Return why there is no connection; a socket or task that is left would be reported as a warning."""
    with pytest.raises(LinkError) as problem:
        await Connection(url, tls=encryption, options=options).open()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    gc.collect()
    return problem.value


@pytest.mark.parametrize("handshake_first", [False, True])
async def test_server_of_an_unknown_authority_is_not_trusted(start_nats: StartNats, *, handshake_first: bool) -> None:
    encryption = tls(current().new_folder("tls"), handshake_first=handshake_first)
    another = tls(current().new_folder("tls"), handshake_first=handshake_first)
    server = start_nats(encryption=encryption)
    problem = await failure(server.url, trust(another))
    assert f"{server.url} is not trusted" in str(problem)
    assert "Tls(ca=...)" in problem.advice
    if not handshake_first:  # TLS that the server demands begins without being asked for, with the system's authorities
        assert "is not trusted" in str(await failure(server.url, None))


async def test_server_is_trusted_only_under_a_name_in_its_certificate(start_nats: StartNats) -> None:
    folder = current().new_folder("tls")
    authority = Authority.new("another")
    files = authority.server("nats.example").write(folder, "nats.example")
    ca = authority.certificate.write(folder, "another").certificate
    named = {"tls": {"cert_file": str(files.certificate), "key_file": str(files.key), "ca_file": str(ca)}}
    server = start_nats(extra=named)
    problem = await failure(server.url, Tls(ca=ca))
    assert f"{server.url} is not trusted: IP address mismatch" in str(problem)
    assert "Tls(server_name=...)" in problem.advice
    async with Connection(server.url, tls=Tls(ca=ca, server_name="nats.example")) as connection:
        assert connection.is_connected


async def test_server_that_demands_a_certificate_says_so_before_it_is_shown_none(start_nats: StartNats) -> None:
    encryption = tls(current().new_folder("tls"), verify_clients=True)
    problem = await failure(start_nats(encryption=encryption).url, Tls(ca=encryption.authority))
    assert isinstance(problem, AuthenticationError)
    assert "wants to see a certificate" in str(problem)


@pytest.mark.parametrize("handshake_first", [False, True])
async def test_certificate_of_another_authority_is_refused(start_nats: StartNats, *, handshake_first: bool) -> None:
    folder = current().new_folder("tls")
    encryption = tls(folder, verify_clients=True, handshake_first=handshake_first)
    stranger = Authority.new("another").client("client").write(folder, "stranger")
    shown = Tls(
        ca=encryption.authority, certificate=stranger.certificate, key=stranger.key, handshake_first=handshake_first
    )
    problem = await failure(start_nats(encryption=encryption).url, shown)
    assert isinstance(problem, AuthenticationError)
    assert "Give one that its authority issued" in problem.advice


async def test_encryption_that_is_wanted_is_never_given_up(nats_server: NatsServer) -> None:
    problem = await failure(nats_server.url, Tls())
    assert "does not offer TLS" in str(problem)
    assert "does not offer TLS" in str(await failure(nats_server.url.replace("nats:", "tls:"), None))


async def test_handshake_at_the_wrong_time_or_without_end_fails(start_nats: StartNats, start_relay: StartRelay) -> None:
    late = start_nats(encryption=tls(current().new_folder("tls")))
    problem = await failure(late.url, Tls(handshake_first=True))
    assert "does not begin with TLS" in str(problem)
    encryption = tls(current().new_folder("tls"), handshake_first=True)
    early = start_nats(encryption=encryption)
    problem = await failure(early.url, None, HASTY)
    assert "Tls(handshake_first=True)" in problem.advice
    relay = start_relay(early.port)
    relay.half_open()
    assert "did not finish TLS within 0.3 s" in str(await failure(relay.url, trust(encryption), HASTY))


async def test_missing_or_garbled_file_is_named(start_nats: StartNats, tmp_path: Path) -> None:
    encryption = tls(current().new_folder("tls"))
    server = start_nats(encryption=encryption)
    file = tmp_path / "file.pem"
    for content in (None, "no certificate"):
        if content is not None:
            file.write_text(content)
        assert str(file) in str(await failure(server.url, Tls(ca=file)))
        problem = await failure(server.url, Tls(ca=encryption.authority, certificate=file))
        assert isinstance(problem, AuthenticationError)
        assert str(file) in str(problem)


async def test_files_are_read_again_at_each_connect(start_nats: StartNats, tmp_path: Path) -> None:
    before, after = tls(current().new_folder("tls")), tls(current().new_folder("tls"))
    authority = shutil.copy(before.authority, tmp_path / "authority.crt")
    old, new = start_nats(encryption=before), start_nats(encryption=after)
    async with Connection([old.url, new.url], tls=Tls(ca=authority), options=QUICK) as connection:
        events = Events(connection)
        shutil.copy(after.authority, authority)
        old.kill()
        await events.have(Connected)


async def test_messages_larger_than_any_buffer_pass_through_encryption(start_nats: StartNats) -> None:
    encryption = tls(current().new_folder("tls"))
    server = start_nats(encryption=encryption, max_payload_bytes=8 << 20)
    async with Connection(server.url, tls=trust(encryption)) as connection:
        heard = Heard()
        connection.subscribe("large", heard)
        payload = bytes(range(256)) * (32 << 10)
        connection.publish("large", payload)
        assert await heard.have(1) == [payload]
