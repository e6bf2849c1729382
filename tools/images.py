"""Build the container images, and print how large they are.

usage: python3 tools/images.py [operator worker] [--archive FOLDER]        (make images)

Knows the Dockerfile's targets, what they are made of, and how this machine's network is lent to a build: none of it
stays in an image. Does not know the engines' commands (tools/engines.py does). An image that is up to date is left
alone; so is its archive, an OCI archive that a node can load.
"""

import argparse
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

if __package__ is None:  # run as a script, before anything is installed
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.console import CannotContinueError, say, step
from tools.engines import FINGERPRINT_LABEL, Engine, Image, ensure_base, find_engine
from tools.environment import ROOT, locked

PARTS = {
    "operator": ("jetstream", "operator"),
    "worker": ("jetstream", "worker"),
}
SHARED = ("Dockerfile", ".dockerignore", "build-constraints.txt", "constraints.txt", "VERSION", "LICENSE")
IGNORED = ("__pycache__", "dist")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Build the container images.")
    parser.add_argument("targets", nargs="*", choices=[[], *PARTS], metavar="target", help=" or ".join(PARTS))
    parser.add_argument("--archive", type=Path, metavar="FOLDER", help="write each image there too, as an OCI archive")
    options = parser.parse_args(arguments)
    targets = options.targets or list(PARTS)
    try:
        engine = find_engine()
        for target in targets:
            build(engine, target)
        print_table(engine, targets)
        for target in targets if options.archive else ():
            print(archive(engine, target, options.archive.resolve()))
    except CannotContinueError as problem:
        say(f"\n{problem}")
        return 1
    return 0


def tag(target: str) -> str:
    """Return the name that the chart gives the image."""
    return f"docker.io/penstock/{target}:{version()}"


def version() -> str:
    return (ROOT / "VERSION").read_text().strip()


def build(engine: Engine, target: str) -> None:
    """Build one image, unless it was built from just these files."""
    wanted = fingerprint(target)
    with locked(ROOT / ".cache" / "images"):
        found = engine.inspect(tag(target))
        if found and found.labels.get(FINGERPRINT_LABEL) == wanted:
            return
        ensure_base(engine)
        with step(f"image {tag(target)}, by {engine.name} (the first time takes minutes)"):
            engine.build(target, tag(target), fingerprint=wanted, version=version())


def archive(engine: Engine, target: str, folder: Path) -> Path:
    """Write one image as an OCI archive that is named after what it was built from, and return its path.

    That is what the image itself says: its sources may be others by now.
    """
    path = folder / f"{target}-{built_from(engine, target)[:16]}.tar"
    with locked(folder / path.name):
        if not path.is_file():
            for outdated in folder.glob(f"{target}-*.tar"):
                outdated.unlink()
            with step(f"archive {path.name}"):
                unfinished = path.with_suffix(".partial")
                engine.archive(tag(target), unfinished)
                unfinished.rename(path)
    return path


def fingerprint(target: str) -> str:
    """Return a digest of everything that the image is made from."""
    digest = hashlib.sha256()
    for path in sorted(sources(target)):
        digest.update(f"{path.relative_to(ROOT)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def sources(target: str) -> Iterator[Path]:
    yield from (ROOT / name for name in SHARED)
    for part in PARTS[target]:
        for path in (ROOT / part).rglob("*"):
            if path.is_file() and not set(path.parts) & set(IGNORED):
                yield path


def print_table(engine: Engine, targets: list[str]) -> None:
    width = max(len(tag(target)) for target in targets)
    print(f"{'image':<{width}}  {'size':>8}")
    for target in targets:
        print(f"{tag(target):<{width}}  {size_bytes(engine, target) / 1e6:>5.0f} MB")


def built_from(engine: Engine, target: str) -> str:
    """Return the digest of everything that the image was made from."""
    return inspected(engine, target).labels[FINGERPRINT_LABEL]


def size_bytes(engine: Engine, target: str) -> int:
    return inspected(engine, target).size_bytes


def inspected(engine: Engine, target: str) -> Image:
    """Return what the engine has of an image that was built just now."""
    image = engine.inspect(tag(target))
    if image is None:
        raise CannotContinueError(f"{engine.name} has built {tag(target)}, and does not find it now.")
    return image


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
