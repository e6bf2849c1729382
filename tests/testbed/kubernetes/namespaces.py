"""The Linux namespaces that a node lives in, like a container: what it does to the system ends with them."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil

from tests.testbed.kubernetes.network import Network
from tests.testbed.programs import Program

READY_SECONDS = 60
UNSHARED = ("--mount", "--pid", "--net")
INIT = Path(__file__).with_name("init.py")

# What a kubelet sets, for all of the machine, where it finds something else. It finds this: see _hold_kernel_settings.
KERNEL_SETTINGS = {
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "kernel/keys/root_maxkeys": 1_000_000,
    "kernel/keys/root_maxbytes": 25_000_000,
}


class Namespaces:
    def __init__(self, folder: Path, network: Network) -> None:
        self.folder = folder
        self.network = network
        self.programs: dict[str, Program] = {}
        self._ready = folder / "init-ready"
        unshare = ["unshare", *UNSHARED, "--fork", "--kill-child", "--mount-proc"]
        self.holder = Program("init", [*unshare, sys.executable, "-I", INIT, self._ready], folder)

    def start(self) -> None:
        self.holder.start()
        self.holder.wait_ready(self._ready.exists, READY_SECONDS)
        self.run("mount", "--make-rshared", "/")  # as pods expect of a node that mounts things for them
        self._keep_logs_apart()
        self._hold_kernel_settings()
        self._connect()

    def program(self, name: str, command: Sequence[str | Path]) -> Program:
        """Return a program that will run inside. It can be killed, not stopped: nsenter would end before it."""
        self.programs[name] = Program(name, [*self.entrance(), *command], self.folder)
        return self.programs[name]

    def entrance(self) -> list[str]:
        """Return the command that runs a program inside."""
        init, *_ = psutil.Process(self.holder.pid).children()
        return ["nsenter", f"--target={init.pid}", *UNSHARED, "--"]

    def run(self, *command: str) -> None:
        _run([*self.entrance(), *command])

    def stop(self) -> None:
        """End everything that is inside, at once."""
        for program in (self.holder, *self.programs.values()):
            program.kill()

    def _keep_logs_apart(self) -> None:
        """Show a kubelet a place of its own for the logs of pods: it removes those of pods that it does not know."""
        logs = self.folder / "log"
        logs.mkdir(exist_ok=True)
        self.run("mount", "--bind", str(logs), "/var/log")

    def _hold_kernel_settings(self) -> None:
        """Show a kubelet the kernel settings that it wants, so that it does not set the machine's."""
        for setting, value in KERNEL_SETTINGS.items():
            shown = self.folder / setting.replace("/", "-")
            shown.write_text(f"{value}\n")
            self.run("mount", "--bind", str(shown), f"/proc/sys/{setting}")

    def _connect(self) -> None:
        network, init = self.network, self.entrance()[1].removeprefix("--target=")
        cable = ["link", "add", network.interface, "type", "veth", "peer", "name", "eth0", "netns", init]
        _run(["ip", *cable])
        self.run("ip", "link", "set", "lo", "up")
        self.run("ip", "address", "add", f"{network.node}/30", "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "up")
        self.run("ip", "route", "add", network.services, "dev", "eth0")  # a way out is looked up before kube-proxy acts
        self.run("sysctl", "--quiet", "--write", "net.ipv4.ip_forward=1")
        _run(["ip", "address", "add", f"{network.machine}/30", "dev", network.interface])
        _run(["ip", "link", "set", network.interface, "up"])
        for inside in (network.pods, network.services):
            _run(["ip", "route", "add", inside, "via", network.node])


def _run(command: Sequence[str]) -> None:
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    if outcome.returncode:
        raise RuntimeError(f"`{' '.join(command)}` failed (exit code {outcome.returncode}): {outcome.stderr.strip()}")
