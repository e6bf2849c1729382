"""The reference documents every field and every rule."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock_operator.cli.main import main
from penstock_operator.constants import API_VERSION
from penstock_operator.resources import KINDS
from penstock_operator.resources.reference import reference
from tests.operator.resources.judging import sentences
from tests.operator.resources.test_api_conventions import fields
from tools.environment import ROOT

DOCUMENT = reference(KINDS, API_VERSION)
CHAPTERS = {text.partition("\n")[0]: text for text in DOCUMENT.split("\n## ")}


def test_every_field_and_every_rule_is_documented(subtests: pytest.Subtests) -> None:
    for kind in KINDS:
        with subtests.test(kind.name):
            named = {path.removesuffix("[]").rpartition(".")[2] for path, _ in fields(kind) if "." in path}
            assert [name for name in named if f"| `{name}`" not in CHAPTERS[kind.name]] == []
            assert [said for said in sentences(kind) if said.replace("|", "\\|") not in DOCUMENT] == []


def test_a_field_shows_its_name_on_the_server_its_age_and_whether_it_can_change() -> None:
    [line] = [line for line in CHAPTERS["Stream"].splitlines() if line.startswith("| `storage` ")]
    assert "`File`, `Memory` | `File` |" in line
    assert line.endswith("| `storage` | 2.2 | no |")


def test_document_is_what_the_command_prints() -> None:
    outcome = CliRunner().invoke(main, ["reference"])
    assert outcome.exit_code == 0
    assert outcome.output == (ROOT / "docs" / "reference.md").read_text()


def test_check_reports_a_document_that_is_out_of_date(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(main, ["reference", "--check", "--into", str(tmp_path / "reference.md")])
    assert outcome.exit_code == 3
    assert "reference.md is missing" in outcome.output
