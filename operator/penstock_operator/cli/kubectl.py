"""`kubectl penstock`: the same commands as a plugin of kubectl, which finds it on the PATH by its program's name.

Knows what is different then: a cluster is meant unless somebody says otherwise, and help speaks of `kubectl penstock`.
Knows how kubectl asks for completions. Called by the programs `kubectl-penstock` and `kubectl_complete-penstock`.
"""

import re
import sys
from collections.abc import Iterator

import click
from click.shell_completion import ShellComplete

from penstock_operator.cli.completion import VARIABLE
from penstock_operator.cli.main import main
from penstock_operator.cli.sources import PLUGIN

ANY_FILES, NO_FILES = 0, 4
"""What kubectl shall offer besides, as its library (cobra) numbers it."""


def plugin() -> None:
    """Run a command as kubectl's plugin."""
    speak_of_kubectl()
    main(prog_name=PLUGIN)


def complete() -> None:
    """Print the completions of what is typed so far, as kubectl wants them."""
    *words, incomplete = sys.argv[1:] or [""]
    for line in completions(words, incomplete):
        click.echo(line)


def completions(words: list[str], incomplete: str) -> Iterator[str]:
    """Go through the lines: values, each with what it is about, and at the end whether it may be a file."""
    items = ShellComplete(main, {}, PLUGIN, VARIABLE).get_completions(words, incomplete)
    for item in items:
        if item.type == "plain":
            yield f"{item.value}\t{item.help}" if item.help else str(item.value)
    is_known = bool(items) and all(item.type == "plain" for item in items)
    yield f":{NO_FILES if is_known else ANY_FILES}"


def speak_of_kubectl() -> None:
    """Have all help say how a command is run as a plugin."""
    names = "|".join(main.commands)
    for command in _all(main):
        command.help = re.sub(rf"(?<![-\w/.])penstock (?=(?:{names})\b)", f"{PLUGIN} ", command.help or "")


def _all(command: click.Command) -> Iterator[click.Command]:
    yield command
    if isinstance(command, click.Group):
        for each in command.commands.values():
            yield from _all(each)
