"""The tools that judge and count are judged themselves: a check that cannot fail is none."""

import pytest

from tools.duplicates import find_duplicates
from tools.results import Result, total

TWICE = "\n".join(f"value_{number} = compute({number})" for number in range(6))


def test_six_equal_lines_in_two_files_are_found_where_they_stand() -> None:
    found = list(find_duplicates({"a.py": f"start = 1\n{TWICE}\n", "b.py": f"{TWICE}\n"}))
    assert found == [(("a.py", 2), ("b.py", 1))]


def test_a_long_duplicate_is_told_once() -> None:
    longer = "\n".join(f"value_{number} = compute({number})" for number in range(30))
    assert len(list(find_duplicates({"a.py": longer, "b.py": longer}))) == 1


def test_five_equal_lines_are_not_a_duplicate() -> None:
    fewer = "\n".join(TWICE.splitlines()[1:])
    assert not list(find_duplicates({"a.py": f"{fewer}\nend_a = 1\n", "b.py": f"{fewer}\nend_b = 2\n"}))


def test_imports_docstrings_and_comments_are_no_duplicates() -> None:
    imports = "\n".join(f"import module_{number}" for number in range(8))
    text = '"""What\nit\nsays\nover\nsix\nlines\nor\nmore."""'
    comments = "\n".join(f"# remark {number}" for number in range(8))
    source = f"{text}\n{imports}\n{comments}\n"
    assert not list(find_duplicates({"a.py": source, "b.py": source}))


def test_indentation_does_not_hide_a_duplicate() -> None:
    indented = "def wrapped():\n" + "\n".join(f"    {line}" for line in TWICE.splitlines())
    assert list(find_duplicates({"a.py": TWICE, "b.py": indented}))


@pytest.mark.parametrize(
    ("results", "exit_codes", "expected"),
    [
        ([Result("check", 5, 0), Result("test-3.11", 9, 0)], {"check": 0, "test": 0}, (14, 0)),
        ([Result("check", 5, 0), Result("test-3.11", 7, 2)], {"check": 0, "test": 1}, (12, 2)),
        ([Result("check", 5, 0), Result("test-3.11", 9, 0)], {"check": 0, "test": 1}, (14, 1)),
        ([Result("check", 5, 0)], {"check": 0, "test": 0}, (5, 1)),
        ([], {"check": 2, "test": 2}, (0, 2)),
    ],
    ids=["all well", "two tests failed", "a stage broke after its tests", "a stage ran no test", "nothing could start"],
)
def test_what_ci_adds_up(results: list[Result], exit_codes: dict[str, int], expected: tuple[int, int]) -> None:
    assert total(results, exit_codes) == expected
