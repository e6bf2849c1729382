"""Files that people edit while they look: manifests and code, looked at again and again for changes.

Knows which files count. Looks at times and sizes, and reads nothing. Does not know what follows from an edit.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from penstock_operator.local.manifests import STANDARD_INPUT, SUFFIXES

LOOK_SECONDS = 0.5
CODE_SUFFIX = ".py"
MOST_FILES = 5000
"""Of one folder: whoever keeps manifests at the root of something huge is not to wait for us."""
ENVIRONMENT = "pyvenv.cfg"
"""A folder with this file is a Python environment, and no code of the user's."""

Print = Mapping[str, tuple[int, int]]
"""When each file was written last, and how large it is."""


class Edits:
    """Tells when files were edited: once two looks in a row see the same, as an editor may still be writing."""

    def __init__(self) -> None:
        self._seen: Print = {}

    def are_over(self, read: Print, now: Print) -> bool:
        """Tell whether files are not what they were when they were read, and have not changed since the last look."""
        before, self._seen = self._seen, now
        return now != read and now == before


def manifests_print(paths: Iterable[str], *, recursive: bool) -> Print:
    """Look at the files that manifests are read from."""
    files: list[Path] = []
    for path in paths:
        if path == STANDARD_INPUT:
            continue
        if not Path(path).is_dir():
            files.append(Path(path))
        else:
            found = Path(path).rglob("*") if recursive else Path(path).iterdir()
            files += [file for file in found if file.suffix in SUFFIXES]
    return _print(files)


def code_print(folder: Path) -> Print:
    """Look at the Python files in a folder and in those below it."""
    return _print(_code(folder))


def _code(folder: Path) -> Iterator[Path]:
    count = 0
    for where, folders, files in os.walk(folder):
        if ENVIRONMENT in files:
            folders.clear()
            continue
        folders[:] = [name for name in folders if not name.startswith((".", "__"))]
        for name in files:
            if name.endswith(CODE_SUFFIX):
                yield Path(where, name)
        count += len(files)
        if count > MOST_FILES:
            return


def _print(files: Iterable[Path]) -> Print:
    found = {}
    for file in files:
        with suppress(OSError):  # it went while we looked
            told = file.stat()
            found[str(file)] = (told.st_mtime_ns, told.st_size)
    return found
