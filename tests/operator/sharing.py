"""Operators that tests share: each serves several namespaces, and each test takes one that no test has used."""

import contextlib
import uuid

from tests.operator.running import RunningOperator
from tests.testbed.kubernetes.access import Access, Namespace
from tests.testbed.kubernetes.client import RefusedError

NAMESPACES = 8
"""Served by one operator: enough to save most starts, and few enough watches for a quick start."""
PERIOD_SECONDS = 0.5  # what takes a period is not what these tests are about; it is as short as is fair to the machine
WORKER_IMAGE = "example/worker:1"
DECLARED = ("queuegroups", "consumers", "streams", "connections")


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
    """Delete what a test declared, whatever waits for it: the operator has nothing left to do there."""
    namespace.client.begin_deletion_of_all(*DECLARED)
    for left in namespace.client.list(*DECLARED):
        what = f"{left['kind']}/{left['metadata']['name']}"
        with contextlib.suppress(RefusedError):  # it is gone
            namespace.client.patch(what, {"metadata": {"finalizers": None}})
