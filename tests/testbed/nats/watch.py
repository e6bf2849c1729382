"""What a person sees and can do while servers that were started by hand run.

It says when a server has ended, however it did, and starts it again on request.
"""

import os
import select
import sys
from collections.abc import Sequence

import click

from tests.testbed.nats.server import NatsServer
from tests.testbed.programs import DidNotStartError

LOOK_SECONDS = 0.2
MOST_BYTES = 4096


class Watch:
    """Looks after servers until Ctrl-C."""

    def __init__(self, servers: Sequence[NatsServer]) -> None:
        self._servers = {server.name: server for server in servers}
        self._running = set(self._servers)
        self._input_is_open = True

    def until_told_to_stop(self) -> None:
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
