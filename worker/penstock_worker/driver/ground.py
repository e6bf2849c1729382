"""The ground that a driver stands on: a folder of its own, empty, and the environment that Spark inherits.

Knows files and variables. Holds a lock for as long as the process lives: two drivers in one folder would empty it under
each other's feet.
"""

import fcntl
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import IO

LOCK = "lock"
COPIED = ".copied"
KUBELETS_LINK = "..data"
_held: list[IO[str]] = []


class FolderInUseError(RuntimeError):
    """Another driver that lives has the folder."""


def take_folder(folder: Path) -> None:
    """Make the folder ours, and empty it: Spark leaves much behind when it is killed."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = (folder / LOCK).open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise FolderInUseError(
            f"Another driver works in {folder}. Give each a driver.work_folder of its own, or end the other."
        ) from None
    _held.append(lock)  # closing it would give it up
    for entry in folder.iterdir():
        if entry.name == LOCK:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def copy_code(source: Path, folder: Path) -> None:
    """Copy code to a folder that stays as it is, unless an earlier driver of this pod has.

    The kubelet replaces all files of a ConfigMap at once, by a link to another folder: only one of these is copied. A
    driver that ends meanwhile leaves no mark, so that the next one copies everything. The folder itself is a volume:
    its mode and times are not ours to set.
    """
    mark = folder / COPIED
    if mark.exists():
        return
    link = source / KUBELETS_LINK
    for entry in (link.resolve() if link.exists() else source).iterdir():
        if entry.is_dir():
            shutil.copytree(entry, folder / entry.name, dirs_exist_ok=True)
        else:
            shutil.copyfile(entry, folder / entry.name)
    mark.touch()


def offer_modules(folders: Sequence[str]) -> None:
    """Let Spark's Python workers on this machine import what the user's code imports."""
    here = [str(Path(folder).resolve()) for folder in folders]
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([*here, *([before] if before else [])])
