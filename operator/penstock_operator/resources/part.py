"""What every part of a manifest has in common: camelCase names, no unknown fields, and rules said once.

A rule is one promise in three forms: CEL for the API server, Python for a laptop without one, and the sentence that
either shows to the person who broke it. Knows pydantic. Does not know any kind. Every model of a kind derives from it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, model_validator
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from typing_extensions import override


@dataclass(frozen=True, slots=True)
class Rule:
    """Something that fields of one part promise together."""

    sentence: str
    cel: str
    holds: Callable[[Any], bool]


class Part(BaseModel):
    """A part of a manifest."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    RULES: ClassVar[tuple[Rule, ...]] = ()

    @model_validator(mode="after")
    def _keep_rules(self) -> Self:
        broken = [rule.sentence for rule in self.RULES if not rule.holds(self)]
        if broken:
            raise ValueError(" ".join(broken))
        return self

    @classmethod
    @override
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler(core_schema)
        if cls.RULES:
            rules = [{"rule": rule.cel, "message": rule.sentence} for rule in cls.RULES]
            handler.resolve_ref_schema(schema)["x-kubernetes-validations"] = rules
        return schema
