"""What queue groups cost that have nothing to do: the operator's processor, and what it writes, in a minute of rest.

As many groups as there are, each with a stream, a consumer and a Deployment without pods; on a fresh API server and a
fresh NATS server. How soon a message is noticed meanwhile is measured, too: what costs nothing must not be blind.
"""

import asyncio
import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict

from bench.harness import report
from bench.harness.whole import measuring
from bench.reconciling.contender import NAMESPACE
from bench.reconciling.measuring import IDLE_SECONDS, Idle, rest
from bench.reconciling.penstock import CONNECTION, PENSTOCK
from bench.reconciling.place import Place, place
from penstock_jetstream import Connection, JetStream
from penstock_operator.constants import API_VERSION
from tests.testbed.waiting import eventually

GROUPS = 200
MILLICORES = 10
"""The target, as the design has it; and no write at all."""
NOTICED = 10
"""How many groups get a message, one after the other, to see how soon the number of workers follows."""
READY_SECONDS = 300


def main() -> None:
    with measuring(), place(PENSTOCK) as where:
        declare(where)
        report.progress(f"{GROUPS} queue groups are ready; a minute of rest …")
        idle = asyncio.run(rest(where))
        seconds = [asyncio.run(noticed(where, number)) for number in range(NOTICED)]
    print(as_table(idle, seconds))
    print(final_line(idle, seconds))


def declare(where: Place) -> None:
    """Declare all groups, and wait until each is ready."""
    objects = [each for number in range(GROUPS) for each in declared(f"g{number:03}")]
    code = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code"}, "data": {"etl.py": ""}}
    for at in range(0, len(objects), 100):
        items = [*objects[at : at + 100], code]
        manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        where.plane.kubectl("apply", f"--namespace={NAMESPACE}", "--filename=-", stdin=manifest)
    eventually(lambda: ready(where) == GROUPS, "all groups are ready", READY_SECONDS)


def declared(name: str) -> list[dict[str, object]]:
    handler = {"entrypoint": "etl:process", "configMapRef": {"name": "code"}}
    specs = {
        "Stream": {"connectionRef": {"name": CONNECTION}, "subjects": [f"{name}.>"]},
        "Consumer": {"streamRef": {"name": name}, "ackPolicy": "Explicit"},
        "QueueGroup": {"consumerRef": {"name": name}, "handler": handler},
    }
    return [
        {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}
        for kind, spec in specs.items()
    ]


def ready(where: Place) -> int:
    said = where.plane.kubectl("get", "queuegroups", f"--namespace={NAMESPACE}", "--output=json")
    conditions = [each.get("status", {}).get("conditions", []) for each in json.loads(said)["items"]]
    return sum(one["type"] == "Ready" and one["status"] == "True" for each in conditions for one in each)


async def noticed(where: Place, number: int) -> float:
    """Return how many seconds after a message its group is to have a worker."""
    name = f"g{number * (GROUPS // NOTICED):03}"
    async with Connection(where.nats.url) as connection:
        await JetStream(connection).publish(f"{name}.new", b"{}")
    began = time.monotonic()
    query = ("get", f"deployment/{name}", f"--namespace={NAMESPACE}", "--output=jsonpath={.spec.replicas}")
    while await asyncio.to_thread(where.plane.kubectl, *query) == "0":
        pass
    return time.monotonic() - began


def as_table(idle: Idle, seconds: Sequence[float]) -> str:
    rows = [
        ["processor", f"{millicores(idle):.1f} millicores", f"≤ {MILLICORES}"],
        ["writes to the API server", str(idle.api_server_writes), "0"],
        ["writes to JetStream", str(idle.jetstream_writes), "0"],
        ["questions to JetStream", str(idle.jetstream_reads), ""],
        ["memory", f"{idle.memory_mib:.0f} MiB", ""],
        ["a message is noticed after", f"{statistics.median(seconds):.1f} s (longest {max(seconds):.1f} s)", ""],
    ]
    return report.table([f"{GROUPS} idle queue groups", "in a minute", "target"], rows)


def millicores(idle: Idle) -> float:
    return idle.cpu_seconds / IDLE_SECONDS * 1000


def final_line(idle: Idle, seconds: Sequence[float]) -> str:
    figures = {
        "groups": GROUPS,
        "millicores": round(millicores(idle), 2),
        "idle_minute": {name: round(value, 2) for name, value in asdict(idle).items()},
        "noticed_seconds": {"median": round(statistics.median(seconds), 2), "longest": round(max(seconds), 2)},
    }
    return report.final_line("idle", ours=figures, peers={}, ratio={})


if __name__ == "__main__":
    main()
