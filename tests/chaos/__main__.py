"""Chaos: real workers, real Spark, real servers, real faults; and where each message is in the end.

usage: .venv/bin/python -m tests.chaos [--scene NAME]… [--times N] [--seed N] [--minutes N] [--into FILE]

Prints each round as it is over, and a table at the end. Exits with 1 if a message was lost, or a check failed. With
`--into`, runs at different times add up: rounds are added to the file, and the table is of all that it has.
"""

import asyncio
import json
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from tests.chaos.accounting import Account
from tests.chaos.playing import as_table, played, row
from tests.chaos.rounds import Round
from tests.chaos.scenes import SCENES, Scene
from tests.testbed.by_hand import opened_run


@click.command()
@click.option("--scene", "names", multiple=True, type=click.Choice([scene.name for scene in SCENES]))
@click.option("--times", default=1, show_default=True, help="How often all of it is played.")
@click.option("--seed", default=1, show_default=True, help="Which moments chance chooses.")
@click.option("--minutes", default=180.0, show_default=True, help="No scene is begun after that.")
@click.option("--into", type=click.Path(dir_okay=False, path_type=Path), help="Where rounds of all runs are kept.")
def main(names: Sequence[str], times: int, seed: int, minutes: float, into: Path | None) -> None:
    """Strike workers, Spark and servers, and count."""
    chosen = [scene for scene in SCENES if scene.name in names or not names] * times
    click.echo(f"seed {seed}")
    rounds: list[Round] = []
    until = time.monotonic() + minutes * 60
    with opened_run():
        asyncio.run(_all(chosen, random.Random(seed), until, rounds))  # noqa: S311 - chance that can be repeated
    if into is not None:
        with into.open("a") as file:
            file.writelines(json.dumps(asdict(one)) + "\n" for one in rounds)
        rounds = [_read(line) for line in into.read_text().splitlines()]
    click.echo(f"\n{as_table(rounds)}")
    bad = [one for one in rounds if not one.held]
    sys.exit(1 if bad or not rounds else 0)


def _read(line: str) -> Round:
    written = json.loads(line)
    account = Account(**{**written["account"], "problems": tuple(written["account"]["problems"])})
    return Round(**{**written, "account": account, "struck": tuple(written["struck"])})


async def _all(scenes: Sequence[Scene], chance: random.Random, until: float, rounds: list[Round]) -> None:
    for scene in scenes:
        if time.monotonic() > until:
            click.echo(f"There is no time left for the scene: {scene.name}.")
            continue
        click.echo(f"\n{scene.name}")
        async for one in played(scene, chance):
            rounds.append(one)
            click.echo("  ".join(["  " if one.held else "!!", *row([one]), *one.account.problems[:1]]))


if __name__ == "__main__":
    main()
