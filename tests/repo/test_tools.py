"""The repository's tools: they find duplicates, judge and time tests, and add up CI's results."""

import json
from pathlib import Path

import pytest

from tools import calm, times
from tools.duplicates import find_duplicates
from tools.results import Result, total

TWICE = "\n".join(f"value_{number} = compute({number})" for number in range(6))
FEWER = TWICE.partition("\n")[2]
LONGER = "\n".join(f"value_{number} = compute({number})" for number in range(30))
INDENTED = "def wrapped():\n" + "\n".join(f"    {line}" for line in TWICE.splitlines())
IMPORTS = "\n".join(f"import module_{number}" for number in range(8))
COMMENTS = "\n".join(f"# remark {number}" for number in range(8))
NO_CODE = f'"""What\nit\nsays\nover\nsix\nlines\nor\nmore."""\n{IMPORTS}\n{COMMENTS}\n'

DUPLICATES = {
    "six equal lines are found where they stand": (f"start = 1\n{TWICE}\n", f"{TWICE}\n", [(("a.py", 2), ("b.py", 1))]),
    "a long duplicate is reported once": (LONGER, LONGER, [(("a.py", 1), ("b.py", 1))]),
    "five equal lines are no duplicate": (f"{FEWER}\nend_a = 1\n", f"{FEWER}\nend_b = 2\n", []),
    "imports, docstrings and comments are no duplicates": (NO_CODE, NO_CODE, []),
    "indentation hides no duplicate": (TWICE, INDENTED, [(("a.py", 1), ("b.py", 2))]),
}


def test_duplicates_are_six_equal_lines_of_code(subtests: pytest.Subtests) -> None:
    for name, (one, other, found) in DUPLICATES.items():
        with subtests.test(name):
            assert list(find_duplicates({"a.py": one, "b.py": other})) == found


CHECKED = Result("check", 5, 0)
TOTALS = {
    "all passed": ([CHECKED, Result("test-3.11", 9, 0)], {"check": 0, "test": 0}, (14, 0)),
    "two tests failed": ([CHECKED, Result("test-3.11", 7, 2)], {"check": 0, "test": 1}, (12, 2)),
    "a stage broke after its tests": ([CHECKED, Result("test-3.11", 9, 0)], {"check": 0, "test": 1}, (14, 1)),
    "a stage ran no test": ([CHECKED], {"check": 0, "test": 0}, (5, 1)),
    "nothing could start": ([], {"check": 2, "test": 2}, (0, 2)),
}


def test_ci_adds_up_the_results_of_its_stages(subtests: pytest.Subtests) -> None:
    for name, (results, exit_codes, expected) in TOTALS.items():
        with subtests.test(name):
            assert total(results, exit_codes) == expected


JUDGED_LINES = {
    "await asyncio.sleep(1)": "a fixed sleep",
    "sleep(pause)": "a fixed sleep",
    "began = time.time()": "the wall clock",
    "await asyncio.wait_for(answer, 2)": "a deadline of 2 s",
    "await asyncio.wait_for(answer, timeout=2)": "a deadline of 2 s",
    "eventually(is_ready, 'it is ready', within=5)": "a deadline of 5 s",
    "eventually(is_ready, 'it is ready')": "",
    "eventually(is_ready, 'it is ready', within=30)": "",
    "await asyncio.sleep(0)": "",
    "began = time.monotonic()": "",
    "await asyncio.sleep(1)  # calm: the fault lasts this long": "",
}


def test_what_depends_on_the_machines_speed_is_found_unless_it_gives_a_reason(subtests: pytest.Subtests) -> None:
    for line, expected in JUDGED_LINES.items():
        with subtests.test(line):
            problems = [problem for _, problem in calm.judge(line)]
            assert bool(problems) == bool(expected)
            assert all(problem.startswith(expected) for problem in problems)


REPORT = """
<testsuites><testsuite>
<properties><property name="started:JVM" value="3"/></properties>
<testcase classname="tests.operator.working.test_streams" name="test_a" time="4.0"><properties>
<property name="cpu" value="1.5"/><property name="fixture:plane" value="3.0"/>
<property name="started:nats-server" value="1"/>
</properties></testcase>
<testcase classname="tests.operator.working.deep.test_more.TestClass" name="test_b" time="2.0"><properties>
<property name="cpu" value="0.5"/><property name="started:nats-server" value="2"/>
</properties></testcase>
</testsuite></testsuites>
"""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the times of REPORT, next to budgets."""
    monkeypatch.setattr(times, "ROOT", tmp_path)
    monkeypatch.setattr(times, "KEPT", tmp_path / "times.json")
    monkeypatch.setattr(times, "BUDGETS", tmp_path / "budgets.toml")
    (tmp_path / "report.xml").write_text(REPORT)
    times.keep(times.read(tmp_path / "report.xml"))
    return tmp_path


def test_slowest_tests_folders_fixtures_and_processes_of_a_run_are_kept(kept: Path) -> None:
    assert json.loads((kept / "times.json").read_text()) == {
        "folders": {"tests/operator/working": {"tests": 2, "seconds": 6.0, "cpu": 2.0}},
        "slowest": {
            "operator/working/test_streams::test_a": 4.0,
            "operator/working/deep/test_more/TestClass::test_b": 2.0,
        },
        "fixtures": {"plane": 3.0},
        "started": {"JVM": 3, "nats-server": 3},
    }


BUDGETS = {
    "within the budget": ('"tests/operator/working" = 2', ""),
    "over the budget": ('"tests/operator/working" = 1', "took 2 CPU seconds; its budget is 1"),
    "no budget": ("", "has no budget"),
    "a folder that is gone": ('"tests/operator/working" = 2\n"tests/gone" = 5', "the last run had no such tests"),
}


def test_a_folder_that_takes_more_than_its_budget_is_named(kept: Path, subtests: pytest.Subtests) -> None:
    for name, (budgets, expected) in BUDGETS.items():
        with subtests.test(name):
            (kept / "budgets.toml").write_text(budgets)
            problems = list(times.over_budget())
            assert len(problems) == bool(expected)
            assert all(expected in problem for problem in problems)
