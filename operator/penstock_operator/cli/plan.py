"""`penstock plan`: what would be done on the servers to make them as manifests declare, without doing it.

Knows its options and exit codes. What is to be done is found by local.run.
"""

import click

from penstock_operator.cli.exit_codes import DIFFERENCES_FOUND, FAILED
from penstock_operator.cli.output import Form, form_option, print_data, say
from penstock_operator.cli.showing import as_data, hints, of_servers, planned_lines, summary_data, summary_line
from penstock_operator.cli.sources import Sources, force_option, source_options
from penstock_operator.local.outcome import Outcome


@click.command
@source_options(needs_files=True)
@form_option
@click.option("--detailed-exitcode", is_flag=True, help="Exit with code 3 if something is to be done.")
@force_option
@click.pass_context
def plan(
    context: click.Context,
    *,
    sources: Sources,
    form: Form,
    detailed_exitcode: bool,
    force_conflicts: bool,
) -> None:
    """Show what would be done on the servers to make them as the manifests declare. Nothing is changed.

    Exits with code 1 if something could not be done: what it waits for is not declared, two objects declare the same,
    the server cannot be asked, or would refuse. With --home kubernetes the cluster is asked as well, by a dry run, and
    what it has beside the manifests counts.

    \b
    Examples:
      penstock plan -f manifests/
      penstock plan -f stream.yaml --server nats://127.0.0.1:4222
      penstock plan -f manifests/ --detailed-exitcode -o json
      penstock plan -f manifests/ --home kubernetes
    """  # noqa: D301 - click wants the control character
    outcomes = of_servers(sources.planned(force=force_conflicts))
    show_plan(outcomes, form)
    for hint in hints(outcomes):
        say(hint)
    if any(outcome.is_obstructed for outcome in outcomes):
        context.exit(FAILED)
    if detailed_exitcode and any(outcome.is_to_be_done for outcome in outcomes):
        context.exit(DIFFERENCES_FOUND)


def show_plan(outcomes: list[Outcome], form: Form) -> None:
    if form is not Form.TABLE:
        print_data(form, {"objects": [as_data(each) for each in outcomes], "summary": summary_data(outcomes)})
        return
    for outcome in outcomes:
        for line in planned_lines(outcome):
            click.echo(line)
    click.echo(f"\n{summary_line(outcomes, done=False)}")
