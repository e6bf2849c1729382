"""The testbed by hand: `python -m tests.testbed COMMAND`.

What goes to standard output can be pasted into a shell; all else goes to standard error.
"""

from collections.abc import Iterable

import click

from tests.testbed.by_hand import opened_run, wait_until_interrupted
from tests.testbed.kubernetes.access import Access
from tests.testbed.kubernetes.control_plane import ControlPlane
from tests.testbed.kubernetes.node import Node
from tests.testbed.nats.command import nats
from tests.testbed.programs import Program
from tools.console import say, step


@click.group()
def main() -> None:
    """Start a real thing that the tests run against; it ends on Ctrl-C, and nothing of it stays."""


@main.command("control-plane")
def control_plane() -> None:
    """Run etcd and a Kubernetes API server on loopback, without root."""
    with opened_run():
        started = ControlPlane()
        started.start()
        _show(started, [started.etcd, started.api_server])
        wait_until_interrupted()


@main.command()
def node() -> None:
    """Run a whole Kubernetes node, in Linux namespaces of its own. Needs root."""
    with opened_run():
        started = Node()
        started.start()
        _show(started, started.programs.values())
        wait_until_interrupted()


def _show(cluster: Access, programs: Iterable[Program]) -> None:
    for program in programs:
        say(f"{program.name:24} pid {program.pid:<8} log {program.log}")
    say(f"\nKubernetes API at {cluster.url}. Ctrl-C ends it. To reach it from another shell:\n")
    click.echo(f"export KUBECONFIG={cluster.kubeconfig}")
    click.echo(f"alias kubectl={cluster.kubectl_program}")


@main.command()
def spark() -> None:
    """Run a Spark Connect server on loopback."""
    from tests.testbed.spark.connect import ConnectServer  # noqa: PLC0415 - pyspark is slow to import

    with opened_run() as run:
        server = ConnectServer(run.new_folder("spark-connect"))
        with step("Spark Connect server"):
            server.start()
        say(f"pid {server.program.pid}, log {server.program.log}. Ctrl-C ends it. To use it from another shell:\n")
        click.echo(f"export SPARK_REMOTE='{server.url}'")
        wait_until_interrupted()


main.add_command(nats)

if __name__ == "__main__":
    main()
