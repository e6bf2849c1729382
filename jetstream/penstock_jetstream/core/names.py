"""Names that go into the subjects of requests (X-18).

Knows how to refuse one. Does not know what may be in it: config.names does.
"""

from penstock_jetstream.config.names import FORBIDDEN, name_fault
from penstock_jetstream.errors import UsageError

_SHOWN_LETTERS = 40


def checked_name(name: str, kind: str) -> str:
    """Return a name that can be one; kind is what it names, such as stream."""
    if fault := name_fault(name):
        raise UsageError(
            f"The {kind} name {name[:_SHOWN_LETTERS]!r} {fault}.",
            advice=f"Use letters, digits, - and _: no white space, and none of {' '.join(FORBIDDEN)}.",
        )
    return name
