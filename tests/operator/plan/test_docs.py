"""docs/management.md names all that a plan can say, and all that people can decide."""

from pathlib import Path

import pytest

from penstock_operator.plan.decision import ConditionType
from penstock_operator.plan.reasons import Reason
from penstock_operator.resources import management

PAGE = (Path(__file__).parents[3] / "docs" / "management.md").read_text()
CHOICES = [management.Policy, management.Deletion, management.Drift, management.ImmutableChange]
ANNOTATIONS = [management.PAUSE_ANNOTATION, management.ABANDON_ANNOTATION, management.RECREATE_ANNOTATION]
NAMES = [
    *(reason.value for reason in Reason),
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
