"""The steps of batches, seen from outside as they are taken: nothing of what runs is changed for that.

began, wrote        told by the user's code (code/chaos_job.py)
opened, committed   entries of the ledger, as they go over the wire
acked               each acknowledgement, likewise
"""

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path

from penstock_jetstream import Connection

LOOK_SECONDS = 0.005
LEDGER = "$KV.penstock-ledger.>"
PATIENCE_SECONDS = 300


@dataclass(eq=False)
class Wish:
    step: str
    count: int
    """How often it still has to be seen."""
    came: asyncio.Future[str]


@dataclass
class Steps:
    """Counts the steps for those who wait for one."""

    file: Path
    """Where the user's code tells its steps."""
    _wishes: list[Wish] = field(default_factory=list)
    _read: int = 0

    def watch(self, connection: Connection, stream: str, consumer: str) -> None:
        """See what goes over the wire for as long as the connection is open."""
        connection.subscribe(LEDGER, self._ledger)
        connection.subscribe(f"$JS.ACK.{stream}.{consumer}.>", self._ack)

    async def read(self) -> None:
        """See what the user's code tells."""
        while True:
            self._look()
            await asyncio.sleep(LOOK_SECONDS)  # calm: reads a file as long as the chaos lasts

    async def after(self, step: str, count: int) -> str:
        """Return when a step has been taken so often from now on, and who took it; an empty name if that is unknown."""
        wish = Wish(step, count, asyncio.get_running_loop().create_future())
        self._wishes.append(wish)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await wish.came
        finally:
            self._wishes.remove(wish)

    def _see(self, step: str, worker: str = "") -> None:
        for wish in self._wishes:
            if wish.step == step:
                wish.count -= 1
                if wish.count == 0:
                    wish.came.set_result(worker)

    def _look(self) -> None:
        if not self.file.exists():
            return
        with self.file.open("rb") as told:
            told.seek(self._read)
            whole, end, _ = told.read().rpartition(b"\n")  # the last may not be written to its end
        self._read += len(whole + end)
        for line in whole.decode().splitlines():
            self._see(*line.split())

    def _ledger(self, _subject: bytes, _reply: bytes, _header: bytes, payload: bytes) -> None:
        if payload:
            entry = json.loads(payload)
            self._see("committed" if entry["committed"] else "opened", entry["worker"])

    def _ack(self, _subject: bytes, _reply: bytes, _header: bytes, payload: bytes) -> None:
        if payload in {b"", b"+ACK"}:
            self._see("acked")
