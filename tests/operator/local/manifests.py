"""Manifests that tests write, and how they are read."""

from datetime import UTC, datetime
from pathlib import Path
from textwrap import dedent

from penstock_operator.local.manifests import ManifestError, Manifests, read_manifests

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)

CONNECTION = """
apiVersion: penstock.dev/v1alpha1
kind: Connection
metadata: {name: nats}
spec:
  servers: ["nats://127.0.0.1:4222"]
"""
STREAM = """
apiVersion: penstock.dev/v1alpha1
kind: Stream
metadata: {name: orders}
spec:
  connectionRef: {name: nats}
  subjects: ["orders.>"]
"""


def read(folder: Path, **files: str) -> Manifests:
    """Write files (a double underscore is a slash), and read the folder."""
    for name, text in files.items():
        file = folder / f"{name.replace('__', '/')}.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(dedent(text).lstrip("\n"))
    return read_manifests([str(folder)], "shop", NOW)


def faults(folder: Path, **files: str) -> list[str]:
    """Read what is wrong; the folder's name is left out."""
    try:
        read(folder, **files)
    except ManifestError as refusal:
        return [fault.removeprefix(f"{folder}/") for fault in refusal.faults]
    return []
