"""`python -m tests.testbed nats`: servers started by hand, to be looked at and broken by a person."""

import os
import select
import sys
from collections.abc import Sequence

import click

from tests.testbed.by_hand import opened_run
from tests.testbed.nats.authentication import METHODS, Login
from tests.testbed.nats.cluster import NatsCluster
from tests.testbed.nats.encryption import tls as new_tls
from tests.testbed.nats.leaf import HubAndLeaf
from tests.testbed.nats.server import NatsServer, Options
from tests.testbed.programs import DidNotStartError

MOST_NODES = 9
HIGHEST_PORT = 65535 - MOST_NODES + 1
LOOK_SECONDS = 0.2
MOST_BYTES = 4096


@click.command()
@click.option("--cluster", "size", type=click.IntRange(2, MOST_NODES), metavar="N", help="A cluster of so many nodes.")
@click.option("--leaf", is_flag=True, help="A hub, and a leaf node with a JetStream domain of its own behind it.")
@click.option(
    "--port", type=click.IntRange(1, HIGHEST_PORT), help="The first node's; the others follow. [default: free ones]"
)
@click.option("--version", help="Such as 2.11.17, built from its Go module. [default: the one from PyPI]")
@click.option("--tls", is_flag=True, help="Encrypt, with certificates of a new authority.")
@click.option(
    "--auth", type=click.Choice(list(METHODS)), default="anonymous", show_default=True, help="How clients log in."
)
@click.option("--ack-v2", is_flag=True, help="Acknowledgement subjects of 11 tokens (js_ack_fc_v2, from 2.14 on).")
def nats(
    *, size: int | None, leaf: bool, port: int | None, version: str | None, tls: bool, auth: str, ack_v2: bool
) -> None:
    """Start NATS servers with JetStream, say how to reach them, and end them on Ctrl-C."""
    if leaf and size:
        raise click.UsageError("--cluster and --leaf do not go together: choose one.")
    with opened_run() as run:
        folder = run.new_folder("access")
        options = Options(
            version=version,
            port=port,
            access=METHODS[auth](folder),
            encryption=new_tls(folder) if tls else None,
            js_ack_fc_v2=ack_v2,
        )
        nodes = _start(options, size=size, leaf=leaf)
        click.echo("\n\n".join(_described(node) for node in nodes))
        Watch(nodes).until_interrupted()


def _start(options: Options, *, size: int | None, leaf: bool) -> Sequence[NatsServer]:
    if size:
        cluster = NatsCluster(size, options)
        cluster.start()
        return cluster.nodes
    if leaf:
        pair = HubAndLeaf(options)
        pair.start()
        return [pair.hub, pair.leaf]
    server = NatsServer(options)
    server.start()
    return [server]


def _described(node: NatsServer) -> str:
    lines = {
        "reach it": _command_line(node, node.access.client),
        "administer it": node.access.system and _command_line(node, node.access.system),
        "monitoring": node.monitoring_url,
        "domain": node.options.domain,
        "pid": str(node.pid),
        "store": str(node.store),
        "log": str(node.log),
        "configuration": str(node.config_file),
    }
    return "\n".join([node.name, *(f"  {name:14} {value}" for name, value in lines.items() if value)])


def _command_line(node: NatsServer, login: Login) -> str:
    encryption = node.options.encryption
    return " ".join(["nats", "--server", node.url, *login.options, *(encryption.client.options if encryption else ())])


class Watch:
    """Looks after servers until Ctrl-C."""

    def __init__(self, servers: Sequence[NatsServer]) -> None:
        self._servers = {server.name: server for server in servers}
        self._running = set(self._servers)
        self._input_is_open = True

    def until_interrupted(self) -> None:
        names = ", ".join(self._servers)
        click.echo(f"\nCtrl-C ends it. A name ({names}) and Enter restarts that server on its store and port.")
        while True:
            self._say_what_ended()
            for name in self._typed():
                self._restart(name)

    def _say_what_ended(self) -> None:
        ended = {name for name in self._running if not self._servers[name].is_running}
        for name in sorted(ended):
            click.echo(f"{name} {self._servers[name].program.how_it_ended()}. Type {name} and Enter to restart it.")
        self._running -= ended

    def _typed(self) -> list[str]:
        """Return what was typed in the last moment, if anything."""
        watched = [sys.stdin.fileno()] if self._input_is_open else []
        readable, _, _ = select.select(watched, [], [], LOOK_SECONDS)
        if not readable:
            return []
        text = os.read(sys.stdin.fileno(), MOST_BYTES)
        self._input_is_open = bool(text)  # the end of the input, as of </dev/null: no one will type anything
        return text.decode(errors="replace").split()

    def _restart(self, name: str) -> None:
        server = self._servers.get(name)
        if server is None:
            click.echo(f"There is no server {name!r}, but {', '.join(self._servers)}.")
            return
        try:
            server.restart()
        except DidNotStartError as problem:
            click.echo(str(problem))
            return
        self._running.add(name)
        click.echo(f"{name} runs again, as pid {server.pid}.")
