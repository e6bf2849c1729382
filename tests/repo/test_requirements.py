"""The table of requirements tells the truth: it is judged with statements and tests made up for it."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tools.environment import ROOT
from tools.requirements import Requirement, add_tests, lines, load

STATEMENTS = """
["ADR-1, examples"]
A-01 = "What holds"
A-02 = "What does not"
A-03 = "What no one has looked at"
A-04 = "What cannot be"
A-05 = "What is left out"

[not_applicable]
A-04 = "no server does it"
"""
REPORT = """
<testsuites><testsuite>
  <testcase classname="tests.test_a" name="test_it_holds[1]">{A01}</testcase>
  <testcase classname="tests.test_a" name="test_it_holds[2]">{A01}</testcase>
  <testcase classname="tests.test_a" name="test_it_is_left_out">{A01}<skipped/></testcase>
  <testcase classname="tests.test_b" name="test_both_hold">{A01}{A02}</testcase>
  <testcase classname="tests.test_b" name="test_it_breaks">{A02}<failure/></testcase>
  <testcase classname="tests.test_b" name="test_of_nothing"/>
  <testcase classname="tests.test_b" name="test_is_skipped">{A05}<skipped/></testcase>
</testsuite></testsuites>
"""
TESTS = """
import pytest

@pytest.mark.requirement("C-35", "V-01")
@pytest.mark.parametrize("number", [1, 2])
def test_two(number): pass

@pytest.mark.requirement("C-20")
def test_broken(): assert False

def test_other(): pass
"""


def proved(requirement: str) -> str:
    return f'<properties><property name="requirement" value="{requirement}"/></properties>'


def judged() -> dict[str, Requirement]:
    requirements = load(STATEMENTS)
    report = REPORT.format_map({id_.replace("-", ""): proved(id_) for id_ in requirements})
    add_tests(requirements, ET.fromstring(report))  # noqa: S314 - our own text
    return requirements


def run_pytest(folder: Path, tests: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_made_up.py").write_text(tests)
    command = [sys.executable, "-m", "pytest", "-q", f"--rootdir={folder}", "-p", "tests.requirements", *options]
    command += ["-o", "markers=requirement(*ids)", str(folder)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_an_id_is_judged_by_its_tests_and_one_failure_outweighs_the_rest() -> None:
    verdicts = {id_: requirement.verdict for id_, requirement in judged().items()}
    assert verdicts == {"A-01": "passed", "A-02": "failed", "A-03": "NO TEST", "A-04": "n/a", "A-05": "skipped"}
    assert [requirement.holds for requirement in judged().values()] == [True, False, False, True, False]


def test_the_table_names_each_test_once_and_failures_first() -> None:
    table = "\n".join(lines(list(judged().values()), every_test=True))
    assert "A-01  passed    What holds\n                - both hold · test_b\n" in table
    assert "- it holds · test_a (x2)" in table
    assert "A-02  failed    What does not\n                - failed: it breaks · test_b\n" in table
    assert "why not: no server does it" in table
    assert "5 requirements: 1 passed, 1 failed, 1 NO TEST, 1 n/a, 1 skipped. They are proved by 6 tests." in table


def test_an_id_is_stated_once_and_only_ids_that_exist_can_be_not_applicable() -> None:
    with pytest.raises(ValueError, match="A-01 is stated twice"):
        load(f'["ADR-0, earlier"]\nA-01 = "Once"\n{STATEMENTS}')
    with pytest.raises(ValueError, match="do not exist: A-06"):
        load(f'{STATEMENTS}A-06 = "why not"\n')


def test_what_a_test_proves_reaches_the_report_from_parallel_processes(tmp_path: Path) -> None:
    outcome = run_pytest(tmp_path, TESTS, "-n2", f"--junit-xml={tmp_path / 'report.xml'}")
    assert "3 passed" in outcome.stdout
    requirements = load()
    add_tests(requirements, ET.parse(tmp_path / "report.xml").getroot())  # noqa: S314 - pytest has written it
    told = {id_: (requirement.verdict, len(requirement.tests)) for id_, requirement in requirements.items()}
    assert (told["C-35"], told["V-01"], told["C-20"]) == (("passed", 2), ("passed", 2), ("failed", 1))


def test_tests_can_be_chosen_by_what_they_prove_and_an_unknown_id_fails(tmp_path: Path) -> None:
    assert "2 passed, 2 deselected" in run_pytest(tmp_path, TESTS, "--requirement=V-01").stdout
    outcome = run_pytest(tmp_path, TESTS.replace("V-01", "V-99"))
    assert "2 errors" in outcome.stdout
    assert "It proves V-99, which requirements.toml does not state." in outcome.stdout


def test_every_requirement_of_the_client_library_has_a_test() -> None:
    marked = re.compile(r"mark\.requirement\(([^)]*)\)")
    files = (ROOT / "tests" / "jetstream").rglob("test_*.py")
    proved = {id_ for file in files for ids in marked.findall(file.read_text()) for id_ in re.findall(r'"(.*?)"', ids)}
    stated = {id_ for id_, requirement in load().items() if not requirement.not_applicable}
    assert not stated - proved
