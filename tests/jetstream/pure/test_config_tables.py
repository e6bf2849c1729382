"""The tables of configuration fields: complete, consistent, and equal to the types that callers see."""

import re
from typing import Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from penstock_jetstream.config import CONSUMER, NEWEST_LEVEL, STREAM, ConsumerConfig, StreamConfig, level_of
from penstock_jetstream.config.field import Derived, Field, Special
from penstock_jetstream.config.levels import level_that_has
from penstock_jetstream.config.subjects import is_literal, is_subject, is_within, overlap
from penstock_jetstream.config.values import Choice, Flag, Labels, ListOf, Record, Type, Whole
from penstock_jetstream.config.values import Duration as DurationType


def by_path(path: str, fields: tuple[Field, ...]) -> dict[str, Field]:
    """Return each field, and each of the records in them, by its path."""
    found: dict[str, Field] = {}
    for field in fields:
        found[f"{path}.{field.name}"] = field
        inner = field.type.of if isinstance(field.type, ListOf) else field.type
        if isinstance(inner, Record):
            found |= by_path(f"{path}.{field.name}", inner.fields)
    return found


@pytest.mark.interpreter
def test_the_tables_have_every_field_of_the_newest_server_once_and_are_the_types_that_callers_see() -> None:
    assert [len({field.name for field in table.fields}) for table in (STREAM, CONSUMER)] == [38, 35]
    assert [len(table.fields) for table in (STREAM, CONSUMER)] == [38, 35]
    assert_same(Record(STREAM.fields), StreamConfig)
    assert_same(Record(CONSUMER.fields), ConsumerConfig)


def assert_same(kind: Type, hint: Any) -> None:  # noqa: ANN401 - a type of any form
    match kind:
        case Record(fields):
            assert is_typeddict(hint)
            hints = get_type_hints(hint)
            assert {*hints} == {field.name for field in fields}
            for field in fields:
                assert_same(field.type, hints[field.name])
        case ListOf():
            assert get_origin(hint) is list
            assert_same(kind.of, get_args(hint)[0])
        case Choice():
            assert get_origin(hint) is Literal
            assert {*get_args(hint)} == {*kind.names}
        case Labels():
            assert hint == dict[str, str]
        case Whole() | DurationType():
            assert hint is int
        case _:
            assert hint is (bool if isinstance(kind, Flag) else str)


def test_every_field_is_documented_and_has_a_valid_example_default_and_unit(subtests: pytest.Subtests) -> None:
    for path, field in (by_path(STREAM.kind, STREAM.fields) | by_path(CONSUMER.kind, CONSUMER.fields)).items():
        with subtests.test(path):
            assert re.fullmatch(r"[A-Z].*[.]", field.meaning), field.meaning
            assert field.meaning.count("`") % 2 == 0
            if field.default is not None and not isinstance(field.default, Derived):
                assert field.type.fault(field.default) == ""
            if isinstance(field.mutability, Special):
                assert re.fullmatch(r"[A-Z].*[.]", field.mutability.why)
            inner = field.type.of if isinstance(field.type, ListOf) else field.type
            if isinstance(inner, DurationType):
                assert field.unit == "nanoseconds"
            if isinstance(inner, Whole) and field.name not in {"opt_start_seq", "first_seq"}:
                assert field.unit
            if not field.internal:
                check_example(field)


def check_example(field: Field) -> None:
    assert field.example is not None
    assert field.type.fault(field.example) == ""
    assert field.type.canonical(field.example) is not None
    if not isinstance(field.default, Derived):
        assert field.type.canonical(field.example) != field.type.canonical(field.default)


@pytest.mark.requirement("X-08")
def test_a_server_has_the_level_of_the_last_version_that_brought_one_and_a_field_needs_one_that_surely_has_it() -> None:
    servers = ("2.10.29", "2.11.0", "2.11.17", "2.12.4", "2.12.5", "2.12.15", "2.14.0-RC.1", "2.15.1", "3.0.0")
    assert [level_of(version) for version in servers] == [0, 1, 1, 2, 3, 3, 4, 5, 5]
    fields = ("2.2", "2.10", "2.11", "2.12", "2.12.5", "2.14", "2.14.4", "2.15", "2.16")
    assert [level_that_has(version) for version in fields] == [0, 0, 1, 2, 3, 4, 5, 5, NEWEST_LEVEL + 1]


def test_subjects_are_tokens_that_overlap_or_are_within_each_other(subtests: pytest.Subtests) -> None:
    assert all(map(is_subject, ["a", "a.b", "*", ">", "a.*.c", "a.>", "a*", "$JS.x", "ä.ö", "a\x85"]))
    assert not any(map(is_subject, ["", ".", "a.", ".a", "a..b", ">.a", "a b", "a\tb", "a.\n"]))
    assert is_literal("a*.b>")
    assert not is_literal("a.*")
    cases = [
        ("a", "a", True, True),
        ("a", "b", False, False),
        ("a.b", "a.*", True, True),
        ("a.*", "*.b", True, False),
        ("a.b.c", "a.>", True, True),
        ("a", "a.>", False, False),
        ("a.>", "a.*", True, False),
        ("a.*", "a.>", True, True),
        (">", "a", True, False),
        ("a.b", "a", False, False),
    ]
    for one, other, overlaps, within in cases:
        with subtests.test(f"{one} {other}"):
            assert overlap(one, other) is overlap(other, one) is overlaps
            assert is_within(one, other) is within
