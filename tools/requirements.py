"""Show which tests prove which requirement: run all that are marked with one, and print a line for each.

usage: .venv/bin/python tools/requirements.py [--last] [ID …]        (make requirements ARGS="C-35 V-01")

With ids, only their tests run, and all are listed. `--last` shows the last run again. Fails if an id has no test, or a
test failed; a test whose id does not exist is one that failed (tests/requirements.py).
Knows the statements (tests/jetstream/requirements.toml) and pytest's report. Does not know the tests.
"""

import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import TextWrapper

if __package__ is None:  # run as a script
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.console import say
from tools.environment import ROOT
from tools.results import FOLDER
from tools.tiers import PARALLEL

STATEMENTS = ROOT / "tests" / "jetstream" / "requirements.toml"
REPORT = FOLDER / "requirements.xml"
NOT_APPLICABLE = "not_applicable"
PROPERTY = "requirement"
"""The name under which pytest's report gives an id that a test proves."""

TESTS_SHOWN = 3
VERDICT_WIDTH = 10
TERMINAL_COLUMNS = 120


@dataclass(frozen=True)
class Test:
    """One line of pytest's report."""

    file: str
    name: str
    outcome: str
    """passed, failed or skipped"""


@dataclass
class Requirement:
    """One statement, and what the tests say of it."""

    id: str
    statement: str
    source: str
    not_applicable: str = ""
    tests: list[Test] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        outcomes = {test.outcome for test in self.tests}
        for outcome in ("failed", "passed", "skipped"):
            if outcome in outcomes:
                return outcome
        return "n/a" if self.not_applicable else "NO TEST"

    @property
    def holds(self) -> bool:
        return self.verdict in ("passed", "n/a")


def load(text: str = "") -> dict[str, Requirement]:
    """Read the statements; by id, in the order of the file."""
    document = tomllib.loads(text or STATEMENTS.read_text())
    reasons = document.pop(NOT_APPLICABLE)
    requirements: dict[str, Requirement] = {}
    for source, statements in document.items():
        for id_, statement in statements.items():
            if id_ in requirements:
                raise ValueError(f"{id_} is stated twice, by {requirements[id_].source} and by {source}")
            requirements[id_] = Requirement(id_, statement, source, reasons.pop(id_, ""))
    if reasons:
        raise ValueError(f"Not applicable are ids that do not exist: {', '.join(reasons)}")
    return requirements


def main(arguments: list[str]) -> int:
    requirements = load()
    chosen = [argument for argument in arguments if argument != "--last"]
    unknown = [id_ for id_ in chosen if id_ not in requirements]
    if unknown:
        say(f"No requirement is called {', '.join(unknown)}: {STATEMENTS.relative_to(ROOT)} has them.")
        return 2
    code = 0 if "--last" in arguments else run_tests(chosen)
    if not REPORT.exists():
        say("No test that proves a requirement has been run yet.")
        return 1
    add_tests(requirements, ET.parse(REPORT).getroot())  # noqa: S314 - pytest has written it for us
    shown = [requirements[id_] for id_ in chosen or requirements]
    print("\n".join(lines(shown, every_test=bool(chosen))))
    return 1 if code or not all(requirement.holds for requirement in shown) else 0


def run_tests(ids: Sequence[str]) -> int:
    """Run the tests that carry one of the ids; all that carry any, if there are none. Return pytest's verdict."""
    prepared = subprocess.run([sys.executable, "-m", "tests.testbed.binaries", "nats-servers"], cwd=ROOT, check=False)
    if prepared.returncode:
        return prepared.returncode
    REPORT.unlink(missing_ok=True)
    options = [f"--junit-xml={REPORT}", "-m", f"{PROPERTY} and not e2e", *PARALLEL, "-q"]
    options += [f"--requirement={id_}" for id_ in ids]
    return subprocess.run([sys.executable, "-m", "pytest", *options], cwd=ROOT, check=False).returncode


def add_tests(requirements: Mapping[str, Requirement], report: ET.Element) -> None:
    """Give each requirement the tests that name it."""
    for case in report.iter("testcase"):
        test = Test(case.get("classname", "").removeprefix("tests."), case.get("name", ""), outcome(case))
        for proved in case.iter("property"):
            if proved.get("name") == PROPERTY:
                requirements[proved.get("value", "")].tests.append(test)


def outcome(case: ET.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "skipped" if case.find("skipped") is not None else "passed"


def lines(requirements: Sequence[Requirement], *, every_test: bool) -> Iterator[str]:
    """Return the table, and what it comes to."""
    columns = min(shutil.get_terminal_size((TERMINAL_COLUMNS, 0)).columns, TERMINAL_COLUMNS)
    source = ""
    for requirement in requirements:
        if requirement.source != source:
            source = requirement.source
            yield f"\n{source}"
        yield from entry(requirement, columns, None if every_test else TESTS_SHOWN)
    verdicts = Counter(requirement.verdict for requirement in requirements)
    tests = {test for requirement in requirements for test in requirement.tests}
    counted = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.most_common())
    yield f"\n{len(requirements)} requirements: {counted}. They are proved by {len(tests)} tests."


def entry(requirement: Requirement, columns: int, shown: int | None) -> Iterator[str]:
    """Return the lines of one requirement: its statement, and the tests that prove it."""
    heading = f"{requirement.id:<6}{requirement.verdict:<{VERDICT_WIDTH}}"
    indent = " " * len(heading)
    yield from TextWrapper(columns, initial_indent=heading, subsequent_indent=indent).wrap(requirement.statement)
    if requirement.not_applicable:
        yield from TextWrapper(columns, initial_indent=f"{indent}why not: ", subsequent_indent=indent).wrap(
            requirement.not_applicable
        )
    cases = Counter(title(test) for test in requirement.tests)
    listed = sorted(cases, key=lambda name: (not name.startswith("failed"), name))
    for name in listed[:shown]:
        yield f"{indent}- {name}{f' (x{cases[name]})' if cases[name] > 1 else ''}"
    if shown is not None and len(listed) > shown:
        yield f"{indent}- and {len(listed) - shown} more"


def title(test: Test) -> str:
    """Name a test for people: what it proves, and where it stands; all of its parameters are one."""
    name = test.name.partition("[")[0].removeprefix("test_").replace("_", " ")
    mark = "" if test.outcome == "passed" else f"{test.outcome}: "
    return f"{mark}{name} · {test.file.replace('.', '/')}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
