"""Find what makes tests depend on the speed of the machine: fixed sleeps, short deadlines, arithmetic with the clock.

usage: .venv/bin/python tools/calm.py        (part of make check)

Tests wait with `eventually` and `eventually_async`. Where a line must sleep or look at the clock, it says why in a
comment, `# calm: REASON`. Whole files and folders with a reason are in EXEMPT.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

if __package__ is None:  # run as a script
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.environment import ROOT

EXEMPT = {
    "tests/chaos": "a fault lasts for as long as the scene says",
    "tests/operator/services": "the event loop's time is virtual",
    "tests/testbed/waiting.py": "the polling of all tests",
    "tests/testbed/reaper.py": "runs without pytest",
}
REASON = "# calm: "
LEAST_DEADLINE_SECONDS = 10
DEADLINES: Mapping[str, tuple[int, str]] = {
    "wait_for": (1, "timeout"),
    "timeout": (0, "delay"),
    "eventually": (2, "within"),
    "eventually_async": (2, "within"),
}
"""Calls with a deadline: its position, and its name."""


def main() -> int:
    problems = [problem for file in sorted((ROOT / "tests").rglob("*.py")) for problem in judge_file(file)]
    print("\n".join(problems))
    return 1 if problems else 0


def judge_file(file: Path) -> Iterator[str]:
    name = str(file.relative_to(ROOT))
    if not any(name == exempt or name.startswith(f"{exempt}/") for exempt in EXEMPT):
        yield from (f"{name}:{line}: {problem}" for line, problem in judge(file.read_text()))


def judge(source: str) -> Iterator[tuple[int, str]]:
    """Return each line of a module that depends on the machine's speed and gives no reason, and what is wrong."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and REASON not in " ".join(lines[node.lineno - 1 : node.end_lineno]):
            problem = judge_call(node)
            if problem:
                yield node.lineno, problem


def judge_call(call: ast.Call) -> str:
    """Return what is wrong with a call, or nothing."""
    name, owner = called(call)
    if name == "sleep" and owner in ("asyncio", "time", "") and (not call.args or number(call.args[0]) != 0):
        return "a fixed sleep: use eventually(condition, what), or give the reason"
    if name == "time" and owner == "time":
        return "the wall clock: use time.monotonic() or a clock of the test's own, or give the reason"
    if name in DEADLINES:
        seconds = deadline(call, *DEADLINES[name])
        if seconds is not None and seconds < LEAST_DEADLINE_SECONDS:
            return f"a deadline of {seconds:g} s judges the machine: leave it out, or give the reason"
    return ""


def called(call: ast.Call) -> tuple[str, str]:
    """Return a called name, and the name that it is an attribute of."""
    match call.func:
        case ast.Attribute(attr=name, value=ast.Name(id=owner)):
            return name, owner
        case ast.Attribute(attr=name):
            return name, "?"
        case ast.Name(id=name):
            return name, ""
        case _:
            return "", ""


def deadline(call: ast.Call, position: int, keyword: str) -> float | None:
    """Return a call's deadline if it is a literal number."""
    given = next((each.value for each in call.keywords if each.arg == keyword), None)
    if given is None and len(call.args) > position:
        given = call.args[position]
    return number(given)


def number(node: ast.expr | None) -> float | None:
    """Return what a literal number is."""
    return float(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, int | float) else None


if __name__ == "__main__":
    sys.exit(main())
