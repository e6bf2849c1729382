"""Run the tests under each Python that we support, in parallel processes, after getting ready what they need.

usage: python3 tools/test.py [--e2e] [pytest's arguments]

Knows which Pythons and which stage. Does not know the tests. PYTHONS="3.11 3.13" chooses the versions; by default all
that this machine has, and under CI=true all that we support.
"""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

if __package__ is None:  # run as a script, before anything is installed
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.console import CannotContinueError, say
from tools.environment import ROOT, ensure, find_python
from tools.results import FOLDER, Result, record

SUPPORTED = ("3.11", "3.13")
PARALLEL = ["--numprocesses=auto", "--maxprocesses=4", "--dist=loadgroup"]
PREPARE = [["tests.testbed.binaries", "kubebox", "helm", "nats-servers", "nack", "promtool"]]
PREPARE_CLUSTER = [
    ["tests.testbed.kubernetes.host"],
    ["tests.testbed.binaries", "kubebox", "helm", "coredns", "pause", "probe", "nack"],
    ["tools.images"],
]
"""What is run ahead of the tests, where what it says can be seen: pytest would keep it to itself."""

NO_TESTS_CHOSEN = 5


def main(arguments: list[str]) -> int:
    try:
        if "--e2e" in arguments:
            arguments.remove("--e2e")
            own = f"{sys.version_info.major}.{sys.version_info.minor}"
            return run("e2e", own, PREPARE_CLUSTER, ["-m", "e2e", *arguments])
        chosen = ["-m", "not e2e", *PARALLEL, *arguments]
        codes = [run(f"test-{version}", version, PREPARE, chosen) for version in versions()]
    except CannotContinueError as problem:
        say(f"\n{problem}")
        return 1
    return max(codes)


def versions() -> list[str]:
    """Return the Python versions to test under."""
    chosen = os.environ.get("PYTHONS", "").split()
    if chosen or os.environ.get("CI") == "true":
        return chosen or list(SUPPORTED)
    found = [version for version in SUPPORTED if is_here(version)]
    for version in sorted(set(SUPPORTED) - set(found)):
        say(f"Python {version} is not on this machine: its tests are left out here (CI runs them)")
    return found or [f"{sys.version_info.major}.{sys.version_info.minor}"]


def is_here(version: str) -> bool:
    try:
        find_python(version)
    except CannotContinueError:
        return False
    return True


def run(stage: str, version: str, preparations: list[list[str]], arguments: list[str]) -> int:
    """Run the tests under one Python, record what it came to, and return pytest's verdict."""
    python = str(ensure(version) / "bin" / "python")
    for module in preparations:
        if subprocess.run([python, "-m", *module], cwd=ROOT, check=False).returncode:
            return 1
    report = FOLDER / f"{stage}.xml"
    report.unlink(missing_ok=True)
    say(f"\n{stage}: tests under Python {version}")
    code = subprocess.run(
        [python, "-m", "pytest", f"--junit-xml={report}", *arguments], cwd=ROOT, check=False
    ).returncode
    if report.exists():
        result = read_report(stage, report)
        record(result)
        say(result.line)
    return 0 if code == NO_TESTS_CHOSEN else code


def read_report(stage: str, report: Path) -> Result:
    """Count what pytest's report says; an error in a fixture is a failure like any other."""
    suite = next(ET.parse(report).getroot().iter("testsuite"))  # noqa: S314 - we have just written it ourselves
    count = {name: int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
    failed = count["failures"] + count["errors"]
    return Result(stage, count["tests"] - failed - count["skipped"], failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
