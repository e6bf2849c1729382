"""Options that several commands have, each with a help of its own. Knows click. Does not know what they lead to."""

from collections.abc import Callable
from typing import Any

import click
from typing_extensions import override

from penstock_jetstream.core.servers import parse
from penstock_jetstream.errors import UsageError

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Number(click.IntRange):
    """A whole number between two others, which click's own type calls an "integer range" in help and errors."""

    name = "number"


MANIFESTS = click.Path(allow_dash=True)


def files_option(about: str) -> Decorator:
    """Have paths be named, at least one."""
    return click.option(
        *("--filename", "-f", "files"), multiple=True, required=True, type=MANIFESTS, metavar="PATH", help=about
    )


def timeout_option(default_seconds: float, about: str) -> Decorator:
    """Have it said how long something may take."""
    return click.option(
        "--timeout",
        "seconds",
        type=click.FloatRange(min=0),
        default=default_seconds,
        show_default=True,
        metavar="SECONDS",
        help=about,
    )


class _ServerUrl(click.ParamType[str]):
    name = "URL"

    @override
    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            address = parse(value)
        except UsageError as problem:
            self.fail(str(problem), param, ctx)
        if "@" in value:  # it would be shown by `ps`, kept by the shell, and repeated in what we print
            self.fail(
                f"{address}: a server URL must not contain a user or a password. Name a Secret in the Connection's "
                "spec.auth, or give a credentials file with --creds where no manifest is read.",
                param,
                ctx,
            )
        return value if "://" in value else str(address)


SERVER_URL = _ServerUrl()
"""The URL of a NATS server, without credentials: nats://host:port, tls://host:port, host:port or host."""
