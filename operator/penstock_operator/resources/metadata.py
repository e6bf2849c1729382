"""What every object on the server has for people: a description, and labels of its own.

Knows their bounds, and whose names are reserved. Does not know the objects.
"""

from typing import Annotated

from pydantic import Field, StringConstraints

from penstock_operator.resources.terms import Term, longer_in_bytes, rule

_MAX_DESCRIPTION_BYTES = 4096
_RESERVED = "_nats"

Description = Annotated[str, StringConstraints(max_length=_MAX_DESCRIPTION_BYTES)]
Metadata = Annotated[dict[str, Annotated[str, StringConstraints(max_length=1024)]], Field(max_length=64)]
"""Of any names: the API server's schemas cannot speak of them."""

DESCRIPTION_RULE = rule(
    f"description has at most {_MAX_DESCRIPTION_BYTES} bytes.", ~longer_in_bytes("description", _MAX_DESCRIPTION_BYTES)
)
METADATA_RULE = rule(
    "metadata names that begin with _nats are the server's.",
    Term(
        f"(!has(self.metadata) || self.metadata.all(name, !name.startsWith('{_RESERVED}')))",
        lambda spec: not any(name.startswith(_RESERVED) for name in spec.metadata),
    ),
)
