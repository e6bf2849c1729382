"""The `penstock` command and its subcommands. Knows click; each subcommand has a module of its own."""

import click

from penstock_operator.cli.apply import apply
from penstock_operator.cli.batches import batches
from penstock_operator.cli.completion import completion
from penstock_operator.cli.crds import crds
from penstock_operator.cli.dead import dead
from penstock_operator.cli.doctor import doctor
from penstock_operator.cli.down import down
from penstock_operator.cli.get import get
from penstock_operator.cli.holding import drain, pause, restart, resume
from penstock_operator.cli.importing import import_
from penstock_operator.cli.lag import lag
from penstock_operator.cli.logs import logs
from penstock_operator.cli.operator import operator
from penstock_operator.cli.output import no_colour_if_unwanted
from penstock_operator.cli.plan import plan
from penstock_operator.cli.reference import reference
from penstock_operator.cli.up import up
from penstock_operator.cli.version import show_version


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, callback=show_version, expose_value=False, is_eager=True, help="Show the version."
)
@click.pass_context
def main(context: click.Context) -> None:
    """Lead messages from NATS JetStream to Spark.

    \b
    Examples:
      penstock crds | kubectl apply -f -      teach a cluster the kinds that you declare
      penstock operator                       run the operator, as its pod does
      penstock up -f manifests/               run what is declared on this machine
      penstock plan -f manifests/             what would be done to make servers as manifests declare
      penstock apply -f manifests/            do it
      penstock get -f manifests/              how it stands with what they declare
      penstock lag -f manifests/              how far behind its consumers are
      penstock batches                        what is being processed
      penstock logs -f                        what workers say
      penstock dead list                      the messages that nobody could process
      penstock doctor -f manifests/           what keeps Penstock from working there
      penstock import --server URL            manifests of what is on a server already
    """  # noqa: D301 - click wants the control character
    no_colour_if_unwanted(context)


FIRST = (up, down, plan, apply, get, lag)
ABOUT_GROUPS = (batches, dead, pause, resume, drain, restart, logs)
OTHERS = (doctor, import_, crds, reference, operator, completion)

for command in (*FIRST, *ABOUT_GROUPS, *OTHERS):
    main.add_command(command)
