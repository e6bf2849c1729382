"""The logs of workers in a state folder, read as they grow: from near their end, over new starts and new workers.

Knows where they are, that a long one is put aside when its program starts anew, and that a line is whole once it ends.
Does not know what a line says (cli/log_lines.py).
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from penstock_operator.local.state import DRIVER_LOG, ENGINE_LOG, GROUPS

MOST_BYTES = 4 << 20
"""So much of the end of each log is read at first."""
PROCESSES = {"engine": ENGINE_LOG, "driver": DRIVER_LOG}


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """Who wrote it."""

    group: str
    """NAMESPACE/NAME."""
    worker: str
    process: str


@dataclass(slots=True)
class LogFile:
    """One log, from where it was read last."""

    path: Path
    _file: BinaryIO | None = None
    _part: bytes = b""
    """Of a line that has not ended yet."""

    def new_lines(self) -> Iterator[bytes]:
        """Go through the lines that there are now and were not before."""
        if self._file is None and not self._open(MOST_BYTES):
            return
        yield from self._rest()
        if self._was_put_aside() and self._open(None):
            yield from self._rest()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self, most: int | None) -> bool:
        self.close()
        try:
            self._file = self.path.open("rb")
        except FileNotFoundError:
            return False
        size = self._file.seek(0, 2)
        start = 0 if most is None else max(0, size - most)
        self._file.seek(start)
        if start:
            self._file.readline()  # the end of a line whose beginning is not read
        return True

    def _rest(self) -> Iterator[bytes]:
        if self._file is None:
            return
        *lines, self._part = (self._part + self._file.read()).split(b"\n")
        yield from lines

    def _was_put_aside(self) -> bool:
        """Tell whether there is another file of that name by now."""
        if self._file is None:
            return False
        try:
            return not os.path.samestat(self.path.stat(), os.fstat(self._file.fileno()))
        except FileNotFoundError:
            return False


@dataclass(slots=True)
class LogFiles:
    """All logs of a state folder, or some of them."""

    folder: Path
    groups: frozenset[str] | None = None
    """None: all of them, with those to come."""
    worker: str | None = None
    process: str | None = None
    _files: dict[Source, LogFile] = field(default_factory=dict)

    def new_lines(self) -> Iterator[tuple[Source, bytes]]:
        """Go through what was written since the last time, one log after the other."""
        for source, path in sources(self.folder):
            if self._is_meant(source):
                self._files.setdefault(source, LogFile(path))
        for source, file in sorted(self._files.items()):
            for line in file.new_lines():
                yield source, line

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def _is_meant(self, source: Source) -> bool:
        return (
            (self.groups is None or source.group in self.groups)
            and self.worker in (None, source.worker)
            and self.process in (None, source.process)
        )


def sources(folder: Path) -> Iterator[tuple[Source, Path]]:
    """Go through the logs that there are."""
    for path in sorted((folder / GROUPS).glob("*/*/*.log")):
        namespace, _, name = path.parts[-3].partition(".")
        for process, file in PROCESSES.items():
            if path.name == file:
                yield Source(f"{namespace}/{name}", path.parts[-2], process), path
