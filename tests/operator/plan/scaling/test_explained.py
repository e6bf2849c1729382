"""The docs have each setting of scaling with its default."""

from pathlib import Path

from penstock_operator.resources.queue_group_scaling import Scaling, Stabilization

PAGE = (Path(__file__).parents[4] / "docs" / "scaling.md").read_text()


def fields() -> dict[str, str]:
    """Return what can be set, and the defaults."""
    own = {field.alias or name: str(field.default) for name, field in Scaling.model_fields.items()}
    del own["stabilization"]
    return own | {f"stabilization.{name}": str(field.default) for name, field in Stabilization.model_fields.items()}


def test_docs_have_each_field_with_its_default() -> None:
    for name, default in fields().items():
        assert f"| `{name}` | {default} |" in PAGE
