"""Run seeds of the simulation by hand.

usage: python -m tests.jetstream.simulation [--seed N] [--seeds FIRST LAST] [--trace]

One seed prints what it chose and all that happened; a range prints how fast it went, and the seeds that failed.
"""

import argparse
import sys
import time
from collections.abc import Callable

from tests.jetstream.simulation.outcome import Outcome
from tests.jetstream.simulation.run import run


def main(run: Callable[..., Outcome], module: str) -> int:
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description="Run seeds of the simulation by hand.")
    parser.add_argument("--seed", type=int, help="run one seed, and print its story")
    parser.add_argument("--seeds", type=int, nargs=2, metavar=("FIRST", "LAST"), default=(0, 9_999))
    arguments = parser.parse_args()
    if arguments.seed is not None:
        outcome = run(arguments.seed, traced=True)
        sys.stdout.write(outcome.describe() + "\n")
        return 1 if outcome.violation else 0
    return _many(run, range(arguments.seeds[0], arguments.seeds[1] + 1))


def _many(run: Callable[..., Outcome], seeds: range) -> int:
    started = time.perf_counter()
    failed = 0
    for seed in seeds:
        outcome = run(seed)
        if outcome.violation:
            failed += 1
            sys.stdout.write(f"seed {seed}: {outcome.violation}\n")
    seconds = time.perf_counter() - started
    sys.stdout.write(f"{len(seeds)} seeds in {seconds:.1f} s, {len(seeds) / seconds:.0f} per second; {failed} failed\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(run, "tests.jetstream.simulation"))
