"""Make the virtual environments that everything else runs in, from PyPI, with uv.

usage: python3 tools/environment.py [3.11 3.13 …]     (without a version: the Python that runs this)

Knows: where Pythons are found, how uv is had, constraints.txt. Does not know: what is run in the environments.
`.venv` belongs to the Python that runs this; another version's is `.venv-X.Y`. An environment that is up to date is
left alone, so this costs a tenth of a second when nothing changed.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if __package__ is None:  # run as a script, before anything is installed
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.console import CannotContinueError, say, step

ROOT = Path(__file__).resolve().parent.parent
UV_VERSION = "0.13.8"
DISTRIBUTIONS = ("jetstream", "worker", "operator")
OLDEST_PYTHON = (3, 11)
INSTALLED = " + "
"""How uv lists what it installed: eighty lines that nobody reads."""

NO_NETWORK = (
    "If this machine has no network, point pip and uv at a mirror or at a folder of wheels:\n"
    "  PIP_INDEX_URL and UV_DEFAULT_INDEX (a mirror), or PIP_FIND_LINKS, UV_FIND_LINKS and UV_OFFLINE=1 (a folder)."
)


def main(versions: list[str]) -> int:
    if sys.version_info < OLDEST_PYTHON:
        say(
            f"Penstock needs Python 3.11 or later; {sys.executable} is {sys.version.split()[0]}. Set PYTHON=… for make."
        )
        return 1
    try:
        for version in versions or [f"{sys.version_info.major}.{sys.version_info.minor}"]:
            ensure(version)
    except CannotContinueError as problem:
        say(f"\n{problem}")
        return 1
    return 0


def cache_folder() -> Path:
    """Return where large things are kept between clones."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let one process at a time prepare a folder; the others wait and find it ready."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def environment(version: str) -> Path:
    """Return the folder of the environment of that Python version."""
    own = version == f"{sys.version_info.major}.{sys.version_info.minor}"
    return ROOT / (".venv" if own else f".venv-{version}")


def ensure(version: str) -> Path:
    """Bring the environment of that Python version up to date."""
    folder = environment(version)
    python = find_python(version)
    stamp, wanted = folder / "penstock-environment", fingerprint(python)
    with locked(ROOT / ".cache" / folder.name):
        if stamp.is_file() and stamp.read_text() == wanted:
            return folder
        uv = str(ensure_uv())
        with step(f"Python {version} environment in {folder.name} (Spark is a download of 450 MB the first time)"):
            run([uv, "venv", "--quiet", "--clear", "--python", str(python), str(folder)])
            install(folder, "the packages in constraints.txt", "--require-hashes", "--requirements=constraints.txt")
            editable = [f"--editable=./{name}" for name in DISTRIBUTIONS]
            install(folder, "what builds our own packages", "--no-deps", *editable)
        stamp.write_text(wanted)
    return folder


def install(environment: Path, what: str, *arguments: str) -> None:
    """Install from what uv keeps, and only what it lacks from PyPI.

    Some mirrors forbid keeping what they serve: asking them first would fetch and build Spark anew each time.
    """
    command = [str(ensure_uv()), "pip", "install", "--python", str(environment)]
    command += ["--build-constraints=build-constraints.txt", *arguments]
    kept = subprocess.run([*command, "--offline"], cwd=ROOT, capture_output=True, check=False)
    if kept.returncode:
        run(command, f"Not all could be fetched from PyPI: {what}.\n{NO_NETWORK}")


def fingerprint(python: Path) -> str:
    """Return what the content of an environment depends on, as a digest."""
    digest = hashlib.sha256(f"{python} {UV_VERSION}".encode())
    declarations = [f"{name}/pyproject.toml" for name in DISTRIBUTIONS]
    for name in ("constraints.txt", "build-constraints.txt", "VERSION", *declarations):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def find_python(version: str) -> Path:
    """Find an interpreter of that version: this one, on the PATH, or among pyenv's."""
    found = next((python for python in candidates(version) if answers(python, version)), None)
    if found is None:
        raise CannotContinueError(
            f"Python {version} was not found on the PATH or among pyenv's versions.\n"
            f"Install it (pyenv install {version}, or your system's package), or leave {version} out of PYTHONS."
        )
    return found


def candidates(version: str) -> Iterator[Path]:
    yield Path(sys.executable)
    on_path = shutil.which(f"python{version}")
    if on_path:
        yield Path(on_path)
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"), reverse=True)


def answers(python: Path, version: str) -> bool:
    """Tell whether an interpreter runs and is of that version: one of pyenv's shims may be neither."""
    question = [str(python), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    answer = subprocess.run(question, capture_output=True, text=True, check=False)
    return answer.returncode == 0 and answer.stdout.strip() == version


def ensure_uv() -> Path:
    """Install uv for ourselves, in an environment of its own, and return its path."""
    folder = cache_folder() / "uv" / UV_VERSION
    uv = folder / "bin" / "uv"
    with locked(folder):
        if uv.is_file():
            return uv
        with step(f"uv {UV_VERSION}"), tempfile.TemporaryDirectory(dir=folder.parent) as partial:
            run(
                [sys.executable, "-m", "venv", partial],
                "Python's venv module is missing or incomplete: on Debian and Ubuntu, apt-get install python3-venv.",
            )
            pip = [f"{partial}/bin/python", "-m", "pip", "--quiet", "--retries=1", "install", f"uv=={UV_VERSION}"]
            run(pip, f"uv {UV_VERSION} could not be fetched from PyPI.\n{NO_NETWORK}")
            uv.parent.mkdir(parents=True, exist_ok=True)
            (Path(partial) / "bin" / "uv").rename(uv)  # a program on its own: it needs nothing of the environment
    return uv


def run(command: list[str], advice: str = "") -> None:
    """Run a program, showing what it says; what it needed but could not get becomes a sentence."""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as program:
        for line in program.stdout or ():
            if not line.startswith(INSTALLED):
                say(f"  {line.rstrip()}")
    if program.returncode:
        shown = " ".join([Path(command[0]).name, *command[1:3]])
        raise CannotContinueError(f"`{shown} …` failed (exit code {program.returncode}).\n{advice}".rstrip())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
