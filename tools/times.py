"""Where the tests' time goes: read from a run's report, printed, kept, and compared with a budget per folder.

usage: python3 tools/times.py [--check]        (prints the last run; --check compares the kept run with the budgets)

tests/budgets.toml has the CPU seconds that each folder may take; tests/times.json is the last run that was kept
(`make test-full ARGS=--record`). What tests/timing.py measures is in the report, as properties of each test.
"""

import json
import sys
import tomllib
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

if __package__ is None:  # run as a script
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.console import say
from tools.environment import ROOT
from tools.results import FOLDER

BUDGETS = ROOT / "tests" / "budgets.toml"
KEPT = ROOT / "tests" / "times.json"
CPU, FIXTURE, STARTED = "cpu", "fixture:", "started:"
"""The names of a test's properties: its CPU seconds, a fixture's seconds, how many of a program it started.

The whole run has a property for what only it can count: the JVMs, which are started by what the tests start.
"""

SLOWEST = 30
FIXTURES_SHOWN = 15
FOLDER_DEPTH = 3
"""tests/operator/working is a folder of its own; what is deeper belongs to it."""


@dataclass
class Share:
    """What part of a run a folder has."""

    tests: int = 0
    seconds: float = 0
    cpu: float = 0


@dataclass
class Times:
    """One run's times."""

    tests: list[tuple[float, str]] = field(default_factory=list)
    folders: dict[str, Share] = field(default_factory=lambda: defaultdict(Share))
    fixtures: Counter[str] = field(default_factory=Counter)
    started: Counter[str] = field(default_factory=Counter)

    def slowest(self) -> list[tuple[float, str]]:
        return sorted(self.tests, reverse=True)[:SLOWEST]

    def as_json(self) -> dict[str, object]:
        return {
            "folders": {
                name: {"tests": share.tests, "seconds": round(share.seconds, 1), "cpu": round(share.cpu, 1)}
                for name, share in sorted(self.folders.items())
            },
            "slowest": {name: round(seconds, 1) for seconds, name in self.slowest()},
            "fixtures": {name: round(seconds, 1) for name, seconds in self.fixtures.most_common(FIXTURES_SHOWN)},
            "started": dict(self.started.most_common()),
        }


def folder_of(test_class: str) -> str:
    """Return the folder of a test by its name in the report, such as tests.operator.working.test_streams."""
    parts = test_class.split(".")
    folders = parts[: next((at for at, part in enumerate(parts) if part.startswith("test_")), len(parts))]
    return "/".join(folders[:FOLDER_DEPTH])


def read(report: Path) -> Times:
    """Read the report that pytest has written."""
    times = Times()
    root = ET.parse(report).getroot()  # noqa: S314 - pytest has written it for us
    for each in root.iterfind("testsuite/properties/property"):
        times.started[each.get("name", "").removeprefix(STARTED)] += int(each.get("value", "0"))
    for case in root.iter("testcase"):
        properties = {each.get("name", ""): each.get("value", "") for each in case.iter("property")}
        seconds = float(case.get("time", "0"))
        name = f"{case.get('classname', '').removeprefix('tests.').replace('.', '/')}::{case.get('name')}"
        times.tests.append((seconds, name))
        share = times.folders[folder_of(case.get("classname", ""))]
        share.tests += 1
        share.seconds += seconds
        share.cpu += float(properties.get(CPU, "0"))
        for key, value in properties.items():
            if key.startswith(FIXTURE):
                times.fixtures[key.removeprefix(FIXTURE)] += float(value)  # type: ignore[assignment]
            if key.startswith(STARTED):
                times.started[key.removeprefix(STARTED)] += int(value)
    return times


def tables(times: Times) -> str:
    """Return where the time went, for people."""
    return "\n".join(_lines(times))


def _lines(times: Times) -> Iterator[str]:
    yield f"\nSlowest {SLOWEST} tests, in seconds"
    for seconds, name in times.slowest():
        yield f"{seconds:8.1f}  {name}"
    budgets = read_budgets()
    yield "\nFolders: tests, seconds, CPU seconds (budget)"
    for name, share in sorted(times.folders.items(), key=lambda item: -item[1].cpu):
        budget = budgets.get(name)
        over = "  over its budget" if budget is not None and share.cpu > budget else ""
        yield f"{share.tests:8} {share.seconds:8.1f} {share.cpu:8.1f} ({budget or '-'})  {name}{over}"
    yield "\nFixtures, in seconds"
    for name, seconds in times.fixtures.most_common(FIXTURES_SHOWN):
        yield f"{seconds:8.1f}  {name}"
    yield "\nProcesses started"
    for name, count in times.started.most_common():
        yield f"{count:8}  {name}"
    cpu = sum(share.cpu for share in times.folders.values())
    yield f"\n{len(times.tests)} tests took {cpu:.0f} CPU seconds."


def read_budgets() -> dict[str, float]:
    """Return the CPU seconds that each folder may take."""
    budgets: dict[str, float] = tomllib.loads(BUDGETS.read_text())
    return budgets


def keep(times: Times) -> None:
    KEPT.write_text(json.dumps(times.as_json(), indent=1) + "\n")
    say(f"Kept in {KEPT.relative_to(ROOT)}.")


def kept_folders() -> dict[str, dict[str, float]]:
    """Return what each folder took in the last run that was kept."""
    folders: dict[str, dict[str, float]] = json.loads(KEPT.read_text())["folders"] if KEPT.exists() else {}
    return folders


def over_budget() -> Iterator[str]:
    """Return a sentence for each folder whose kept time and budget do not fit."""
    budgets, kept = read_budgets(), kept_folders()
    for name in sorted(budgets.keys() | kept.keys()):
        if name not in budgets:
            yield f"{name} has no budget in {BUDGETS.relative_to(ROOT)}."
        elif name not in kept:
            yield f"{name} has a budget in {BUDGETS.relative_to(ROOT)}, but the last run had no such tests."
        elif kept[name]["cpu"] > budgets[name]:
            yield f"{name} took {kept[name]['cpu']:g} CPU seconds; its budget is {budgets[name]:g}."


def main(arguments: list[str]) -> int:
    if "--check" in arguments:
        problems = list(over_budget())
        print("\n".join(problems))
        return 1 if problems else 0
    reports = sorted(FOLDER.glob("*.xml"), key=lambda file: file.stat().st_mtime)
    if not reports:
        say("No run has left a report yet.")
        return 1
    print(tables(read(reports[-1])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
