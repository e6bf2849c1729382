"""The user's code is found, imported and checked; an error names the line."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock_worker.driver.entrypoint import EntrypointError, load, unload

pytestmark = pytest.mark.interpreter
WRONG = {
    ("x = 1\nraise KeyError('TABLE')\n", 2): "importing the module failed with KeyError: 'TABLE'",
    ("x = 1\nimport users_missing\n", 2): "No module named 'users_missing'. Install it beside the worker.",
    ("x = 1\n\ndef process(df, batch)\n", 3): "expected ':'.",
    ("import sys\nsys.exit(3)\n", 2): "importing the module failed with SystemExit: 3",
    ("\nasync def process(df, batch): ...\n", 2): "is async: write `def`, as a batch has a thread of its own.",
    ("\ndef process(df, batch):\n    yield df\n", 2): "has a yield, and so would do nothing: write it without.",
    ("def process(df): ...\n", 1): "has to take (df, batch), and takes (df).",
    ("def process(df, batch, table): ...\n", 1): "has to take (df, batch), and takes (df, batch, table).",
}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    before, path = set(sys.modules), list(sys.path)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(folder: Path, text: str, name: str = "users_etl.py") -> Path:
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


def refusal(folder: Path, entrypoint: str = "users_etl:process") -> str:
    with pytest.raises(EntrypointError) as problem:
        load(entrypoint, [str(folder)])
    return str(problem.value)


def test_a_function_is_loaded_with_the_users_own_modules_and_again_after_unloading(folder: Path) -> None:
    write(folder, "import json\nimport users_tables\ndef process(df, batch): return users_tables.NAME\n")
    tables = write(folder, "NAME = 'first'\n", "users_tables.py")
    code = load("users_etl:process", [str(folder)])
    assert code.process(None, None) == "first"
    assert {module.__name__ for module in code.modules} == {"users_etl", "users_tables"}
    assert folder.resolve() in code.folders
    tables.write_text("NAME = 'the second'\n")
    unload(code)
    assert load("users_etl:process", [str(folder)]).process(None, None) == "the second"


def test_libraries_installed_inside_a_project_are_not_the_users_own(folder: Path) -> None:
    finding = "import sys\nsys.path.append(sys.path[0] + '/site-packages')\n"
    write(folder, finding + "import users_library\ndef process(df, batch): ...\n")
    write(folder, "", "site-packages/users_library.py")
    assert [module.__name__ for module in load("users_etl:process", [str(folder)]).modules] == ["users_etl"]


def test_any_callable_with_two_arguments_will_do(folder: Path) -> None:
    write(folder, "class Job:\n  def __call__(self, df, batch, mode='append'): ...\nprocess = Job()\n")
    assert callable(load("users_etl:process", [str(folder)]).process)


def test_a_missing_module_or_function_is_reported_with_what_was_found(folder: Path) -> None:
    assert refusal(folder) == f"There is no module 'users_etl' in {folder.resolve()}: check the entrypoint."
    file = write(folder, "def proces(df, batch): ...\n").resolve()
    assert refusal(folder) == f"{file} has no 'process': it has proces."
    other = write(folder, "process = 7\n", "users_other.py").resolve()
    assert refusal(folder, "users_other:process") == f"process in {other} is a int, not a function."


def test_wrong_code_is_reported_with_its_line(folder: Path, subtests: pytest.Subtests) -> None:
    for number, ((text, line), report) in enumerate(WRONG.items()):
        with subtests.test(text):
            file = write(folder, text, f"users_etl{number}.py").resolve()
            message = refusal(folder, f"users_etl{number}:process")
            assert message.startswith(f"{file}:{line}: ")
            assert message.endswith(report)
