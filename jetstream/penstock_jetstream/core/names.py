"""Names of streams, consumers and buckets: what may be in them (X-18).

Knows the letters that would make a name several tokens of a subject, or a path. Does not know which names are taken.
"""

from penstock_jetstream.errors import UsageError

MAX_NAME_LETTERS = 255
_FORBIDDEN = frozenset(".*>/\\")


def checked_name(name: str, kind: str) -> str:
    """Return a name that can be one; kind is what it names, such as stream."""
    if not name:
        raise UsageError(f"The {kind} has no name.", advice="A name has at least one letter.")
    if len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_LETTERS:
        raise UsageError(f"The {kind} name {name[:40]!r}… is too long.", advice=f"At most {MAX_NAME_LETTERS} letters.")
    wrong = sorted({letter for letter in name if letter in _FORBIDDEN or letter.isspace() or not letter.isprintable()})
    if wrong:
        raise UsageError(
            f"The {kind} name {name!r} contains {', '.join(map(repr, wrong))}.",
            advice="Use letters, digits, - and _: no white space, and none of . * > / \\.",
        )
    return name
