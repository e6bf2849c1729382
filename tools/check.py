"""Judge the tree without running it: form, types, import rules, duplicates, generated files.

usage: .venv/bin/python tools/check.py        (make check)

Knows which checks there are. Does not know how they judge. What one of them says is shown only when it fails.
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

if __package__ is None:  # run as a script
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.console import say
from tools.environment import ROOT
from tools.results import Result, record

BIN = Path(sys.executable).parent

CRDS = ["--into=crds", "--into=charts/penstock/files/crds"]
POLICIES = ["--policies", "--into=charts/penstock/files/policies"]
CHECKS: dict[str, Sequence[str]] = {
    "format (ruff)": [f"{BIN}/ruff", "format", "--check", "."],
    "lint (ruff)": [f"{BIN}/ruff", "check", "."],
    "types (mypy)": [f"{BIN}/mypy"],
    "import rules (import-linter)": [f"{BIN}/lint-imports"],
    "generated files (penstock crds)": [f"{BIN}/penstock", "crds", "--check", *CRDS],
    "generated files (crds --policies)": [f"{BIN}/penstock", "crds", "--check", *POLICIES],
    "generated file (penstock reference)": [f"{BIN}/penstock", "reference", "--check", "--into=docs/reference.md"],
    "generated table (the chart's values)": [sys.executable, "tools/values.py", "--check"],
    "fixed sleeps and short deadlines": [sys.executable, "tools/calm.py"],
    "time per test folder": [sys.executable, "tools/times.py", "--check"],
    "duplicates": [sys.executable, "tools/duplicates.py"],
}


def main() -> int:
    held = [name for name, command in CHECKS.items() if check(name, command)]
    result = Result("check", passed=len(held), failed=len(CHECKS) - len(held))
    record(result)
    say(result.line)
    return 1 if result.failed else 0


def check(name: str, command: Sequence[str]) -> bool:
    """Run one check, and tell whether it holds."""
    started = time.monotonic()
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    verdict = "failed" if outcome.returncode else "holds"
    say(f"{name:<36} {verdict:<7} {time.monotonic() - started:5.1f} s")
    if outcome.returncode:
        say(outcome.stdout + outcome.stderr)
    return outcome.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
