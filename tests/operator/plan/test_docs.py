"""The docs name each reason, condition, choice, annotation and setting of scaling."""

import re
from pathlib import Path

from penstock_operator.plan.decision import ConditionType
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.scaling import Why
from penstock_operator.resources import management
from penstock_operator.resources.queue_group_scaling import Scaling, Stabilization

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "management.md").read_text()
ENTRIES = re.findall(r"^\| `([A-Z]\w+)` \|(.+)\|$", (DOCS / "troubleshooting.md").read_text(), re.MULTILINE)
CHOICES = (ConditionType, management.Policy, management.Deletion, management.Drift, management.ImmutableChange)


def test_page_names_each_choice_and_annotation() -> None:
    for name in (*(choice.value for choices in CHOICES for choice in choices), management.FINALIZER):
        assert f"`{name}`" in PAGE
    for annotation in (management.PAUSE_ANNOTATION, management.ABANDON_ANNOTATION, management.RECREATE_ANNOTATION):
        assert f"`{annotation}: " in PAGE


def test_each_reason_has_one_complete_entry_and_nothing_else_has_one() -> None:
    assert sorted(name for name, _ in ENTRIES) == sorted({reason.value for reason in (*Reason, *Why)})
    for name, told in ENTRIES:
        cells = [cell.strip() for cell in told.split("|")]
        assert len(cells) == 3, name
        assert all(cells), name


def test_each_setting_of_scaling_is_documented_with_its_default() -> None:
    defaults = {field.alias or name: str(field.default) for name, field in Scaling.model_fields.items()}
    del defaults["stabilization"]
    inner = {f"stabilization.{name}": str(field.default) for name, field in Stabilization.model_fields.items()}
    page = (DOCS / "scaling.md").read_text()
    for name, default in {**defaults, **inner}.items():
        assert f"| `{name}` | {default} |" in page
