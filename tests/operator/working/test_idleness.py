"""Nothing is written while nothing changes: neither to the API server, nor to NATS."""

import asyncio
import functools

from nats.aio.msg import Msg

from tests.operator.scene import Scene
from tests.testbed.nats.client import connection

PERIODS = 6


def versions(scene: Scene) -> dict[str, str]:
    """Return the version of each object in the namespace: any write, also of what is there already, raises one."""
    listed = scene.namespace.client.list("connections", "streams", "consumers", "events")
    return {one["metadata"]["uid"]: one["metadata"]["resourceVersion"] for one in listed}


async def test_objects_without_changes_cause_no_write(scene: Scene) -> None:
    for name in ("orders", "bills"):
        scene.declare_stream(name)
        scene.declare_consumer(f"{name}-etl", stream=name)
    for name in ("orders", "bills"):
        scene.wait_ready(f"stream/{name}", f"consumer/{name}-etl")
        scene.wait_event(f"stream/{name}", "Created")
        scene.wait_event(f"consumer/{name}-etl", "Created")
        scene.wait(functools.partial(shows_its_consumer, scene, name), f"{name} shows its consumer")
    before = versions(scene)
    changes: list[str] = []

    async def note(told: Msg) -> None:
        changes.append(told.subject)

    async with connection(**scene.server.connect_arguments()) as client:
        for kind in ("STREAM", "CONSUMER"):
            await client.subscribe(f"$JS.EVENT.ADVISORY.{kind}.>", cb=note)
        await client.flush()
        asked = scene.asked()
        await asyncio.to_thread(scene.wait, lambda: scene.asked() >= asked + PERIODS, "servers are read more often")
    assert versions(scene) == before
    assert changes == []


def shows_its_consumer(scene: Scene, stream: str) -> bool:
    return bool(scene.shown(f"stream/{stream}")["status"].get("consumers") == 1)
