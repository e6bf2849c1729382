"""`python -m tests.testbed nats`: servers started by hand, to be looked at and broken by a person."""

import sys
from collections.abc import Sequence

import click

from tests.testbed.by_hand import opened_run, wait_until_interrupted
from tests.testbed.nats.authentication import METHODS, Login
from tests.testbed.nats.cluster import NatsCluster
from tests.testbed.nats.encryption import tls as new_tls
from tests.testbed.nats.server import NatsServer, Options
from tests.testbed.programs import DidNotStartError

MOST_NODES = 9


@click.command()
@click.option("--cluster", "size", type=click.IntRange(2, MOST_NODES), metavar="N", help="A cluster of so many nodes.")
@click.option("--port", type=click.IntRange(1, 65535), help="For a single server. [default: a free one]")
@click.option("--version", help="Such as 2.11.17, built from its Go module. [default: the one from PyPI]")
@click.option("--tls", is_flag=True, help="Encrypt, with certificates of a new authority.")
@click.option(
    "--auth", type=click.Choice(list(METHODS)), default="anonymous", show_default=True, help="How clients log in."
)
@click.option("--ack-v2", is_flag=True, help="Acknowledgement subjects of 11 tokens (js_ack_fc_v2, from 2.14 on).")
def nats(*, size: int | None, port: int | None, version: str | None, tls: bool, auth: str, ack_v2: bool) -> None:
    """Start NATS servers with JetStream, say how to reach them, and end them on Ctrl-C."""
    if port and size:
        raise click.UsageError("--port is for a single server.")
    with opened_run() as run:
        folder = run.new_folder("access")
        options = Options(
            version=version,
            port=port,
            access=METHODS[auth](folder),
            encryption=new_tls(folder) if tls else None,
            js_ack_fc_v2=ack_v2,
        )
        nodes = _start(options, size)
        click.echo("\n\n".join(_described(node) for node in nodes))
        _serve_until_interrupted(nodes)


def _start(options: Options, size: int | None) -> Sequence[NatsServer]:
    if size:
        cluster = NatsCluster(size, options)
        cluster.start()
        return cluster.nodes
    server = NatsServer(options)
    server.start()
    return [server]


def _described(node: NatsServer) -> str:
    lines = {
        "reach it": _command_line(node, node.access.client),
        "administer it": node.access.system and _command_line(node, node.access.system),
        "monitoring": node.monitoring_url,
        "pid": str(node.pid),
        "store": str(node.store),
        "log": str(node.log),
        "configuration": str(node.config_file),
    }
    return "\n".join([node.name, *(f"  {name:14} {value}" for name, value in lines.items() if value)])


def _command_line(node: NatsServer, login: Login) -> str:
    encryption = node.options.encryption
    return " ".join(["nats", "--server", node.url, *login.options, *(encryption.client.options if encryption else ())])


def _serve_until_interrupted(nodes: Sequence[NatsServer]) -> None:
    """Restart each server whose name is typed, until Ctrl-C."""
    servers = {node.name: node for node in nodes}
    click.echo(f"\nCtrl-C ends it. A name ({', '.join(servers)}) and Enter restarts that server on its store and port.")
    for line in sys.stdin:
        server = servers.get(line.strip())
        if server is None:
            click.echo(f"There is no server {line.strip()!r}, but {', '.join(servers)}.")
            continue
        try:
            server.restart()
        except DidNotStartError as problem:
            click.echo(str(problem))
        else:
            click.echo(f"{server.name} runs again, as pid {server.pid}.")
    wait_until_interrupted()  # the input has ended, as that of a background job has
