"""Queue groups in a scene: declared, and the objects that the operator creates for them."""

from tests.operator.scene import Object, Scene
from tests.testbed.waiting import eventually

GROUP = "orders-etl"
"""The name of the group, and of all objects that are created for it."""


class GroupScene(Scene):
    def create_prerequisites(self) -> None:
        """Declare a Connection, a Stream, a Consumer, and a ConfigMap with code."""
        self.connect()
        self.declare_stream()
        self.declare_consumer()
        self.code("etl-code", "def process(df, batch): ...")
        self.wait_ready("consumer/etl")

    def code(self, name: str, text: str) -> None:
        manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"etl.py": text}}
        self.namespace.client.apply(manifest)

    def declare_group(self, called: str = GROUP, /, **spec: object) -> None:
        handler = {"entrypoint": "etl:process", "configMapRef": {"name": "etl-code"}}
        self.apply("QueueGroup", called, {"consumerRef": {"name": "etl"}, "handler": handler, **spec})

    def deployment(self) -> Object | None:
        return self.namespace.client.find(f"deployment/{GROUP}")

    def wait_deployment(self) -> Object:
        return eventually(self.deployment, f"Deployment {GROUP} exists")

    def replicas(self) -> int | None:
        found = self.deployment()
        return None if found is None else int(found["spec"]["replicas"])

    def wait_replicas(self, count: int) -> None:
        self.wait(lambda: self.replicas() == count, f"Deployment {GROUP} has {count} replicas")

    def template(self) -> Object:
        found = self.deployment()
        assert found is not None
        template: Object = found["spec"]["template"]
        return template

    def status(self) -> Object:
        status: Object = self.shown(f"queuegroup/{GROUP}").get("status", {})
        return status

    def wait_status(self, **fields: object) -> None:
        """Wait until the group's status has these values."""
        self.wait(lambda: fields.items() <= self.status().items(), f"the status of {GROUP} has {fields}")

    def scale(self, workers: int) -> None:
        """Scale the group as an autoscaler does."""
        self.namespace.client.scale(f"queuegroup/{GROUP}", workers)

    def publish_orders(self, count: int) -> None:
        self.publish("orders.new", *([b"{}"] * count))

    def is_settled(self) -> bool:
        """Tell whether the server has an answer for each message."""
        consumer = self.consumer() or {}
        return (consumer.get("num_pending"), consumer.get("num_ack_pending")) == (0, 0)

    def wait_settled(self) -> None:
        self.wait(self.is_settled, "all messages are settled")
