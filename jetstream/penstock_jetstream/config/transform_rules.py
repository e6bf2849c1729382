"""What a subject transform may say (X-06).

Knows the functions that a destination can call, and which wildcards they can name. Does not know where the transform
stands, or what it is for.
"""

import re
from collections.abc import Iterator

from penstock_jetstream.config.problem import Problem
from penstock_jetstream.config.subjects import EVERYTHING, ONE, REST, is_subject
from penstock_jetstream.config.typed import SubjectTransform

_CALL = re.compile(r"\{\{\s*(\w+)\s*\(([^)]*)\)\s*\}\}")
_OLD_CALL = re.compile(r"\$(\d+)")
_ARGUMENTS = {
    "wildcard": 1,
    "split": 2,
    "splitfromleft": 2,
    "splitfromright": 2,
    "slicefromleft": 2,
    "slicefromright": 2,
    "left": 2,
    "right": 2,
    "random": 1,
}
"""How many arguments each function takes. The first names a wildcard, but for random; partition takes any number."""
_PARTITION, _RANDOM = "partition", "random"


def judge_transform(path: str, transform: SubjectTransform) -> Iterator[Problem]:
    source, destination = transform.get("src") or EVERYTHING, transform.get("dest") or ""
    if not is_subject(source):
        yield Problem(f"{path}.src", f"{source!r} is no subject.", "Use tokens with dots between them.")
    elif not is_subject(_without_calls(destination)):
        yield Problem(f"{path}.dest", f"{destination!r} is no subject.", "Use tokens with dots between them.")
    else:
        yield from _judge_wildcards(path, source.split("."), destination.split("."))


def _without_calls(subject: str) -> str:
    return _CALL.sub("call", subject)


def _judge_wildcards(path: str, source: list[str], destination: list[str]) -> Iterator[Problem]:
    if ONE in destination:
        yield Problem(f"{path}.dest", "It contains `*`.", "Write {{wildcard(1)}} for the first `*` of src.")
    if (source[-1] == REST) is not (destination[-1] == REST):
        yield Problem(f"{path}.dest", "It and src do not both end with `>`.", "Let both, or neither.")
    for token in destination:
        fault = _fault(token, source)
        if fault:
            yield Problem(f"{path}.dest", f"{token!r} {fault}.")


def _fault(token: str, source: list[str]) -> str:
    old = _OLD_CALL.fullmatch(token)
    if old:
        return _out_of_range([old[1]], source.count(ONE))
    if not (token.startswith("{{") and token.endswith("}}")):
        return ""
    call = _CALL.fullmatch(token)
    if not call:
        return "is no call of a function"
    return _call_fault(call[1].lower(), [argument.strip() for argument in call[2].split(",")], source)


def _call_fault(function: str, arguments: list[str], source: list[str]) -> str:
    wildcards = source.count(ONE)
    if function == _PARTITION:
        named = arguments[1:] if {ONE, REST} & {*source} else []  # without wildcards they are not looked at
        return _not_a_number(arguments[:1]) or _out_of_range(named, wildcards)
    if function not in _ARGUMENTS:
        return f"calls {function}, which is not among {', '.join([_PARTITION, *_ARGUMENTS])}"
    if len(arguments) != _ARGUMENTS[function]:
        return f"has {len(arguments)} arguments; {function} takes {_ARGUMENTS[function]}"
    if function == _RANDOM:
        return _not_a_number(arguments)
    return _out_of_range(arguments[:1], wildcards) or _not_a_number(arguments[1:] if function != "split" else [])


def _not_a_number(arguments: list[str]) -> str:
    return "" if all(argument.isdecimal() for argument in arguments) else "has an argument that is no number"


def _out_of_range(indexes: list[str], wildcards: int) -> str:
    fault = _not_a_number(indexes)
    if fault or all(1 <= int(index) <= wildcards for index in indexes):
        return fault
    return f"names a wildcard that src does not have: it has {wildcards}"
