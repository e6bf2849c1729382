"""Container images that are one static program: the pause image of our nodes, and what tests of a node run.

Images with more in them come from the Dockerfile.
"""

import hashlib
import io
import json
import os
import tarfile
from pathlib import Path

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def write_archive(archive: Path, *, name: str, program: Path) -> Path:
    """Write an image for this machine that has the program and no other file in it."""
    layer = _tar({program.name: program.read_bytes()}, mode=0o755)
    config = {
        "architecture": ARCHITECTURES[os.uname().machine],
        "os": "linux",
        "config": {"Entrypoint": [f"/{program.name}"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    parts = {
        "manifest.json": json.dumps(manifest).encode(),
        "config.json": json.dumps(config).encode(),
        "layer.tar": layer,
    }
    archive.write_bytes(_tar(parts, mode=0o644))
    return archive


def _tar(files: dict[str, bytes], mode: int) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), mode
            archive.addfile(entry, io.BytesIO(data))
    return content.getvalue()
