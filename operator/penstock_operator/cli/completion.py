"""`penstock completion`: a script that teaches a shell to complete our commands, options and their values.

Knows which shells click can teach. What is completed is asked of the `penstock` on the PATH, so the script never ages.
"""

import click
from click.shell_completion import get_completion_class

from penstock_operator.cli.exit_codes import FAILED

PROGRAM = "penstock"
VARIABLE = "_PENSTOCK_COMPLETE"
SHELLS = ("bash", "zsh", "fish")


@click.command
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script by which a shell completes penstock's commands.

    \b
    Examples:
      source <(penstock completion bash)
      penstock completion bash > ~/.local/share/bash-completion/completions/penstock
      penstock completion zsh > "${fpath[1]}/_penstock"
      penstock completion fish > ~/.config/fish/completions/penstock.fish
    """  # noqa: D301 - click wants the control character
    teacher = get_completion_class(shell)
    if teacher is None:
        click.echo(f"This version of click cannot teach {shell}.", err=True)
        context.exit(FAILED)
    click.echo(teacher(context.find_root().command, {}, PROGRAM, VARIABLE).source())
