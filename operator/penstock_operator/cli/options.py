"""Options that several commands have, each with a help of its own. Knows click. Does not know what they lead to."""

from collections.abc import Callable
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def files_option(about: str) -> Decorator:
    """Have paths be named, at least one."""
    return click.option("--filename", "-f", "files", multiple=True, required=True, metavar="PATH", help=about)


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
