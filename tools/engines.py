"""What builds images on this machine: docker or podman where one answers, else buildah.

Knows their commands, where the base image comes from, and how this machine's certificates, proxies and package indexes
are lent to a build without staying in what is built. Does not know our images. Called by tools/images.py.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from tools.console import CannotContinueError, say, step
from tools.environment import ROOT

BASE = "docker.io/library/debian:trixie-slim"
SUITE = "trixie"
PULL_SECONDS = 60
FINGERPRINT_LABEL = "dev.penstock.fingerprint"
CERTIFICATES = "/run/secrets/certificates"
CERTIFICATE_VARIABLES = ("PIP_CERT", "SSL_CERT_FILE")
PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
LENT_VARIABLES = (*PROXY_VARIABLES, "PIP_INDEX_URL", "UV_DEFAULT_INDEX")


@dataclass(frozen=True)
class Image:
    labels: dict[str, str]
    size_bytes: int


class Engine(Protocol):
    """A program that builds images."""

    @property
    def name(self) -> str: ...

    def build(self, target: str, tag: str, *, fingerprint: str, version: str) -> None: ...

    def inspect(self, tag: str) -> Image | None:
        """Return what is known of an image, if there is such an image."""

    def archive(self, tag: str, path: Path) -> None:
        """Write an image as an archive that containerd loads."""

    def pull(self, tag: str) -> bool:
        """Fetch an image, and tell whether that worked."""

    def load(self, root: Path, tag: str) -> None:
        """Make an image of a folder."""


@dataclass(frozen=True)
class Docker:
    """docker, or podman, which goes by the same commands. A daemon has its own way to the network."""

    name: str
    lending: Callable[[], list[str]]

    def build(self, target: str, tag: str, *, fingerprint: str, version: str) -> None:
        run(self.name, "build", *options(target, tag, fingerprint, version), *self.lending(), ".")

    def inspect(self, tag: str) -> Image | None:
        said = answer(self.name, "image", "inspect", tag)
        if said is None:
            return None
        image = json.loads(said)[0]
        return Image(image["Config"].get("Labels") or {}, image["Size"])

    def archive(self, tag: str, path: Path) -> None:
        run(self.name, "save", "--output", str(path), tag)

    def pull(self, tag: str) -> bool:
        return answer(self.name, "pull", tag) is not None

    def load(self, root: Path, tag: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            tarball = f"{folder}/root.tar"
            run("tar", "-C", str(root), "-cf", tarball, ".")
            run(self.name, "import", tarball, tag)


class Buildah:
    """buildah, which needs no daemon and, as root, no kernel features that a container may lack."""

    name: ClassVar[str] = "buildah"

    def build(self, target: str, tag: str, *, fingerprint: str, version: str) -> None:
        here = ["--isolation=chroot", "--network=host", "--format=docker", "--layers"]
        run("buildah", "bud", *here, *options(target, tag, fingerprint, version), *lent_to_a_build_here(), ".")

    def inspect(self, tag: str) -> Image | None:
        said = answer("buildah", "inspect", "--type=image", tag)
        if said is None:
            return None
        config = json.loads(said)["Docker"]["config"]
        listed = json.loads(answer("buildah", "images", "--json", tag) or "[]")
        return Image(config.get("Labels") or {}, in_bytes(listed[0]["size"]))

    def archive(self, tag: str, path: Path) -> None:
        run("buildah", "push", "--quiet", tag, f"oci-archive:{path}:{tag}")

    def pull(self, tag: str) -> bool:
        return answer("buildah", "pull", tag) is not None

    def load(self, root: Path, tag: str) -> None:
        container = answer("buildah", "from", "scratch")
        if container is None:
            raise CannotContinueError("`buildah from scratch` failed: can this user make containers? (root can)")
        run("buildah", "add", "--quiet", container, str(root), "/")
        run("buildah", "config", "--cmd", "bash", container)
        run("buildah", "commit", "--quiet", "--rm", container, tag)


def ensure_base(engine: Engine) -> None:
    """Have the base image: already here, else from its registry, else made from Debian's packages."""
    if engine.inspect(BASE):
        return
    with step(f"base image {BASE}"):
        if engine.pull(BASE):
            return
        say("its registry cannot be reached; making it from Debian's packages, with debootstrap")
        with tempfile.TemporaryDirectory() as folder:
            debootstrap(Path(folder))
            engine.load(Path(folder), BASE)


def find_engine() -> Engine:
    """Return what can build images here; on Debian, root gets buildah installed."""
    for engine in (Docker("docker", lent_variables), Docker("podman", lent_to_a_build_here)):
        if shutil.which(engine.name) and answer(engine.name, "info") is not None:
            return engine
    install("buildah")
    return Buildah()


def install(program: str) -> None:
    """Install a Debian package, if its program is not here already."""
    if shutil.which(program):
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise CannotContinueError(
            f"Building images needs docker, podman or buildah, and {program} is not here.\n"
            f"Start docker or podman, or install it: apt-get install {program} (on Debian, root gets it by itself)."
        )
    with step(f"{program}, by apt-get"):
        run("apt-get", "update", "--quiet")
        run("apt-get", "install", "--quiet", "--yes", "--no-install-recommends", program)


def debootstrap(root: Path) -> None:
    install("debootstrap")
    run("debootstrap", "--variant=minbase", SUITE, str(root))
    for packages in (root / "var/cache/apt/archives").glob("*.deb"):
        packages.unlink()
    shutil.rmtree(root / "var/lib/apt/lists")


def options(target: str, tag: str, fingerprint: str, version: str) -> list[str]:
    label = f"--label={FINGERPRINT_LABEL}={fingerprint}"
    return [f"--target={target}", f"--tag={tag}", f"--build-arg=VERSION={version}", label, "--file=Dockerfile"]


def lent_variables() -> list[str]:
    """Return options that tell a build about this machine's proxies and package indexes; no image keeps them."""
    return [f"--build-arg={name}={os.environ[name]}" for name in LENT_VARIABLES if name in os.environ]


def lent_to_a_build_here() -> list[str]:
    """Return options that also lend a build the certificates that this machine trusts."""
    bundle = certificate_bundle()
    if bundle is None:
        return lent_variables()
    trust = [f"--build-arg={name}={CERTIFICATES}" for name in CERTIFICATE_VARIABLES]
    return [f"--secret=id=certificates,src={bundle}", *trust, *lent_variables()]


def certificate_bundle() -> Path | None:
    """Return the certificates that this machine was told to trust, if it was."""
    named = next((os.environ[name] for name in CERTIFICATE_VARIABLES if os.environ.get(name)), None)
    return Path(named) if named and Path(named).is_file() else None


def in_bytes(shown: str) -> int:
    number, unit = shown.split()
    return int(float(number) * {"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9}[unit])


def answer(*command: str) -> str | None:
    """Run a quick program and return what it prints, or nothing if it fails."""
    try:
        outcome = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PULL_SECONDS)
    except subprocess.TimeoutExpired:
        return None
    return outcome.stdout.strip() if outcome.returncode == 0 else None


def run(*command: str) -> None:
    """Run a program with its output shown as progress."""
    outcome = subprocess.run(command, cwd=ROOT, check=False, stdout=2)
    if outcome.returncode:
        shown = " ".join(command[:3])
        raise CannotContinueError(f"`{shown} …` failed (exit code {outcome.returncode}); what it said is above.")
