"""Run seeds of the simulation by hand.

usage: python -m tests.operator.simulation [--seed N] [--seeds FIRST LAST]

One seed prints all that happened; a range prints how fast it went, and the seeds that failed.
"""

import argparse
import sys
import time

from tests.operator.simulation.run import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.operator.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, help="run one seed, and print its story")
    parser.add_argument("--seeds", type=int, nargs=2, metavar=("FIRST", "LAST"), default=(0, 999))
    arguments = parser.parse_args()
    if arguments.seed is not None:
        outcome = run(arguments.seed)
        sys.stdout.write(outcome.describe() + "\n")
        return 1 if outcome.violation else 0
    return _many(range(arguments.seeds[0], arguments.seeds[1] + 1))


def _many(seeds: range) -> int:
    started = time.perf_counter()
    failed = [outcome for outcome in map(run, seeds) if outcome.violation]
    for outcome in failed:
        sys.stdout.write(f"seed {outcome.seed}: {outcome.violation}\n")
    seconds = time.perf_counter() - started
    sys.stdout.write(f"{len(seeds)} seeds in {seconds:.1f} s, {len(failed)} failed\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
