"""Keeps pandas out of the engine's process, where it is installed for the driver.

Knows that pyarrow imports it at the first list that it makes an array of, only to ask whether that is a Series: half a
second of CPU before the first batch, and 50 MB for as long as the process lives. pyarrow does without where the import
fails. Called by the program alone: other processes that import the engine are left as they are.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from typing_extensions import override

UNWANTED = "pandas"


def do_without_pandas() -> None:
    """Have every import of pandas fail from now on."""
    sys.meta_path.insert(0, _Without())


class _Without(MetaPathFinder):
    @override
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == UNWANTED:
            raise ModuleNotFoundError(f"The engine does without {UNWANTED}.", name=UNWANTED)
        return None
