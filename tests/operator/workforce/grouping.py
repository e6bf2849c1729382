"""Queue groups in a scene: declared, and what the API server has for them."""

from collections.abc import Mapping
from typing import Any

from tests.operator.scene import Object, Scene
from tests.testbed.waiting import eventually

GROUP = "orders-etl"
"""The name of the group, and of all that is made for it."""


class GroupScene(Scene):
    def code(self, name: str, text: str) -> None:
        """Create or replace a ConfigMap with code."""
        manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"etl.py": text}}
        self.namespace.client.apply(manifest)

    def declare_group(self, called: str = GROUP, /, **spec: object) -> None:
        handler = {"entrypoint": "etl:process", "configMapRef": {"name": "etl-code"}}
        self.apply("QueueGroup", called, {"consumerRef": {"name": "etl"}, "handler": handler, **spec})

    def deployment(self, name: str = GROUP) -> Object | None:
        return self.namespace.client.find(f"deployment/{name}")

    def wait_deployment(self, name: str = GROUP) -> Object:
        return eventually(lambda: self.deployment(name), f"there is a Deployment {name}")

    def replicas(self, name: str = GROUP) -> int | None:
        found = self.deployment(name)
        return None if found is None else int(found["spec"]["replicas"])

    def wait_replicas(self, count: int, name: str = GROUP) -> None:
        self.wait(lambda: self.replicas(name) == count, f"{name} is to have {count} workers, not {self.replicas(name)}")

    def template(self, name: str = GROUP) -> Mapping[str, Any]:
        found = self.deployment(name)
        assert found is not None
        template: Mapping[str, Any] = found["spec"]["template"]
        return template

    def status(self, name: str = GROUP) -> Object:
        status: Object = self.shown(f"queuegroup/{name}").get("status", {})
        return status

    def publish_orders(self, count: int) -> None:
        self.publish("orders.new", *([b"{}"] * count))
