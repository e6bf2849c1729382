"""Where a contender runs: an API server and a NATS server of its own, both fresh, and the operator as a process.

Knows how these are started and ended, and how much memory and CPU the operator has taken. Does not know what is
declared there.
"""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psutil

from bench.reconciling import audit
from bench.reconciling.contender import NAMESPACE, Contender, Where
from tests.testbed import ports, run
from tests.testbed.kubernetes.control_plane import ControlPlane
from tests.testbed.kubernetes.identities import ADMINISTRATORS
from tests.testbed.nats.server import NatsServer
from tests.testbed.programs import Program

START_SECONDS = 60
MEBIBYTE = 2**20


class Place:
    """A contender at work."""

    def __init__(self, plane: ControlPlane, nats: NatsServer, operator: Program, written: audit.AuditLog) -> None:
        self.plane = plane
        self.nats = nats
        self.written = written
        self._operator = psutil.Process(operator.pid)

    def cpu_seconds(self) -> float:
        times = self._operator.cpu_times()
        return float(times.user + times.system)

    def memory_mib(self) -> float:
        return float(self._operator.memory_info().rss / MEBIBYTE)


@contextmanager
def place(contender: Contender) -> Iterator[Place]:
    """Run a contender on fresh servers while the block runs."""
    folder = run.current().new_folder("audit")
    plane = ControlPlane(*audit.flags(folder))
    plane.start()
    try:
        with fresh_nats() as nats:
            where = Where(nats_url=nats.url, probes_port=ports.free_port())
            prepare(plane, contender, where)
            operator = start(plane, contender, where)
            try:
                yield Place(plane, nats, operator, audit.AuditLog(folder))
            finally:
                operator.stop()
    finally:
        plane.stop()


@contextmanager
def fresh_nats() -> Iterator[NatsServer]:
    nats = NatsServer()
    nats.start()
    try:
        yield nats
    finally:
        nats.close()


def prepare(plane: ControlPlane, contender: Contender, where: Where) -> None:
    """Teach the API server the contender's kinds, and declare what comes before any stream."""
    plane.kubectl("apply", "--server-side", "--filename=-", stdin=contender.crds())
    plane.kubectl("wait", "--for=condition=Established", "crd", "--all", f"--timeout={START_SECONDS}s")
    plane.kubectl("create", "namespace", NAMESPACE)
    for manifest in contender.before(where):
        plane.kubectl("create", "--filename=-", stdin=json.dumps(manifest))


def start(plane: ControlPlane, contender: Contender, where: Where) -> Program:
    kubeconfig = plane.kubeconfig_for(audit.OPERATOR, [ADMINISTRATORS])
    folder = run.current().new_folder(contender.name)
    program = Program(contender.name, contender.command(where), folder, {"KUBECONFIG": str(kubeconfig)})
    program.start()
    program.wait_ready(lambda: says_ready(where.probes_port), START_SECONDS)
    return program


def says_ready(port: int) -> bool:
    with closing(http.client.HTTPConnection(ports.LOOPBACK, port, timeout=2)) as connection:
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.client.OK
        except OSError:
            return False
