"""`penstock operator` as a process of a test's own, and what its probes and its logs say."""

import contextlib
import http.client
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.testbed import ports, run
from tests.testbed.programs import Program
from tests.testbed.waiting import eventually

PENSTOCK = Path(sys.executable).parent / "penstock"
START_SECONDS = 90  # seconds of imports, and many more where ten processes want the same core
NOTICE_SECONDS = 90  # a period, a deadline, and a busy machine
PROBE_SECONDS = 5


class RunningOperator:
    """An operator that this process started."""

    def __init__(self, kubeconfig: Path, *arguments: str) -> None:
        self.port = ports.free_port()
        self.address = f"{ports.LOOPBACK}:{self.port}"
        folder = run.current().new_folder("operator")
        command: list[str | Path] = [PENSTOCK, "operator", "--probes", self.address, *arguments]
        self.program = Program("operator", command, folder, {"KUBECONFIG": str(kubeconfig)})

    def start(self) -> None:
        self.program.start()
        self.program.wait_ready(lambda: self.alive() is not None, START_SECONDS)

    def alive(self) -> tuple[int, str] | None:
        return self._probe("/healthz")

    def ready(self) -> tuple[int, str] | None:
        return self._probe("/readyz")

    def wait_ready(self) -> None:
        eventually(lambda: self._says(200, "Ready"), "the operator is ready", NOTICE_SECONDS)

    def wait_not_ready(self, sentence: str, seconds: float = NOTICE_SECONDS) -> None:
        """Wait until it is not ready for this reason; it must be alive nevertheless."""
        eventually(lambda: self._says(503, sentence), f"the operator is not ready: {sentence}", seconds)
        assert eventually(self.alive, "the operator says whether it is alive", NOTICE_SECONDS) == (200, "Alive.\n")

    def leads(self) -> bool:
        return self._says(200, "It leads.")

    def stands_by(self) -> bool:
        return self._says(200, "It stands by")

    def logged(self) -> list[dict[str, Any]]:
        """Return the lines of its log, but for one that it has not written to its end."""
        whole, _, _ = self.program.log.read_text().rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]

    def _says(self, code: int, sentence: str) -> bool:
        said = self.ready()
        return said is not None and said[0] == code and sentence in said[1]

    def _probe(self, path: str) -> tuple[int, str] | None:
        with contextlib.closing(
            http.client.HTTPConnection(ports.LOOPBACK, self.port, timeout=PROBE_SECONDS)
        ) as connection:
            try:
                connection.request("GET", path)
                response = connection.getresponse()
                return response.status, response.read().decode()
            except OSError:
                return None


@contextlib.contextmanager
def running_operator(kubeconfig: Path, *arguments: str) -> Iterator[RunningOperator]:
    operator = RunningOperator(kubeconfig, *arguments)
    operator.start()
    try:
        yield operator
    finally:
        operator.program.stop()
