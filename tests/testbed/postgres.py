"""A PostgreSQL server on loopback, from the binaries that Maven Central has.

PostgreSQL refuses to run as root, so there it runs as nobody, in a folder that nobody can enter.
"""

import io
import os
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.testbed import run
from tests.testbed.maven import POSTGRESQL
from tests.testbed.ports import LOOPBACK, free_port
from tests.testbed.programs import Program

READY_SECONDS = 60
NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
USER = "penstock"
READY = "database system is ready to accept connections"


@contextmanager
def postgres() -> Iterator[str]:
    """Run a server while the block runs, and yield its JDBC URL."""
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory(prefix="penstock-postgres-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        _unpack(folder)
        data = folder / "data"
        data.mkdir()
        if root:
            os.chown(data, NOBODY, NOBODY)
        prefix = AS_NOBODY if root else []
        programs = folder / "bin"
        options = [f"--pgdata={data}", f"--username={USER}", "--auth=trust", "--encoding=UTF8", "--no-sync"]
        make = [*prefix, str(programs / "initdb"), *options]
        subprocess.run(make, check=True, capture_output=True, cwd=folder, env=os.environ | {"LC_ALL": "C"})
        port = free_port()
        serve = [str(programs / "postgres"), "-D", str(data), "-h", LOOPBACK, "-p", str(port), "-k", "", "-F"]
        program = Program("postgres", [*prefix, *serve], run.current().new_folder("postgres"))
        program.start()
        try:
            program.wait_ready(lambda: READY in program.log.read_text(), READY_SECONDS)
            yield f"jdbc:postgresql://{LOOPBACK}:{port}/postgres?user={USER}"
        finally:
            program.stop()


def _unpack(folder: Path) -> None:
    with zipfile.ZipFile(POSTGRESQL[os.uname().machine].path()) as jar:
        (name,) = [name for name in jar.namelist() if name.endswith(".txz")]
        with tarfile.open(fileobj=io.BytesIO(jar.read(name))) as archive:
            archive.extractall(folder, filter="data")
