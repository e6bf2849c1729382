"""`penstock crds`: the CustomResourceDefinitions, or the policies beside them, printed, or kept in folders.

Knows files. What is in them comes from penstock_operator.resources. The repository's own copies are made and checked
with it (make crds, make check); so can those of anybody who keeps manifests in git.
"""

from pathlib import Path

import click

from penstock_operator.cli.exit_codes import DIFFERENCES_FOUND
from penstock_operator.resources import KINDS, file_name, has_policy, policy_file_name, policy_to_yaml, to_yaml


@click.command
@click.option(
    "--into",
    "folders",
    multiple=True,
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write one file per kind into this folder instead of printing. May be given more than once.",
)
@click.option(
    "--policies",
    is_flag=True,
    help="The admission policies instead: they ask for the annotation that recreating needs, from Kubernetes 1.30 on.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit with code 3 if a file in the folders is out of date.")
def crds(folders: tuple[Path, ...], policies: bool, check: bool) -> None:  # noqa: FBT001 - click passes options so
    """Print the CustomResourceDefinitions as YAML.

    \b
    Examples:
      penstock crds | kubectl apply --server-side -f -
      penstock crds --policies | kubectl apply --server-side -f -
      penstock crds --into manifests/crds
      penstock crds --into manifests/crds --check
    """  # noqa: D301 - click wants the control character
    if check and not folders:
        raise click.UsageError("--check compares with files: say in which folder with --into FOLDER.")
    files = _policies() if policies else {file_name(kind): to_yaml(kind) for kind in KINDS}
    if not folders:
        click.echo("---\n".join(files.values()), nl=False)
        return
    wanted = {folder / name: text for folder in folders for name, text in files.items()}
    if check:
        compare(wanted)
    else:
        write(wanted)


def _policies() -> dict[str, str]:
    return {policy_file_name(kind): policy_to_yaml(kind) for kind in KINDS if has_policy(kind)}


def write(wanted: dict[Path, str]) -> None:
    """Make the files what they should be."""
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        click.echo(f"wrote {path}", err=True)


def compare(wanted: dict[Path, str]) -> None:
    """Name the files that are not what they should be."""
    outdated = [path for path, text in wanted.items() if not path.is_file() or path.read_text() != text]
    for path in outdated:
        click.echo(f"{path} {'is out of date' if path.exists() else 'is missing'}", err=True)
    if outdated:
        click.echo("hint: leave --check out to write them (in the repository: make crds)", err=True)
        raise SystemExit(DIFFERENCES_FOUND)
