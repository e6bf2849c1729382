"""The tools that find duplicates and add up CI's results."""

import pytest

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
