"""`penstock --version`: one version, because the three distributions are released together.

Knows where Python keeps the versions of what is installed. Says so when a sibling's differs, because such a mix was
never tested.
"""

from collections.abc import Iterable, Mapping
from importlib import metadata

import click

OURS = "penstock"
SIBLINGS = ("penstock-jetstream", "penstock-worker")


def show_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's
    del parameter
    if not wanted:
        return
    versions = installed((OURS, *SIBLINGS))
    click.echo(f"{OURS} {versions[OURS]}")
    complaint = disagreement(versions)
    if complaint:
        raise click.ClickException(complaint)
    context.exit()


def installed(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of those distributions that are installed."""
    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue  # the worker is optional
    return versions


def disagreement(versions: Mapping[str, str]) -> str | None:
    """Say which siblings are of another version, and what to do about it."""
    wanted = versions[OURS]
    others = [f"{name} {version}" for name, version in versions.items() if version != wanted]
    if not others:
        return None
    cure = " ".join(f"{name}=={wanted}" for name in versions)
    return (
        f"{OURS} {wanted} is installed beside {' and '.join(others)}. They are released together and work together"
        f" only in one version.\nhint: pip install {cure}"
    )
