"""Run the driver's tests under each pyspark that it supports: it takes many minutes, and is no part of CI's usual run.

usage: python3 tools/sparks.py [4.0 4.1 …] [-- pytest's arguments]        (make test-sparks)

Knows which pysparks. An environment like `.venv` is kept for each: all that constraints.txt pins, but for pyspark.
"""

import subprocess
import sys
from pathlib import Path

if __package__ is None:  # run as a script, before anything is installed
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.console import CannotContinueError, say, step
from tools.environment import DISTRIBUTIONS, ROOT, ensure_uv, fingerprint, install, locked, run

SUPPORTED = ("4.0", "4.1", "4.2", "4.3")
TESTS = ("tests/worker/driver", "tests/worker/spark")
NO_TESTS_FAILED = 0


def main(arguments: list[str]) -> int:
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    versions, chosen = arguments[:cut] or list(SUPPORTED), arguments[cut + 1 :]
    try:
        codes = {version: tested(version, chosen) for version in versions}
    except CannotContinueError as problem:
        say(f"\n{problem}")
        return 1
    for version, code in codes.items():
        say(f"pyspark {version}: {'passed' if code == NO_TESTS_FAILED else 'failed'}")
    return max(codes.values())


def tested(version: str, arguments: list[str]) -> int:
    """Run the tests under one pyspark, and return pytest's verdict."""
    python = ensure(version) / "bin" / "python"
    say(f"\ndriver tests under pyspark {version}")
    command = [str(python), "-m", "pytest", "-n0", "-q", *(arguments or TESTS)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def ensure(version: str) -> Path:
    """Bring the environment of that pyspark up to date."""
    folder = ROOT / f".venv-spark-{version}"
    stamp, wanted = folder / "penstock-environment", fingerprint(Path(sys.executable))
    with locked(ROOT / ".cache" / folder.name):
        if stamp.is_file() and stamp.read_text() == wanted:
            return folder
        with step(f"pyspark {version} in {folder.name} (a download of 450 MB the first time)"):
            run([str(ensure_uv()), "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)])
            install(folder, "the packages in constraints.txt", "--require-hashes", "--requirements=constraints.txt")
            editable = [f"--editable=./{name}" for name in DISTRIBUTIONS]
            install(folder, "what builds our own packages", "--no-deps", *editable)
            install(folder, f"pyspark {version}", "--no-deps", f"pyspark=={version}.*")
        stamp.write_text(wanted)
    return folder


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
