"""Names and subjects as the server takes them, and how a manifest is told what is wrong with one.

Knows what can be one. Does not know which fields have them. White space in patterns is spelt out, as its class means
one thing to the API server and another in Python.
"""

import re
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from penstock_operator.resources.part import Rule

_LETTER = r"[^.\x00-\x20\x7f]"
_ANY_TOKEN = rf"([^.>\x00-\x20\x7f]{_LETTER}*|>{_LETTER}+)"
_LITERAL_TOKEN = rf"([^.*>\x00-\x20\x7f]{_LETTER}*|[*>]{_LETTER}+)"
SUBJECT_PATTERN = rf"^({_ANY_TOKEN}[.])*{_LETTER}+$"
LITERAL_PATTERN = rf"^({_LITERAL_TOKEN}[.])*{_LITERAL_TOKEN}$"
SEPARATORS = " \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""Unicode's separators, which RE2 calls \\pZ and Python has no name for."""
SERVER_NAME_PATTERN = r"^[^.*>/\\\x00-\x20\x7f-\x9f\pZ]+$"
MAX_SUBJECT_LENGTH = 1024
MAX_NAME_LENGTH = 255


def matching(pattern: str, sentence: str) -> Rule:
    """Make the rule for a field that holds what matches a pattern."""
    compiled = compile_re2(pattern)
    return Rule(sentence, f"self.matches(r'{pattern}')", lambda text: compiled.fullmatch(text) is not None)


def compile_re2(pattern: str) -> re.Pattern[str]:
    """Return what a pattern of RE2's means in Python."""
    return re.compile(pattern.replace(r"\pZ", SEPARATORS))


def each_once(values: list[str]) -> list[str]:
    """Refuse what the API server refuses in a list of type set."""
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice:
        raise ValueError(f"Listed more than once: {', '.join(twice)}.")
    return values


Subject = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_SUBJECT_LENGTH),
    matching(
        SUBJECT_PATTERN,
        "A subject is tokens with dots between them, without white space; * is any one token, > at the end all that"
        " follow: orders.*.created, orders.>.",
    ),
]
LiteralSubject = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_SUBJECT_LENGTH),
    matching(
        LITERAL_PATTERN,
        "This subject has no wildcards: it is tokens with dots between them, without white space, and none is * or >.",
    ),
]
SubjectSet = Annotated[
    list[Subject],
    Field(max_length=256, json_schema_extra={"x-kubernetes-list-type": "set"}),
    AfterValidator(each_once),
]
"""Subjects in any order."""
ServerName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_NAME_LENGTH),
    matching(SERVER_NAME_PATTERN, "A name on the server has no white space, and none of . * > / \\\\."),
]
"""A name of a stream or consumer on the server."""
