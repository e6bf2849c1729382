"""The state folder: its owner, its records, and what stays."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock_operator.local.state import (
    ConnectionRecord,
    GroupRecord,
    HomeRecord,
    StateError,
    StateFolder,
    make_private,
)

pytestmark = pytest.mark.interpreter

DEAD = {"dead_letter_stream": "ORDERS-etl-dead", "dead_letter_subject": "dead.ORDERS.etl"}
SHOP = {"namespace": "default"}
HOME = HomeRecord(
    pid=os.getpid(),
    started=datetime(2026, 1, 31, tzinfo=UTC),
    files=("/manifests",),
    connections=(ConnectionRecord(namespace="default", name="nats", servers=("nats://localhost",), embedded=True),),
    groups=(GroupRecord(**SHOP, name="etl", connection="default/nats", stream="ORDERS", consumer="etl", **DEAD),),
)
HOLDER = """
import sys
from pathlib import Path
from penstock_operator.local.state import StateFolder
with StateFolder(Path(sys.argv[1])).taken():
    print("taken", flush=True)
    sys.stdin.read()
"""


def test_folder_has_one_owner_and_a_record_while_it_runs(tmp_path: Path) -> None:
    state = StateFolder(tmp_path / "state")
    with state.taken():
        state.write(HOME)
        assert state.read() == HOME
        with pytest.raises(StateError, match="Another `penstock up` has the state folder"), state.taken():
            pass
        assert state.is_taken()
    assert not state.is_taken()
    assert state.read() is None


def test_record_of_a_killed_owner_is_ignored(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "taken\n"
        state.write(HOME)
        assert state.read() == HOME
        holder.kill()
    assert (tmp_path / "home.json").exists()
    assert state.read() is None
    with state.taken():
        assert state.is_taken()


def test_record_of_a_dead_process_is_ignored_while_its_children_end(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    with state.taken():
        state.write(HOME.model_copy(update={"pid": gone.pid}))
        assert state.is_taken()
        assert state.read() is None


def test_socket_path_is_short_enough_to_bind(tmp_path: Path) -> None:
    short, long = Path("/s/w"), tmp_path / ("long" * 40)
    assert StateFolder(Path("/s")).socket(short) == short / "driver.sock"
    socket = StateFolder(tmp_path).socket(long)
    assert len(str(socket).encode()) < 104
    assert socket != StateFolder(tmp_path).socket(long / "other")


def test_deleting_leaves_foreign_files(tmp_path: Path) -> None:
    state = StateFolder(tmp_path / "state")
    state.nats("default", "nats").mkdir(parents=True)
    state.group("default", "etl").suspend()
    state.delete()
    assert not state.path.exists()
    state.group("default", "etl").suspend()
    (state.path / "mine.txt").touch()
    state.delete()
    assert [each.name for each in state.path.iterdir()] == ["mine.txt"]


def test_unusable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match="cannot be used: File exists"), StateFolder(tmp_path / "file").taken():
        pass


def test_folder_in_which_others_can_write_is_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    make_private(tmp_path / "made" / "here")
    make_private(tmp_path / "made" / "here")
    assert (tmp_path / "made" / "here").stat().st_mode & 0o777 == 0o700
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "elsewhere").symlink_to(tmp_path / "made")
    for name in ("open", "elsewhere"):
        with subtests.test(name), pytest.raises(StateError, match="others can write in it"):
            make_private(tmp_path / name)
