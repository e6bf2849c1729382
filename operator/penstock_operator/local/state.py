"""The state folder of a local home: what `penstock up` keeps there, what it tells the other commands, and who has it.

    lock                                    held for as long as `up`, or anything that it started, lives
    hurry                                   an `up` waits for what one that was killed has left
    home.json                               what runs: the process, the servers, the groups
    nats/NAMESPACE.NAME/                    the data of the embedded server of a Connection
    groups/NAMESPACE.NAME/suspended         while this file is there, the group is paused, as with spec.suspend
    groups/NAMESPACE.NAME/status.json       how it stands, as long as `up` runs: the status that `penstock get` shows
    groups/NAMESPACE.NAME/WORKER/           a worker: settings.json, engine.log, driver.log, and Spark's own folder

Knows names and forms. Does not know what is done with them: `up` writes, other commands read.
"""

import fcntl
import hashlib
import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

DEFAULT_FOLDER = Path(".penstock")
LOCK, HURRY, HOME, NATS, GROUPS = "lock", "hurry", "home.json", "nats", "groups"
SUSPENDED, RESTARTED, STATUS = "suspended", "restarted", "status.json"
SETTINGS, ENGINE_LOG, DRIVER_LOG, NATS_LOG = "settings.json", "engine.log", "driver.log", "nats-server.log"
LOOK_SECONDS = 0.05
GLANCE_SECONDS = 1.0
"""How long the lock may be taken by others than an `up`: whoever looks whether one runs has it for a moment."""
ENDING_SECONDS = 90.0
"""How long what an `up` started may need to end after it was killed."""
LONGEST_SOCKET_PATH = 103
"""Bytes, which every Unix can bind."""


class StateError(RuntimeError):
    """The folder cannot be used; the text says why, and what to do."""


def write_whole(file: Path, data: bytes) -> None:
    """Write a file that only its owner may read: all of it, or nothing of it and a StateError."""
    new = file.with_name(f".{file.name}.new")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new.touch(mode=0o600)
        new.write_bytes(data)
        new.replace(file)
    except OSError as problem:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise StateError(f"{file} cannot be written: {problem.strerror}.") from problem


def make_private(folder: Path) -> None:
    """Make a folder in which nobody else can put anything, or raise a StateError: what is put there runs as us.

    In a folder that all users share, such as /tmp, another may have made it before.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    if not is_ours or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise StateError(
            f"{folder} belongs to another user, or others can write in it. Delete it, or use another --state."
        )


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True)


class ConnectionRecord(_Record):
    """Where a Connection leads."""

    namespace: str
    name: str
    servers: tuple[str, ...]
    """URLs that work from here: an embedded server's own, or those of the manifest."""
    embedded: bool = False


class GroupRecord(_Record):
    """A queue group, and where all of it is."""

    namespace: str
    name: str
    connection: str
    """NAMESPACE/NAME of the Connection that leads to its stream."""
    stream: str
    """The server's names, here and below."""
    consumer: str
    dead_letter_stream: str
    dead_letter_subject: str
    """Before the original subject of each dead letter."""
    code: str | None = None
    """The folder with its code."""


class HomeRecord(_Record):
    """What an `up` that runs tells the other commands."""

    pid: int
    started: datetime
    files: tuple[str, ...]
    """What was read, as absolute paths; as with -f."""
    recursive: bool = False
    secrets: str | None = None
    """The folder of Secrets, as with --secrets."""
    default_namespace: str = "default"
    connections: tuple[ConnectionRecord, ...] = ()
    groups: tuple[GroupRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupFolder:
    """What is kept of a queue group."""

    path: Path

    @property
    def is_known(self) -> bool:
        """Whether there is anything of it: an `up` runs it, or has."""
        return self.path.is_dir()

    @property
    def is_suspended(self) -> bool:
        return (self.path / SUSPENDED).exists()

    def suspend(self) -> None:
        """Have the group pause until somebody resumes it, over any number of starts."""
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / SUSPENDED).touch()

    def resume(self) -> None:
        (self.path / SUSPENDED).unlink(missing_ok=True)

    @property
    def restarted(self) -> str:
        """When somebody wanted its workers started anew; nothing if nobody ever did."""
        try:
            return (self.path / RESTARTED).read_text()
        except FileNotFoundError:
            return ""

    def restart(self, when: str) -> None:
        """Have its workers started anew, if they run."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_whole(self.path / RESTARTED, when.encode())

    @property
    def status(self) -> dict[str, Any]:
        """How the group stands; empty if nothing is known. Of an `up` that has ended it says nothing any more."""
        with suppress(FileNotFoundError):
            found: dict[str, Any] = json.loads((self.path / STATUS).read_bytes())
            return found
        return {}

    def write_status(self, status: Mapping[str, Any]) -> None:
        write_whole(self.path / STATUS, json.dumps(status).encode())

    def worker(self, name: str) -> Path:
        return self.path / name

    def workers(self) -> list[Path]:
        """Return the folders of all workers that there were since the data was deleted last."""
        return sorted(each for each in self.path.glob("*") if each.is_dir()) if self.path.is_dir() else []


class StateFolder:
    """One such folder, whether it is there or not."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()

    def nats(self, namespace: str, name: str) -> Path:
        return self.path / NATS / f"{namespace}.{name}"

    def group(self, namespace: str, name: str) -> GroupFolder:
        return GroupFolder(self.path / GROUPS / f"{namespace}.{name}")

    def socket(self, worker: Path) -> Path:
        """Return where a worker's driver serves: beside its settings, unless no socket can have so long a path."""
        beside = worker / "driver.sock"
        if len(os.fsencode(beside)) <= LONGEST_SOCKET_PATH:
            return beside
        digest = hashlib.sha256(os.fsencode(worker)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"penstock-{os.getuid()}" / f"{digest}.sock"

    @property
    def hurry(self) -> Path:
        """The file that has what a killed `up` left end at once, though it may be at work."""
        return self.path / HURRY

    @contextmanager
    def taken(self, waits: Callable[[str], None] = lambda _: None) -> Iterator[int]:
        """Have the folder while the block runs, or raise a StateError; yields the descriptor of the lock.

        A process that inherits the descriptor has the folder, too, until it ends. `waits` is told what is waited for.
        """
        with self._opened() as lock:
            if not _locked(lock, GLANCE_SECONDS) and not self._is_left(lock, waits):
                raise StateError(self._in_use())
            self.hurry.unlink(missing_ok=True)
            try:
                yield lock
            finally:
                (self.path / HOME).unlink(missing_ok=True)

    def is_taken(self) -> bool:
        """Tell whether an `up` has the folder, or what it started has not ended yet."""
        if not (self.path / LOCK).exists():
            return False
        with self._opened() as lock:
            return not _locked(lock, 0)

    def write(self, home: HomeRecord) -> None:
        """Tell the other commands what runs."""
        write_whole(self.path / HOME, home.model_dump_json(indent=2).encode())

    def read(self) -> HomeRecord | None:
        """Return what runs; None if nothing does. What an `up` left that was killed tells nothing."""
        home = self._recorded() if self.is_taken() else None
        return home if home and _lives(home.pid) else None

    def _recorded(self) -> HomeRecord | None:
        try:
            return HomeRecord.model_validate_json((self.path / HOME).read_bytes())
        except FileNotFoundError:  # it is about to start, or about to end
            return None
        except ValidationError as problem:
            raise StateError(f"{self.path / HOME} was written by another version of Penstock.") from problem

    def delete(self) -> None:
        """Delete everything, for good. Nobody may have the folder."""
        with self.taken():
            for name in (NATS, GROUPS):
                shutil.rmtree(self.path / name, ignore_errors=True)
            (self.path / LOCK).unlink()
        with suppress(OSError):  # somebody put other things there, which stay
            self.path.rmdir()

    @contextmanager
    def _opened(self) -> Iterator[int]:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as problem:
            raise StateError(f"The state folder {self.path} cannot be used: {problem.strerror}.") from problem
        try:
            yield lock
        finally:
            os.close(lock)

    def _is_left(self, lock: int, waits: Callable[[str], None]) -> bool:
        """Have what an `up` left that was killed end at once, and tell whether it has."""
        home = self._recorded()
        if home is None or _lives(home.pid):
            return False
        waits("The last `penstock up` was killed. Waiting for its workers and NATS servers to end.")
        self.hurry.touch()
        return _locked(lock, ENDING_SECONDS)

    def _in_use(self) -> str:
        return (
            f"Another `penstock up` has the state folder {self.path}. End it with `penstock down --state {self.path}`, "
            "or choose another folder with --state."
        )


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def _locked(lock: int, seconds: float) -> bool:
    """Lock a file within that time, and tell whether it could be done."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(LOOK_SECONDS)
        else:
            return True
