"""An environment with an older pyspark: table formats follow Spark's versions by months."""

import hashlib
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from tools.console import step
from tools.environment import ROOT, cache_folder, ensure_uv, install, locked

PYSPARK = "4.1.1"
"""The newest that Iceberg has a release for; Delta's is for 4.2."""

SAME_AS_HERE = ("pandas", "pyarrow", "pytest", "pytest-timeout")


def environment() -> Path:
    """Return an environment of this Python with that pyspark, made if no one has."""
    wanted = [f"pyspark=={PYSPARK}", *(f"{name}=={version(name)}" for name in SAME_AS_HERE)]
    digest = hashlib.sha256(f"{sys.version} {wanted}".encode()).hexdigest()[:12]
    folder = cache_folder() / "pyspark" / f"{PYSPARK}-{digest}"
    stamp = folder / "complete"
    with locked(folder):
        if not stamp.is_file():
            with step(f"pyspark {PYSPARK}, which Delta and Iceberg support (a download of 450 MB the first time)"):
                make = ["venv", "--quiet", "--clear", "--python", sys.executable, str(folder)]
                subprocess.run([str(ensure_uv()), *make], check=True)
                install(folder, f"pyspark {PYSPARK}", *wanted)
            stamp.touch()
    return folder


def run_tests(file: Path, plugin: str, env: dict[str, str]) -> None:
    """Run a file of tests there; what pytest says is shown if one fails.

    What a Spark that was started here has left in our environment would lead that one to the jars of this.
    """
    paths = os.pathsep.join([str(ROOT), str(ROOT / "worker")])
    options = ["-q", "--noconftest", "-p", plugin, "-p", "no:cacheprovider", "-c", os.devnull]
    options += ["--import-mode=importlib", f"--rootdir={file.parent}"]
    own = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    ended = subprocess.run(
        [str(environment() / "bin" / "python"), "-m", "pytest", *options, str(file)],
        cwd=ROOT,
        env=own | {"PYTHONPATH": paths} | env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
