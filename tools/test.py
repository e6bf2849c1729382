"""Run one tier of the tests: build what it needs, run pytest, record what came out and where the time went.

usage: python3 tools/test.py TIER [--record] [pytest's arguments]

`--record` keeps the times in tests/times.json, where later runs find how long each folder takes.
"""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

if __package__ is None:  # run as a script, before anything is installed
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools import times
from tools.console import CannotContinueError, say
from tools.environment import ROOT, ensure, find_python
from tools.results import FOLDER, Result, record
from tools.tiers import SUPPORTED_PYTHONS, TIERS, Tier

RECORD = "--record"
NO_TESTS_CHOSEN = 5


def main(arguments: list[str]) -> int:
    name, *chosen = arguments
    tier = TIERS[name]
    recorded = RECORD in chosen
    chosen = [argument for argument in chosen if argument != RECORD]
    try:
        codes = [run(tier, version, chosen, recorded=recorded) for version in versions(tier)]
    except CannotContinueError as problem:
        say(f"\n{problem}")
        return 1
    return max(codes, default=0)


def versions(tier: Tier) -> list[str]:
    """Return the Python versions that a tier runs under: PYTHONS, or this one, or for `test-pythons` all others."""
    if chosen := os.environ.get("PYTHONS", "").split():
        return chosen
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    if tier.name != "test-pythons":
        return [own]
    others = [version for version in SUPPORTED_PYTHONS if version != own]
    if os.environ.get("CI") == "true":
        return others
    found = [version for version in others if is_here(version)]
    for version in sorted(set(others) - set(found)):
        say(f"Python {version} is not installed here, so its tests don't run (CI runs them).")
    return found


def is_here(version: str) -> bool:
    try:
        find_python(version)
    except CannotContinueError:
        return False
    return True


def run(tier: Tier, version: str, arguments: list[str], *, recorded: bool) -> int:
    """Run a tier under one Python, and return pytest's exit code."""
    python = str(ensure(version) / "bin" / "python")
    for module in [*tier.modules, f"tests.testbed.binaries {' '.join(tier.programs)}"]:
        if subprocess.run([python, "-m", *module.split()], cwd=ROOT, check=False).returncode:
            return 1
    report = FOLDER / f"{tier.name}.xml"
    report.unlink(missing_ok=True)
    say(f"\n{tier.name} under Python {version}: {tier.proves}; about {tier.minutes} minutes")
    command = [python, "-m", "pytest", f"--junit-xml={report}", "--progress", "-m", tier.marked, *tier.options]
    code = subprocess.run([*command, *arguments], cwd=ROOT, check=False).returncode
    if report.exists():
        result = read_report(tier.name, report)
        record(result)
        measured = times.read(report)
        say(times.tables(measured))
        if recorded:
            times.keep(measured)
        say(result.line)
    return 0 if code == NO_TESTS_CHOSEN else code


def read_report(stage: str, report: Path) -> Result:
    """Count what pytest's report says; an error in a fixture is a failure like any other."""
    cases = list(ET.parse(report).getroot().iter("testcase"))  # noqa: S314 - we have just written it ourselves
    outcomes = [{child.tag for child in case} for case in cases]
    failed = sum(bool(outcome & {"failure", "error"}) for outcome in outcomes)
    skipped = sum("skipped" in outcome for outcome in outcomes)
    return Result(stage, len(cases) - failed - skipped, failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
