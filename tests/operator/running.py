"""`penstock operator` as a process: one of a test's own, or one that tests share, each with a namespace of its own."""

import contextlib
import http.client
import json
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.testbed import ports, run
from tests.testbed.kubernetes.access import Access, Namespace
from tests.testbed.kubernetes.client import RefusedError
from tests.testbed.programs import Program
from tests.testbed.waiting import eventually

PENSTOCK = Path(sys.executable).parent / "penstock"
START_SECONDS = 90  # seconds of imports, and many more where ten processes want the same core
NOTICE_SECONDS = 90  # a period, a deadline, and a busy machine
PROBE_SECONDS = 5
NAMESPACES = 8
"""Served by one shared operator: enough to save most starts, and few enough watches for a quick start."""
PERIOD_SECONDS = 0.5  # tests that share an operator are not about periods: as short as the machine allows
WORKER_IMAGE = "example/worker:1"
DECLARED = ("queuegroups", "consumers", "streams", "connections")


def probe(port: int, path: str) -> tuple[int, str] | None:
    """Return the status and the text that a program on this machine answers; None if it doesn't answer."""
    with contextlib.closing(http.client.HTTPConnection(ports.LOOPBACK, port, timeout=PROBE_SECONDS)) as connection:
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except OSError:
            return None


class RunningOperator:
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
        return probe(self.port, "/healthz")

    def ready(self) -> tuple[int, str] | None:
        return probe(self.port, "/readyz")

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


@contextlib.contextmanager
def running_operator(kubeconfig: Path, *arguments: str) -> Iterator[RunningOperator]:
    operator = RunningOperator(kubeconfig, *arguments)
    operator.start()
    try:
        yield operator
    finally:
        operator.program.stop()


class SharedOperators:
    """Starts an operator for new namespaces when those of the last one are used up, or when it has ended.

    A test may kill the operator if it starts it again.
    """

    def __init__(self, plane: Access) -> None:
        self._plane = plane
        self._free: list[Namespace] = []
        self._current: RunningOperator | None = None

    def take(self, count: int = 1) -> tuple[RunningOperator, list[Namespace]]:
        """Return an operator that is ready, and some of its namespaces."""
        operator = self._current
        if operator is None or not operator.program.is_running or len(self._free) < count:
            operator = self._start()
        operator.wait_ready()
        taken = [self._free.pop() for _ in range(count)]
        return operator, taken

    def _start(self) -> RunningOperator:
        self.close()
        self._free = [Namespace.create(self._plane, f"served-{uuid.uuid4().hex[:8]}") for _ in range(NAMESPACES)]
        served = [f"--namespace={namespace.name}" for namespace in self._free]
        options = (f"--period={PERIOD_SECONDS}", f"--worker-image={WORKER_IMAGE}")
        self._current = RunningOperator(self._plane.kubeconfig, *served, *options)
        self._current.start()
        return self._current

    def close(self) -> None:
        if self._current is not None:
            self._current.program.stop()


def clear(namespace: Namespace) -> None:
    """Delete all objects that a test declared, without their finalizers, so that the operator is idle there."""
    namespace.client.begin_deletion_of_all(*DECLARED)
    for left in namespace.client.list(*DECLARED):
        what = f"{left['kind']}/{left['metadata']['name']}"
        with contextlib.suppress(RefusedError):  # it is gone
            namespace.client.patch(what, {"metadata": {"finalizers": None}})
