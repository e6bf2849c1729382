"""What a test can ask of a nats-server, and the configuration file that says so."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.testbed.ports import LOOPBACK

Fragment = Mapping[str, Any]
"""A part of a configuration, merged into the rest of it key by key."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """One server's configuration. What is None is left to the server's default."""

    name: str
    port: int
    monitoring_port: int
    store: Path
    domain: str | None = None
    max_payload_bytes: int | None = None
    max_store_bytes: int | None = None
    js_ack_fc_v2: bool = False
    """Acknowledgement subjects of 11 tokens rather than 9; servers know it from 2.14 on."""
    fragments: tuple[Fragment, ...] = field(default=())

    def text(self) -> str:
        """Return the configuration file. It is JSON, which the server reads as its own format."""
        document = _without_nones(
            {
                "server_name": self.name,
                "listen": f"{LOOPBACK}:{self.port}",
                "http": f"{LOOPBACK}:{self.monitoring_port}",
                "max_payload": self.max_payload_bytes,
                "jetstream": _without_nones(
                    {"store_dir": str(self.store), "domain": self.domain, "max_file_store": self.max_store_bytes}
                ),
                "feature_flags": {"js_ack_fc_v2": True} if self.js_ack_fc_v2 else None,
            }
        )
        for fragment in self.fragments:
            document = merged(document, fragment)
        return json.dumps(document, indent=2, ensure_ascii=False)  # the server does not read \u escapes


def merged(base: Fragment, addition: Fragment) -> dict[str, Any]:
    """Lay a fragment over a configuration: maps are merged, anything else is replaced."""
    result = dict(base)
    for key, value in addition.items():
        both_maps = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = merged(result[key], value) if both_maps else value
    return result


def _without_nones(document: Fragment) -> dict[str, Any]:
    return {key: value for key, value in document.items() if value is not None}
