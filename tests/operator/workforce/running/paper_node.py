"""Scheduler and kubelet of one namespace without containers: each pod is a real engine with a scripted driver.

Settings of a pod are used as they are, except for paths and ports, of which this machine has one each.
"""

import contextlib
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
from kubernetes.client.exceptions import NotFoundException

from penstock_operator.plan.workload.naming import GROUP_LABEL, SETTINGS_ANNOTATION
from tests.operator.running import probe
from tests.testbed import ports, run
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.programs import Program
from tests.worker.scripted_driver import Process, Script, ScriptedDriver, ok

LOOK_SECONDS = 0.1
PATIENCE_SECONDS = 120.0
NODE = "paper"


@dataclass
class Worker:
    """The processes of one pod."""

    name: str
    engine: Program
    driver: ScriptedDriver
    script: Script
    probes: int
    standing: bool | None = False
    """The readiness that the pod's status has; None if the status says that the engine has ended."""
    is_ending: bool = False
    """Whether its engine was told to end."""

    def asks_ready(self) -> bool:
        answer = probe(self.probes, "/readyz")
        return answer is not None and answer[0] == 200


@dataclass
class PaperNode:
    """Runs pods while the block runs."""

    namespace: Namespace
    process: Process = ok
    """What drivers that start from now on do."""
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
        self._api.api_client.rest_client.pool_manager.clear()
        if self._fault:
            raise self._fault[0]

    def _play(self) -> None:
        try:
            while not self._is_closed.wait(LOOK_SECONDS):
                with contextlib.suppress(urllib3.exceptions.HTTPError):  # the API server is away; pods run on
                    for pod in self._api.list_namespaced_pod(self.namespace.name, label_selector=GROUP_LABEL).items:
                        self._see_to(pod)
        except BaseException as fault:  # noqa: BLE001 - told at the end
            self._fault.append(fault)

    def _see_to(self, pod: Any) -> None:  # noqa: ANN401 - the client's
        name = pod.metadata.name
        if pod.metadata.deletion_timestamp:
            self._end(pod)
            return
        if pod.spec.node_name is None:
            target = client.V1ObjectReference(kind="Node", name=NODE)
            body = client.V1Binding(metadata=client.V1ObjectMeta(name=name), target=target)
            try:
                answer: Any = self._api.create_namespaced_binding(self.namespace.name, body, _preload_content=False)
            except NotFoundException:
                return  # deleted since it was listed
            answer.drain_conn()
        if name not in self.workers:
            self.workers[name] = self._begin(name, json.loads(pod.metadata.annotations[SETTINGS_ANNOTATION]))
        worker = self.workers[name]
        standing = worker.asks_ready() if worker.engine.is_running else None
        if standing != worker.standing or standing is None:
            worker.standing = standing
            status = _ended(worker) if standing is None else _status(is_ready=standing)
            with contextlib.suppress(NotFoundException):  # deleted since it was listed
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
        with contextlib.suppress(NotFoundException):
            self._api.delete_namespaced_pod(name, self.namespace.name, body=now)


def _ended(worker: Worker) -> dict[str, Any]:
    """Return the status of a pod whose engine has ended and waits for its next start."""
    now, code = datetime.now(UTC).isoformat(), worker.engine.wait_ended(PATIENCE_SECONDS)
    message = worker.engine.log_tail(20)
    terminated = {"exitCode": code, "reason": "Error", "message": message, "startedAt": now, "finishedAt": now}
    waiting = {"reason": "CrashLoopBackOff", "message": "back-off 10s restarting failed container"}
    states = {"state": {"waiting": waiting}, "lastState": {"terminated": terminated}}
    status = _status(is_ready=False)
    [engine] = status["initContainerStatuses"]
    return {**status, "initContainerStatuses": [{**engine, "started": False, "restartCount": 1, **states}]}


def _status(*, is_ready: bool) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat()
    conditions = {"PodScheduled": True, "Initialized": True, "ContainersReady": is_ready, "Ready": is_ready}
    state = {"running": {"startedAt": now}}
    container = {"image": "paper", "imageID": "paper", "restartCount": 0, "started": True, "state": state}
    return {
        "phase": "Running",
        "startTime": now,
        "conditions": [
            {"type": kind, "status": str(holds), "lastTransitionTime": now} for kind, holds in conditions.items()
        ],
        "initContainerStatuses": [{**container, "name": "engine", "ready": is_ready}],
        "containerStatuses": [{**container, "name": "driver", "ready": True}],
    }
