"""The docs name all that a plan can say, and all that people can decide.

docs/troubleshooting.md has an entry for each reason, and for nothing else; docs/management.md has the rest.
"""

import re
from pathlib import Path

import pytest

from penstock_operator.plan.decision import ConditionType
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.scaling import Why
from penstock_operator.resources import management

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "management.md").read_text()
ENTRIES = re.findall(r"^\| `([A-Z]\w+)` \|(.+)\|$", (DOCS / "troubleshooting.md").read_text(), re.MULTILINE)
REASONS = [*Reason, *Why]
CHOICES = [management.Policy, management.Deletion, management.Drift, management.ImmutableChange]
ANNOTATIONS = [management.PAUSE_ANNOTATION, management.ABANDON_ANNOTATION, management.RECREATE_ANNOTATION]
NAMES = [
    *(kind.value for kind in ConditionType),
    *(choice.value for choices in CHOICES for choice in choices),
    management.FINALIZER,
]


@pytest.mark.parametrize("name", NAMES)
def test_the_page_names_it(name: str) -> None:
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize("annotation", ANNOTATIONS)
def test_the_page_names_the_annotation_with_a_value(annotation: str) -> None:
    assert f"`{annotation}: " in PAGE


def test_each_reason_has_one_entry_and_nothing_else_has_any() -> None:
    assert sorted(name for name, _ in ENTRIES) == sorted({reason.value for reason in REASONS})


@pytest.mark.parametrize(("name", "told"), ENTRIES)
def test_an_entry_says_what_is_seen_what_it_means_and_what_to_do(name: str, told: str) -> None:
    cells = [cell.strip() for cell in told.split("|")]
    assert len(cells) == 3, name
    assert all(cells)
