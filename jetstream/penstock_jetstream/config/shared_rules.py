"""Rules that streams and consumers share: names and metadata.

Knows what both kinds must obey. Does not know which fields a name stands in.
"""

from collections.abc import Iterator, Mapping

from penstock_jetstream.config.names import NAME_ADVICE, name_fault
from penstock_jetstream.config.problem import Problem

_RESERVED = "_nats"
_WRITTEN_BY_SERVERS = ("_nats.ver", "_nats.level", "_nats.req.level", "_nats.mirror.", "_nats.src.")
"""What a configuration that was read from a server contains, and may be sent back."""


def judge_name(field: str, name: str) -> Iterator[Problem]:
    fault = name_fault(name)
    if fault:
        yield Problem(field, f"The name {name[:40]!r} {fault}.", NAME_ADVICE)


def judge_metadata(metadata: Mapping[str, str]) -> Iterator[Problem]:
    """Refuse what the server would overwrite, or take for its own."""
    for name in metadata:
        if name.startswith(_RESERVED) and not name.startswith(_WRITTEN_BY_SERVERS):
            yield Problem(f"metadata.{name}", "Names that begin with _nats are the server's.", "Choose another name.")
