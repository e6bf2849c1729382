"""Judging a configuration before the server does: each field by itself, then the rules for several.

Knows how to walk through a configuration, however wrong it is. Does not know any field or rule.
"""

from collections.abc import Iterator
from difflib import get_close_matches

from penstock_jetstream.config.facts import NO_FACTS, Facts
from penstock_jetstream.config.field import Config, Field
from penstock_jetstream.config.problem import ConfigurationError, Problem, Severity
from penstock_jetstream.config.table import Table
from penstock_jetstream.config.values import Choice, Labels, ListOf, Record, Type

_SHOWN_VALUE = 60
_UPGRADE = "Leave it out, or upgrade the servers."


def validate(table: Table, config: Config, facts: Facts = NO_FACTS) -> list[Problem]:
    """Return what is wrong or doubtful, in the order of the configuration, then of the rules."""
    config = table.complete(config)
    unsound = {_top(problem.field) for problem in _of_fields(table.fields, config, NO_FACTS, "")}
    sound = {name: value for name, value in config.items() if name not in unsound and value is not None}
    problems = list(_of_fields(table.fields, config, facts, ""))
    return problems + [problem for rule in table.rules for problem in rule(sound, facts)]


def require_valid(table: Table, config: Config, facts: Facts = NO_FACTS) -> None:
    """Raise ConfigurationError if anything is wrong. What is only doubtful passes."""
    errors = [problem for problem in validate(table, config, facts) if problem.severity is Severity.ERROR]
    if errors:
        raise ConfigurationError(f"{table.kind} {_name(config)}", errors)


def _top(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]


def _name(config: Config) -> str:
    return str(config.get("durable_name") or config.get("name") or "without a name")


def _of_fields(fields: tuple[Field, ...], config: Config, facts: Facts, path: str) -> Iterator[Problem]:
    known = {field.name: field for field in fields}
    for name, value in config.items():
        field = known.get(name)
        if field is None:
            yield _unknown(path, str(name), [*known])
        elif value is not None:
            yield from _of_field(field, value, facts, f"{path}{name}")


def _unknown(path: str, name: str, known: list[str]) -> Problem:
    close = get_close_matches(name, known, n=1)
    return Problem(
        f"{path}{name}",
        "There is no such field, and servers since 2.12 refuse a configuration with fields that they do not know.",
        f"Did you mean {close[0]}?" if close else "",
    )


def _of_field(field: Field, value: object, facts: Facts, path: str) -> Iterator[Problem]:
    if field.internal and field.type.canonical(value) is not None:
        yield Problem(path, "It is for servers only.", "Leave it out.")
    if facts.api_level is not None and field.level > facts.api_level:
        yield _too_new(path, "It", field.level, field.since, facts.api_level)
        return
    yield from _of_value(field.type, value, facts, path)


def _too_new(path: str, what: str, level: int, version: str, has: int) -> Problem:
    return Problem(
        path,
        f"{what} needs JetStream API level {level} (nats-server {version}); the servers have level {has}.",
        _UPGRADE,
    )


def _of_value(kind: Type, value: object, facts: Facts, path: str) -> Iterator[Problem]:
    fault = kind.fault(value)
    if fault:
        yield Problem(path, f"It {fault}{_shown(kind, value)}.")
    elif isinstance(kind, Choice):
        yield from _of_choice(kind, value, facts, path)
    elif isinstance(kind, ListOf) and isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _of_value(kind.of, item, facts, f"{path}[{index}]")
    elif isinstance(kind, Record) and isinstance(value, dict):
        yield from _of_fields(kind.fields, value, facts, f"{path}.")


def _shown(kind: Type, value: object) -> str:
    if isinstance(kind, Labels):
        return ""
    shown = repr(value)
    return f", not {shown if len(shown) <= _SHOWN_VALUE else shown[:_SHOWN_VALUE] + '…'}"


def _of_choice(kind: Choice, value: object, facts: Facts, path: str) -> Iterator[Problem]:
    option = next(option for option in kind.options if option.name == value)
    level = kind.level(value)
    if facts.api_level is not None and level > facts.api_level:
        yield _too_new(path, f"The value {option.name}", level, option.since, facts.api_level)
