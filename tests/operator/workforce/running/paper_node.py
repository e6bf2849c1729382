"""A node without containers: for each pod of a worker, a real engine beside a driver that does what the test says.

Plays scheduler and kubelet of one namespace: binds pods, starts and ends their engines, says in their status how they
stand. What the pods are told is taken from them as it is, but for paths and ports, of which this machine has one each.
Which pods there are, and which go first, is decided by real controllers. Knows the pods API.
"""

import contextlib
import http.client
import json
import signal
import sys
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Self

import urllib3
from kubernetes import client, config

from penstock_operator.plan.workload.naming import GROUP_LABEL, SETTINGS_ANNOTATION
from penstock_worker.policy.outcome import Outcome, Verdict
from tests.testbed import ports, run
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.programs import Program
from tests.worker.scripted_driver import Process, Script, ScriptedDriver, ok

LOOK_SECONDS = 0.1
PATIENCE_SECONDS = 120.0
NODE = "paper"
CONFLICT, NOT_FOUND = 409, 404


@dataclass
class Worker:
    """What runs for one pod."""

    name: str
    engine: Program
    driver: ScriptedDriver
    script: Script
    probes: int
    standing: bool | None = False
    """Whether it was said to be ready; None: that its engine has ended."""
    is_ending: bool = False
    """Whether its engine was told to end."""

    def asks_ready(self) -> bool:
        connection = http.client.HTTPConnection(ports.LOOPBACK, self.probes, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()


@dataclass
class PaperNode:
    """Runs pods while the block runs."""

    namespace: Namespace
    process: Process = ok
    """What the driver of a pod does that starts from now on."""
    workers: dict[str, Worker] = field(default_factory=dict)
    _is_closed: threading.Event = field(default_factory=threading.Event)
    _fault: list[BaseException] = field(default_factory=list)

    def __enter__(self) -> Self:
        access = config.new_client_from_config(str(self.namespace.kubeconfig))  # type: ignore[no-untyped-call]
        self._api = client.CoreV1Api(access)
        self._thread = threading.Thread(target=self._play, name="paper-node", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_closed.set()
        self._thread.join()
        for worker in list(self.workers.values()):
            worker.engine.kill()
            worker.driver.shutdown()
        if self._fault:
            raise self._fault[0]

    def _play(self) -> None:
        try:
            while not self._is_closed.wait(LOOK_SECONDS):
                with contextlib.suppress(urllib3.exceptions.HTTPError):  # the API server is away; pods run on
                    self._look()
        except BaseException as fault:  # noqa: BLE001 - told at the end
            self._fault.append(fault)

    def _look(self) -> None:
        for pod in self._api.list_namespaced_pod(self.namespace.name, label_selector=GROUP_LABEL).items:
            self._see_to(pod)

    def _see_to(self, pod: Any) -> None:  # noqa: ANN401 - the client's
        name = pod.metadata.name
        if pod.metadata.deletion_timestamp:
            self._end(pod)
            return
        if pod.spec.node_name is None:
            target = client.V1ObjectReference(kind="Node", name=NODE)
            body = client.V1Binding(metadata=client.V1ObjectMeta(name=name), target=target)
            self._api.create_namespaced_binding(self.namespace.name, body, _preload_content=False)
        if name not in self.workers:
            self.workers[name] = self._begin(name, json.loads(pod.metadata.annotations[SETTINGS_ANNOTATION]))
        worker = self.workers[name]
        standing = worker.asks_ready() if worker.engine.is_running else None
        if standing != worker.standing or standing is None:
            worker.standing = standing
            status = _ended(worker) if standing is None else _status(is_ready=standing)
            self._api.patch_namespaced_pod_status(name, self.namespace.name, {"status": status})

    def _begin(self, name: str, told: dict[str, Any]) -> Worker:
        folder = Path(mkdtemp(prefix="penstock-", dir="/tmp"))
        probes, script = ports.free_port(), Script(process=self.process)
        told["socket"] = str(folder / "driver.sock")
        told["engine"]["probes"] = f"{ports.LOOPBACK}:{probes}"
        (folder / "settings.json").write_text(json.dumps(told))
        program: list[str | Path] = [sys.executable, "-m", "penstock_worker.engine"]
        arguments: list[str | Path] = ["--settings", folder / "settings.json", "--worker", name]
        engine = Program(name, [*program, *arguments], run.current().new_folder("pod"))
        driver = ScriptedDriver(Path(told["socket"]), script)
        engine.start()
        return Worker(name, engine, driver, script, probes)

    def _end(self, pod: Any) -> None:  # noqa: ANN401 - the client's
        """Have a pod's engine end, and once it has, remove the pod; kill the engine when the pod's grace is over."""
        name = pod.metadata.name
        worker = self.workers.get(name)
        if worker is not None:
            if worker.engine.is_running and not worker.is_ending:
                worker.is_ending = True
                worker.engine.send(signal.SIGTERM)
            if worker.engine.is_running and datetime.now(UTC) < pod.metadata.deletion_timestamp:
                return
            worker.engine.kill()
            worker.driver.shutdown()
            ports.release(worker.probes)
            del self.workers[name]
        now = client.V1DeleteOptions(grace_period_seconds=0)
        try:
            self._api.delete_namespaced_pod(name, self.namespace.name, body=now)
        except client.ApiException as refusal:
            if refusal.status != NOT_FOUND:
                raise


class Gate:
    """Batches that begin while it is shut go on until it is opened."""

    def __init__(self) -> None:
        self._is_open = threading.Event()
        self._is_open.set()

    def shut(self) -> None:
        self._is_open.clear()

    def open(self) -> None:
        self._is_open.set()

    def process(self, *_: object) -> Outcome:
        self._is_open.wait(PATIENCE_SECONDS)
        return Outcome(Verdict.OK, 0.1)


def _ended(worker: Worker) -> dict[str, Any]:
    """Say what a kubelet says of a sidecar that ended, until it starts it again, which takes longer each time."""
    lines = worker.engine.log.read_text().splitlines()
    now, code = datetime.now(UTC).isoformat(), worker.engine.wait_ended(PATIENCE_SECONDS)
    ended = {
        "exitCode": code,
        "reason": "Error",
        "message": "\n".join(lines[-20:]),
        "startedAt": now,
        "finishedAt": now,
    }
    status = _status(is_ready=False)
    [engine] = status["initContainerStatuses"]
    waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s restarting failed container"}}
    status["initContainerStatuses"] = [
        {**engine, "started": False, "restartCount": 1, "state": waiting, "lastState": {"terminated": ended}}
    ]
    return status


def _status(*, is_ready: bool) -> dict[str, Any]:
    now, ready = datetime.now(UTC).isoformat(), "True" if is_ready else "False"
    running = {"running": {"startedAt": now}}

    def container(name: str, *, container_ready: bool) -> dict[str, Any]:
        named = {"name": name, "image": "paper", "imageID": "paper", "restartCount": 0}
        return {**named, "ready": container_ready, "started": True, "state": running}

    kinds = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    said = {"ContainersReady": ready, "Ready": ready}
    return {
        "phase": "Running",
        "startTime": now,
        "conditions": [{"type": kind, "status": said.get(kind, "True"), "lastTransitionTime": now} for kind in kinds],
        "initContainerStatuses": [container("engine", container_ready=is_ready)],
        "containerStatuses": [container("driver", container_ready=True)],
    }
