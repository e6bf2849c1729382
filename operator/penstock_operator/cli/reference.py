"""`penstock reference`: what every field means, as a Markdown document, printed or kept in a file.

Knows files. What is in it comes from penstock_operator.resources. The repository's own copy is made and checked with it
(make crds, make check).
"""

from pathlib import Path

import click

from penstock_operator.cli.crds import compare, write
from penstock_operator.constants import API_VERSION
from penstock_operator.resources import KINDS
from penstock_operator.resources.reference import reference as document


@click.command
@click.option(
    "--into",
    "file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write this file instead of printing.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit with code 3 if the file is out of date.")
def reference(file: Path | None, check: bool) -> None:  # noqa: FBT001 - click passes options so
    """Print what every field of every kind means, as a Markdown document.

    \b
    Examples:
      penstock reference | less
      penstock reference --into docs/reference.md
      penstock reference --into docs/reference.md --check
    """  # noqa: D301 - click wants the control character
    if check and not file:
        raise click.UsageError("--check compares with a file: say which with --into FILE.")
    text = document(KINDS, API_VERSION)
    if not file:
        click.echo(text, nl=False)
    elif check:
        compare({file: text})
    else:
        write({file: text})
