"""The embedded NATS server of a Connection, kept alive: one that dies is started again where it was, with its data.

Knows that its port stays the same once it is known, so that whoever was connected finds it again. Does not know what
is on it.
"""

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

from penstock_operator.local.children import Child, Guard, Hear, ending
from penstock_operator.local.embedded_nats import EmbeddedNatsError, nats_command, prepare, served_url
from penstock_operator.local.guardian import SERVER

PAUSES_SECONDS = (0.0, 0.5, 2.0, 5.0, 15.0)
"""Before each further start of a server that does not start; the last one for all that follow."""
FIRST_ATTEMPTS = 4
"""How often a server is started that never served: in these some 8 seconds, whoever killed or froze it is done."""
STOP_SECONDS = 10.0


class EmbeddedServer:
    """One server. `start` it, then `keep` it."""

    def __init__(self, name: str, folder: Path, port: int, guard: Guard, hear: Hear) -> None:
        self.url = ""
        self._name = name
        self._folder = folder
        self._port = port
        self._guard = guard
        self._hear = hear
        self._child: Child | None = None
        self._is_ending = False

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child else None

    async def start(self) -> str:
        """Return its URL once it serves, or raise an EmbeddedNatsError if that is of no use."""
        for pause_seconds in PAUSES_SECONDS[1:FIRST_ATTEMPTS]:
            try:
                return await self._start_once()
            except EmbeddedNatsError as problem:
                if problem.is_final:
                    raise
                self._hear(f"{problem}\nStarting it again.")
            await asyncio.sleep(pause_seconds)
        return await self._start_once()

    async def _start_once(self) -> str:
        log = prepare(self._folder)
        command = nats_command(self._folder, self._port, log)
        self._child = child = Child(command, self._folder / "output.log", self._guard, SERVER)
        await child.start()
        if child.process is None:
            raise RuntimeError("It was not started.")
        try:
            self.url = await served_url(child.process, self._folder, log)
        except BaseException:
            child.kill()
            await child.wait()
            raise
        self._port = urlsplit(self.url).port or self._port
        return self.url

    async def keep(self) -> None:
        """Start it again whenever it ends, until it is told to end."""
        while self._child is not None:
            code = await self._child.wait()
            if self._is_ending:
                return
            self._hear(f"The NATS server of {self._name} {ending(code)}, and is started again.")
            await self._start_again()

    async def end(self) -> None:
        """End it; it stores what it has to."""
        self._is_ending = True
        if self._child is None or self._child.process is None:
            return
        self._child.terminate()
        try:
            await asyncio.wait_for(self._child.wait(), STOP_SECONDS)
        except TimeoutError:
            self._child.kill()
            await self._child.wait()

    def kill(self) -> None:
        self._is_ending = True
        if self._child is not None:
            self._child.kill()

    async def _start_again(self) -> None:
        failures = 0
        while not self._is_ending:
            await asyncio.sleep(PAUSES_SECONDS[min(failures, len(PAUSES_SECONDS) - 1)])
            try:
                await self._start_once()
            except EmbeddedNatsError as problem:
                failures += 1
                self._hear(str(problem))
            else:
                return
