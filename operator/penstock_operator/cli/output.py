"""What commands print: data to standard output as a table, JSON or YAML; all that is said besides, to standard error.

Knows the forms and the options that choose them. Does not know what the data are.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

import click
import yaml

from penstock_operator.cli.tables import Column, lines

Command = TypeVar("Command", bound=Callable[..., Any])

LINE_WIDTH = 120


class Form(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def form_option(command: Command) -> Command:
    """Give a command the option -o."""
    return click.option(
        "--output",
        "-o",
        "form",
        type=click.Choice([form.value for form in Form]),
        callback=lambda context, parameter, value: Form(value),  # noqa: ARG005 - click's
        default=Form.TABLE.value,
        show_default=True,
        help="How the data are printed.",
    )(command)


def print_table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
    for line in lines(columns, rows):
        click.echo(line)


def print_data(form: Form, data: Mapping[str, Any]) -> None:
    """Print what programs read, with the keys in the order given."""
    if form is Form.JSON:
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        click.echo(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=LINE_WIDTH), nl=False)


def say(sentence: str) -> None:
    """Tell the person who runs the command something that is not data."""
    click.echo(sentence, err=True)


def no_colour_if_unwanted(context: click.Context) -> None:
    """Print no colours where NO_COLOR is set (no-color.org); click leaves them out where no terminal shows them."""
    if os.environ.get("NO_COLOR"):
        context.color = False


class Progress:
    """How far a long work is, in one line of a terminal that is rewritten; nothing where nobody looks at one."""

    def __init__(self, what: str, total: int) -> None:
        self._what = what
        self._total = total
        self._done = 0
        self._shown = sys.stderr.isatty() and total >= WORTH_SHOWING

    def step(self) -> None:
        self.at(self._done + 1)

    def at(self, done: int) -> None:
        """Tell how far it is by now."""
        self._done = done
        if self._shown:
            click.echo(f"\r{self._what} {self._done:,} of {self._total:,} … ", err=True, nl=False)

    def end(self) -> None:
        if self._shown:
            click.echo("\r" + CLEAR_LINE, err=True, nl=False)


class Doing:
    """What a command waits for, in one line of a terminal that is rewritten; nothing where nobody looks at one."""

    def tell(self, text: str) -> None:
        if sys.stderr.isatty():
            click.echo(f"\r{text}{CLEAR_LINE}", err=True, nl=False)

    def close(self) -> None:
        self.tell("")


WORTH_SHOWING = 50
"""Fewer are done before anybody looks."""
CLEAR_LINE = "\033[K"
