"""`penstock apply`: makes servers as manifests declare, in the order that the objects depend on each other.

Knows its options and exit codes. What is done is done by local.run.
"""

import click

from penstock_operator.cli.exit_codes import FAILED
from penstock_operator.cli.options import timeout_option
from penstock_operator.cli.output import Form, form_option, print_data, say
from penstock_operator.cli.showing import as_data, done_lines, hints, of_servers, summary_data, summary_line
from penstock_operator.cli.sources import Sources, force_option, source_options
from penstock_operator.local.outcome import Outcome

PATIENCE_SECONDS = 60.0
"""How long a server may need that elects a leader, or starts."""


@click.command
@source_options(needs_files=True)
@form_option
@timeout_option(PATIENCE_SECONDS, "How long to try what a server cannot do yet, or to wait for the operator.")
@force_option
@click.pass_context
def apply(context: click.Context, *, sources: Sources, form: Form, seconds: float, force_conflicts: bool) -> None:
    """Make the servers as the manifests declare. What is so already is left alone.

    Exits with code 1 if something is not as declared in the end, and says why. With --home kubernetes the cluster's API
    server takes the manifests, as from kubectl apply --server-side, and the operator is waited for.

    \b
    Examples:
      penstock apply -f manifests/
      penstock apply -f manifests/ --secrets secrets/ --timeout 10
      penstock apply -f manifests/ --home kubernetes
      penstock apply -f stream.yaml --server nats://127.0.0.1:4222 -o json
    """  # noqa: D301 - click wants the control character
    told = show if form is Form.TABLE else say_nothing
    outcomes = of_servers(sources.applied(force=force_conflicts, seconds=seconds, told=told))
    if form is Form.TABLE:
        click.echo(f"\n{summary_line(outcomes, done=True)}")
    else:
        print_data(form, {"objects": [as_data(each) for each in outcomes], "summary": summary_data(outcomes)})
    for hint in hints(outcomes):
        say(hint)
    if any(outcome.is_obstructed for outcome in outcomes):
        context.exit(FAILED)


def say_nothing(outcome: Outcome) -> None:
    del outcome


def show(outcome: Outcome) -> None:
    for each in of_servers([outcome]):
        for line in done_lines(each):
            click.echo(line)
