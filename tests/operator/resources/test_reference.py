"""The reference of every field: nothing that may be written is missing in it, and nothing of the server's either."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock_jetstream.config import CONSUMER as SERVER_CONSUMER
from penstock_jetstream.config import STREAM as SERVER_STREAM
from penstock_jetstream.config import Table
from penstock_operator.cli.main import main
from penstock_operator.constants import API_VERSION
from penstock_operator.resources import CONSUMER, KINDS, STREAM, Kind
from penstock_operator.resources.reference import reference, server_fields
from tests.operator.resources import judging
from tests.operator.resources.test_api_conventions import fields
from tools.environment import ROOT

DOCUMENT = reference(KINDS, API_VERSION)
CHAPTERS = {text.partition("\n")[0]: text for text in DOCUMENT.split("\n## ")}
SAID_OTHERWISE = {
    "filter_subject": "filterSubjects is a list of one",
    "name": "durable_name is the same, for a consumer that stays",
}
"""Fields of a server's consumer that have none of ours, and why."""

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


@every_kind
def test_every_field_has_its_line(kind: Kind) -> None:
    named = {path.removesuffix("[]").rpartition(".")[2] for path, _ in fields(kind) if "." in path}
    assert [name for name in named if f"| `{name}`" not in CHAPTERS[kind.name]] == []


@every_kind
def test_every_rule_is_said(kind: Kind) -> None:
    said = judging.sentences(kind)
    assert [sentence for sentence in said if sentence.replace("|", "\\|") not in DOCUMENT] == []


@pytest.mark.parametrize(("kind", "table"), [(STREAM, SERVER_STREAM), (CONSUMER, SERVER_CONSUMER)])
def test_every_field_of_the_servers_is_one_of_ours(kind: Kind, table: Table) -> None:
    ours = {field.name for path, field in server_fields(kind).items() if path.count(".") == 1}
    theirs = {field.name for field in table.fields if not field.internal}
    assert theirs - ours <= SAID_OTHERWISE.keys()


def test_what_the_server_calls_a_field_stands_beside_it_with_its_age_and_whether_it_can_change() -> None:
    [line] = [line for line in CHAPTERS["Stream"].splitlines() if line.startswith("| `storage` ")]
    assert "`File`, `Memory` | `File` |" in line
    assert line.endswith("| `storage` | 2.2 | no |")


def test_the_copy_in_the_documents_is_what_the_command_prints() -> None:
    outcome = CliRunner().invoke(main, ["reference"])
    assert outcome.exit_code == 0
    assert outcome.output == (ROOT / "docs" / "reference.md").read_text()


def test_a_copy_that_is_out_of_date_is_told(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(main, ["reference", "--check", "--into", str(tmp_path / "reference.md")])
    assert outcome.exit_code == 3
    assert "reference.md is missing" in outcome.output
