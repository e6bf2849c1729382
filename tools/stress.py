"""Run tests under adverse conditions, several times, and list what failed even once.

usage: .venv/bin/python tools/stress.py [--rounds N] [--load N] [--seed N] [--changed] [pytest's arguments]

Each round runs in a random order of its own, beside `--load` busy processes (one per core, unless given), while every
process that the tests started is stopped for up to 1.5 s now and then (tests/stress.py). `--changed` runs up to
twelve of the test files that the commits of the last day changed. The seed of a round that failed runs it again.
"""

import argparse
import contextlib
import os
import random
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

if __package__ is None:  # run as a script
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.console import say
from tools.environment import ROOT
from tools.results import FOLDER, Result, record
from tools.tiers import PARALLEL, TIERS

BUSY = "while True: pass"
NO_TESTS_CHOSEN = 5
CHANGED_FILES = 12
E2E = ":!tests/cluster"
DAY_SECONDS = 24 * 60 * 60


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tools/stress.py")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--load", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--changed", action="store_true")
    options, chosen = parser.parse_known_args(arguments)
    if options.changed:
        changed = changed_tests()
        if not changed:
            say("The last day's commits changed no tests.")
            record(Result("test-stress", 1, 0))
            return 0
        chosen += changed
    tier = TIERS["test-full"]
    subprocess.run([sys.executable, "-m", "tests.testbed.binaries", *tier.programs], cwd=ROOT, check=True)
    ran, failed, broken = 0, Counter[str](), 0
    for seed in range(options.seed, options.seed + options.rounds):
        say(f"\ntest-stress: round with --seed {seed}, beside {options.load} busy processes")
        report = FOLDER / f"stress-{seed}.xml"
        report.unlink(missing_ok=True)
        with load(options.load):
            code = run_round(tier.marked, seed, report, chosen)
        outcomes = read(report) if report.exists() else {}
        ran += len(outcomes)
        failed.update(name for name, is_failed in outcomes.items() if is_failed)
        broken += code not in (0, 1, NO_TESTS_CHOSEN)
    say(f"\n{options.rounds} rounds, {ran} test runs")
    for name, times in failed.most_common():
        say(f"  failed in {times}: {name}")
    result = Result("test-stress", ran - failed.total(), failed.total() + broken)
    record(result)
    say(result.line)
    return 1 if result.failed else 0


def run_round(marked: str, seed: int, report: Path, chosen: list[str]) -> int:
    """Run the tests once, and return pytest's exit code."""
    adverse = [f"--random-order={seed}", f"--pause-processes={seed}", "--progress"]
    command = [sys.executable, "-m", "pytest", f"--junit-xml={report}", "-m", marked, *PARALLEL, *adverse, *chosen]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


@contextlib.contextmanager
def load(processes: int) -> Iterator[None]:
    """Keep the processors busy while the block runs."""
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def changed_tests() -> list[str]:
    """Return test files that the commits of the day before the newest have changed: all, or a sample of many."""
    newest, commit = git("log", "-1", "--format=%ct %H").split()
    names = git("log", f"--since={int(newest) - DAY_SECONDS}", "--name-only", "--format=", "--", "tests", E2E).split()
    changed = {name for name in names if Path(name).name.startswith("test_") and (ROOT / name).is_file()}
    chance = random.Random(commit)  # noqa: S311 - another sample for each submission
    return chance.sample(sorted(changed), min(CHANGED_FILES, len(changed)))


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def read(report: Path) -> dict[str, bool]:
    """Return by its name whether each test failed."""
    cases = ET.parse(report).getroot().iter("testcase")  # noqa: S314 - pytest has written it for us
    return {
        f"{case.get('classname', '').replace('.', '/')}::{case.get('name')}": any(
            case.find(problem) is not None for problem in ("failure", "error")
        )
        for case in cases
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
