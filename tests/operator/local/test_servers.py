"""The embedded NATS server of a Connection: started again if it dies, also before it has served."""

import os
import signal
import socket
from pathlib import Path

import pytest
from typing_extensions import override

from penstock_operator.local.children import Guard
from penstock_operator.local.embedded_nats import EmbeddedNatsError
from penstock_operator.local.servers import FIRST_ATTEMPTS, EmbeddedServer


class Killer(Guard):
    """Kills so many of the processes that it is to guard, each as soon as it was started."""

    def __init__(self, victims: int) -> None:
        super().__init__(lock=-1, hurry=Path())
        self.victims = victims

    @override
    def note(self, pid: int, rank: int) -> None:
        if self.victims:
            self.victims -= 1
            os.kill(pid, signal.SIGKILL)


def server(folder: Path, guard: Guard, said: list[str], port: int = 0) -> EmbeddedServer:
    return EmbeddedServer("Connection default/nats", folder, port, guard, said.append)


async def test_server_that_is_killed_while_it_starts_is_started_again(tmp_path: Path) -> None:
    said: list[str] = []
    killed = server(tmp_path, Killer(victims=2), said)
    try:
        assert (await killed.start()).startswith("nats://127.0.0.1:")
    finally:
        await killed.end()
    assert len(said) == 2
    assert "nats-server ended before it served, and gave no reason." in said[0]


async def test_server_that_gives_a_reason_is_not_started_again(tmp_path: Path) -> None:
    said: list[str] = []
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(EmbeddedNatsError, match="address already in use"),
    ):
        await server(tmp_path, Killer(victims=0), said, taken.getsockname()[1]).start()
    assert not said


@pytest.mark.full
async def test_server_that_never_serves_is_given_up(tmp_path: Path) -> None:
    said: list[str] = []
    with pytest.raises(EmbeddedNatsError, match="gave no reason"):
        await server(tmp_path, Killer(victims=FIRST_ATTEMPTS), said).start()
    assert len(said) == FIRST_ATTEMPTS - 1
