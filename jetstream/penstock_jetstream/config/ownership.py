"""Which consumers servers have made for themselves (X-15).

Knows how servers mark the consumers through which they copy streams. Whoever manages consumers leaves these alone: to
delete one is to stop a mirror or a source.
"""

from collections.abc import Mapping

from penstock_jetstream.config.field import Config

_NAMES = ("JS_MIRROR_", "JS_SRC_")
_LABELS = ("_nats.mirror.", "_nats.src.")


def is_made_by_server(config: Config) -> bool:
    """Tell from a consumer's configuration whether a server made the consumer."""
    name = str(config.get("durable_name") or config.get("name") or "")
    metadata = config.get("metadata")
    labels = metadata if isinstance(metadata, Mapping) else {}
    marked = any(str(label).startswith(_LABELS) for label in labels)
    return marked or name.startswith(_NAMES) or config.get("sourcing") is True
