"""People find in the docs what can be set about scaling."""

from pathlib import Path

import pytest

from penstock_operator.resources.queue_group_scaling import Scaling, Stabilization

PAGE = (Path(__file__).parents[4] / "docs" / "scaling.md").read_text()


def fields() -> dict[str, str]:
    """Return what can be set, and the defaults."""
    own = {field.alias or name: str(field.default) for name, field in Scaling.model_fields.items()}
    del own["stabilization"]
    return own | {f"stabilization.{name}": str(field.default) for name, field in Stabilization.model_fields.items()}


@pytest.mark.parametrize(("name", "default"), fields().items())
def test_each_field_is_there_with_its_default(name: str, default: str) -> None:
    assert f"| `{name}` | {default} |" in PAGE
