"""The `penstock` command and its subcommands. Knows click; each subcommand has a module of its own."""

import click

from penstock_operator.cli.crds import crds
from penstock_operator.cli.operator import operator
from penstock_operator.cli.version import show_version


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, callback=show_version, expose_value=False, is_eager=True, help="Show the version."
)
def main() -> None:
    """Lead messages from NATS JetStream to Spark.

    \b
    Examples:
      penstock crds | kubectl apply -f -      teach a cluster the kinds that you declare
      penstock operator                       run the operator, as its pod does
    """  # noqa: D301 - click wants the control character


main.add_command(crds)
main.add_command(operator)
