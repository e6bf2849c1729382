"""What an operator wrote to the API server, from the API server's own audit log; and to JetStream, from its advisories.

Knows both records. Does not know who wrote: the audit policy names one user, and at NATS nobody else is at work.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

OPERATOR = "contender"
"""The user that every contender is to the API server."""

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "Metadata",
            "users": [OPERATOR],
            "verbs": ["create", "update", "patch", "delete", "deletecollection"],
        },
        {"level": "None"},
    ],
}
LEASE = "leases"
READS = frozenset({"INFO", "NAMES", "LIST"})
ADVISORIES = "$JS.EVENT.ADVISORY.API"


def flags(folder: Path) -> list[str]:
    """Return what makes an API server keep such a log in the folder."""
    policy = folder / "audit-policy.json"
    policy.write_text(json.dumps(POLICY))
    return [f"--audit-policy-file={policy}", f"--audit-log-path={_log(folder)}"]


class AuditLog:
    """The log in that folder, counted from one moment to the next."""

    def __init__(self, folder: Path) -> None:
        self._log = _log(folder)
        self._position = 0

    def count(self) -> Counter[str]:
        """Return the writes since the last time, such as {"patch streams/status": 1000}."""
        if not self._log.exists():
            return Counter()
        with self._log.open() as log:
            log.seek(self._position)
            writes = Counter(_write(json.loads(line)) for line in log)
            self._position = log.tell()
        return writes


def _write(event: dict[str, Any]) -> str:
    about = event["objectRef"]
    parts = [about["resource"], about.get("subresource")]
    return f"{event['verb']} {'/'.join(part for part in parts if part)}"


def jetstream_request(advisory: bytes) -> str:
    """Return the request that the advisory tells of, such as STREAM.CREATE."""
    _, _, *words = json.loads(advisory)["subject"].split(".")
    return ".".join(words[:2])


def is_write(request: str) -> bool:
    return request.rpartition(".")[2] not in READS


def without_leases(writes: Counter[str]) -> int:
    """Return the number of writes that are about what is declared; a lease has to be renewed all the same."""
    return sum(count for write, count in writes.items() if LEASE not in write)


def _log(folder: Path) -> Path:
    return folder / "audit.log"
