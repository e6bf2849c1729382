"""By hand: `python -m tests.testbed control-plane` and `… node`, until Ctrl-C.

What goes to standard output can be pasted into a shell; all else goes to standard error.
"""

from collections.abc import Iterable

import click

from tests.testbed.by_hand import opened_run, wait_until_told
from tests.testbed.kubernetes import host
from tests.testbed.kubernetes.access import Access
from tests.testbed.kubernetes.control_plane import ControlPlane
from tests.testbed.kubernetes.node import Node
from tests.testbed.programs import Program
from tools.console import say


@click.command("control-plane")
def control_plane() -> None:
    """Run etcd and a Kubernetes API server on loopback, without root."""
    with opened_run():
        started = ControlPlane()
        started.start()
        _show(started, [started.etcd, started.api_server])
        wait_until_told()


@click.command()
@click.option("--install", is_flag=True, help="First install the Debian packages that are missing.")
def node(*, install: bool) -> None:
    """Run a whole Kubernetes node, in Linux namespaces of its own. Needs root."""
    with opened_run():
        if install:
            host.install()
        started = Node()
        started.start()
        _show(started, started.programs.values())
        wait_until_told()


def _show(cluster: Access, programs: Iterable[Program]) -> None:
    for program in programs:
        say(f"{program.name:24} pid {program.pid:<8} log {program.log}")
    say(f"\nKubernetes API at {cluster.url}. Ctrl-C ends it. To reach it from another shell:\n")
    click.echo(f"export KUBECONFIG={cluster.kubeconfig}")
    click.echo(f"alias kubectl={cluster.kubectl_program}")
