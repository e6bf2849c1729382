"""What a node needs of the machine that it runs on: root, capabilities, and some of Debian's packages.

`make e2e` installs what is missing; whatever cannot be had is said in one sentence, with what to do about it.

usage: python -m tests.testbed.kubernetes.host        (what `make e2e` begins with)
"""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.console import CannotContinueError, say, step

PACKAGES = {  # a program of each package, by which we know that it is installed
    "containerd": "containerd",
    "runc": "runc",
    "/usr/lib/cni/ptp": "containernetworking-plugins",
    "nft": "nftables",
    "ip": "iproute2",
    "mount": "mount",
    "nsenter": "util-linux",
    "sysctl": "procps",
}
CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_CHROOT": 18, "CAP_SYS_ADMIN": 21, "CAP_MKNOD": 27}
INSTEAD = "Or set KUBECONFIG, and the tests use that cluster."
SERVICE_POLICY = Path("/usr/sbin/policy-rc.d")
LOCK_SECONDS = 300  # another apt-get may be at work


def require() -> None:
    """Make sure that a node can run here."""
    _require_rights()
    missing = missing_packages()
    if missing:
        raise CannotContinueError(
            f"A node needs programs of packages that are not installed: {', '.join(missing)}.\n"
            f"Install them (`make e2e` does so on Debian and Ubuntu): apt-get install {' '.join(missing)}\n{INSTEAD}"
        )


def install() -> None:
    """Make sure that a node can run here, installing Debian's packages where they are missing."""
    _require_rights()
    missing = missing_packages()
    if missing and shutil.which("apt-get"):
        with step(f"Debian packages {', '.join(missing)}"), _no_services_started():
            _apt_get("update")
            _apt_get("install", "--yes", "--no-install-recommends", *missing)
    require()


def missing_packages() -> list[str]:
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
    return [package for program, package in PACKAGES.items() if shutil.which(program, path=path) is None]


def _require_rights() -> None:
    if sys.platform != "linux":
        raise CannotContinueError(f"A node runs on Linux alone, not on {sys.platform}.\n{INSTEAD}")
    if os.geteuid() != 0:
        raise CannotContinueError(f"A node needs root: it makes namespaces, mounts and networks.\n{INSTEAD}")
    status = Path("/proc/self/status").read_text()
    effective = int(next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff:")), base=16)
    lacking = [name for name, bit in CAPABILITIES.items() if not effective >> bit & 1]
    if lacking:
        raise CannotContinueError(
            f"A node needs {', '.join(lacking)}, which root does not have here.\n"
            f"In a container, run it with --privileged, or add the capabilities. {INSTEAD}"
        )


@contextlib.contextmanager
def _no_services_started() -> Iterator[None]:
    """Have Debian install a daemon without starting it: a node runs its own containerd."""
    if SERVICE_POLICY.exists():  # the machine's owner has decided, or it is a container image with this very policy
        yield
        return
    SERVICE_POLICY.write_text("#!/bin/sh\n# Made by Penstock's testbed while it installs packages.\nexit 101\n")
    SERVICE_POLICY.chmod(0o755)
    try:
        yield
    finally:
        SERVICE_POLICY.unlink()
    if Path("/run/systemd/system").exists():
        subprocess.run(["systemctl", "disable", "containerd.service"], check=True)  # nor at the next boot


def _apt_get(*arguments: str) -> None:
    options = ["--quiet", "--quiet", f"--option=DPkg::Lock::Timeout={LOCK_SECONDS}"]
    outcome = subprocess.run(
        ["apt-get", *options, *arguments],
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        capture_output=True,
        text=True,
        check=False,
    )
    if outcome.returncode:
        raise CannotContinueError(
            f"`apt-get {' '.join(arguments)}` failed (exit code {outcome.returncode}):\n{outcome.stderr.strip()}\n"
            f"Install the packages by hand: {' '.join(missing_packages())}. {INSTEAD}"
        )


def main() -> int:
    """Get the machine ready ahead of the tests, unless they use a cluster that is there already."""
    try:
        if "KUBECONFIG" not in os.environ:
            install()
    except CannotContinueError as problem:
        say(f"\n{problem}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
