"""What every part of a manifest has in common: camelCase names, no unknown fields, and rules said once.

A rule is one promise in three forms: CEL for the API server, Python for a laptop without one, and the sentence that
either shows to the person who broke it. So is a change rule, about what an update may make of a part.
Knows pydantic. Does not know any kind. Every model of a kind derives from it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, field_validator, model_validator
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_after_validator_function
from typing_extensions import override

_Value = TypeVar("_Value")

LARGEST = 2**63 - 1
VALIDATIONS = "x-kubernetes-validations"


@dataclass(frozen=True, slots=True)
class Rule:
    """Something that fields of one part promise together; or, as an annotation of one field, what its value promises.

    What breaks a pattern is told the pattern; what breaks a rule is told in words.
    """

    sentence: str
    cel: str
    holds: Callable[[Any], bool]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401 - pydantic's
        return no_info_after_validator_function(self._keep, handler(source))

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler(core_schema)
        return {**schema, VALIDATIONS: [*schema.get(VALIDATIONS, []), *validations([self])]}

    def _keep(self, value: _Value) -> _Value:
        if not self.holds(value):
            raise ValueError(self.sentence)
        return value


@dataclass(frozen=True, slots=True)
class ChangeRule:
    """Something that an update promises: `oldSelf` in CEL is the part as it was, `holds` is given (new, old)."""

    sentence: str
    cel: str
    holds: Callable[[Any, Any], bool]
    unless_recreated: "ChangeRule | None" = None
    """What holds unless the object is made anew: a policy asks for it where nobody has allowed that (admission.py)."""


def validations(rules: Sequence[Rule | ChangeRule]) -> list[dict[str, str]]:
    """Return the rules as the API server takes them."""
    return [{"rule": rule.cel, "message": rule.sentence} for rule in rules]


class Part(BaseModel):
    """A part of a manifest."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
    )

    RULES: ClassVar[tuple[Rule, ...]] = ()
    CHANGE_RULES: ClassVar[tuple[ChangeRule, ...]] = ()

    @classmethod
    def read(cls, written: Mapping[str, Any]) -> Self:
        """Read what stands in a manifest, and take nothing for what it is not: "5" is no number, and "yes" no yes.

        The API server is that strict, too. Raises pydantic.ValidationError.
        """
        return cls.model_validate_json(json.dumps(_with_whole_numbers(written)), strict=True)

    @model_validator(mode="before")
    @classmethod
    def _leave_out_null(cls, written: Any) -> Any:  # noqa: ANN401 - whatever stands there
        """Take null for a field that is left out, as the API server does."""
        if not isinstance(written, Mapping):
            return written
        known = {field.alias for field in cls.model_fields.values()}
        return {name: value for name, value in written.items() if value is not None or name not in known}

    @field_validator("*", mode="after")
    @classmethod
    def _count_in_64_bits(cls, value: _Value) -> _Value:
        """Refuse a number that neither the API server nor a NATS server could count."""
        if isinstance(value, int) and not -LARGEST <= value <= LARGEST:
            raise ValueError(f"It is a number from {-LARGEST} to {LARGEST}.")
        return value

    @model_validator(mode="after")
    def _keep_rules(self) -> Self:
        broken = [rule.sentence for rule in self.RULES if not rule.holds(self)]
        if broken:
            raise ValueError(" ".join(broken))
        return self

    def faults_after(self, old: Self) -> list[str]:
        """Return the sentences of the change rules that an update from the old part to this one breaks.

        Parts inside are asked likewise where both have them, as the API server does.
        """
        broken = [rule.sentence for rule in self.CHANGE_RULES if not rule.holds(self, old)]
        for name, value in self:
            before = getattr(old, name)
            if isinstance(value, Part) and isinstance(before, type(value)):
                broken += value.faults_after(before)
        return broken

    @classmethod
    @override
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler(core_schema)
        if cls.RULES or cls.CHANGE_RULES:
            handler.resolve_ref_schema(schema)[VALIDATIONS] = validations((*cls.RULES, *cls.CHANGE_RULES))
        return schema


def _with_whole_numbers(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return JSON in which 5.0 is 5: API servers accept both for an integer."""
    match value:
        case Mapping():
            return {name: _with_whole_numbers(each) for name, each in value.items()}
        case list() | tuple():
            return [_with_whole_numbers(each) for each in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value
