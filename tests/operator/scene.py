"""A namespace and a NATS server: what people declare, and what is on both, read without code of Penstock."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock_operator.constants import API_VERSION
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.client import connection
from tests.testbed.nats.server import NatsServer
from tests.testbed.waiting import eventually

SECONDS = 60  # what takes a tenth of a second takes longer on a busy machine
ABANDON = "penstock.dev/abandon"
BY_PASSWORD = {"userPasswordSecretRef": {"name": "login"}}
Object = dict[str, Any]


@dataclass
class Scene:
    namespace: Namespace
    server: NatsServer

    # What people declare.

    def apply(self, kind: str, name: str, spec: Mapping[str, Any], **metadata: object) -> Object:
        """Declare an object as `kubectl apply` does, and return it."""
        return self.namespace.client.apply(manifest(kind, name, spec, **metadata))

    def connect(self, name: str = "nats", /, **spec: object) -> None:
        self.apply("Connection", name, {"servers": [self.server.url], **spec})

    def connect_with_login(self, **spec: object) -> None:
        """Declare a Connection to a server that needs a password, and the Secret with the password."""
        self.create_login()
        self.connect(auth=BY_PASSWORD, **spec)

    def create_login(self) -> None:
        login = self.server.access.client.arguments
        self.secret("login", username=login["user"], password=login["password"])

    def declare_stream(
        self, called: str = "orders", /, metadata: Mapping[str, object] | None = None, **spec: object
    ) -> None:
        """Declare a Stream of subjects of its own."""
        given = {"connectionRef": {"name": "nats"}, "subjects": [f"{called}.>"], **spec}
        self.apply("Stream", called, given, **(metadata or {}))

    def declare_stream_and_wait(self, called: str = "orders", /, **spec: Any) -> None:  # noqa: ANN401 - as in manifests
        """Declare a Stream, and wait until the stream is on the server."""
        self.declare_stream(called, **spec)
        self.wait_ready(f"stream/{called}")

    def declare_consumer(self, called: str = "etl", /, stream: str = "orders", **spec: object) -> None:
        self.apply("Consumer", called, {"streamRef": {"name": stream}, **spec})

    def create_streams(self, count: int, **management: str) -> list[str]:
        """Declare as many Streams in memory at once, and return them as kind/name."""
        names = [f"s{number}" for number in range(count)]
        spec = {"connectionRef": {"name": "nats"}, "storage": "Memory", "management": management}
        self.namespace.client.create(*(manifest("Stream", name, {**spec, "subjects": [name]}) for name in names))
        return [f"stream/{name}" for name in names]

    def delete(self, what: str, *, wait: bool = True) -> None:
        if wait:
            self.namespace.client.delete(what)
        else:
            self.namespace.client.begin_deletion(what)

    def secret(self, name: str, **data: str) -> None:
        manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}
        self.namespace.client.apply(manifest)

    # What they see.

    def shown(self, what: str) -> Object:
        """Return an object, such as `stream/orders`."""
        return self.namespace.client.get(what)

    def exists(self, what: str) -> bool:
        return self.namespace.client.find(what) is not None

    def conditions(self, what: str) -> dict[str, Object]:
        """Return an object's conditions by type, if they speak of its present spec."""
        shown = self.shown(what)
        listed = shown.get("status", {}).get("conditions", [])
        current = [said for said in listed if said["observedGeneration"] == shown["metadata"]["generation"]]
        return {condition["type"]: condition for condition in current}

    def events(self, what: str) -> list[Object]:
        kind, name = what.split("/")
        listed = self.namespace.client.list("events")
        about = [event for event in listed if event["involvedObject"]["name"] == name]
        return [event for event in about if event["involvedObject"]["kind"].lower() == kind]

    def wait_ready(self, *what: str, seconds: float = SECONDS) -> None:
        for one in what:
            self.wait_condition(one, "Ready", "True", seconds=seconds)

    def wait_condition(
        self, what: str, type_: str, status: str, reason: str | None = None, seconds: float = SECONDS
    ) -> Object:
        """Wait until an object's condition says this of its present spec, and return the condition."""

        def find() -> Object | None:
            said = self.conditions(what).get(type_, {})
            return said if said.get("status") == status and reason in (None, said.get("reason")) else None

        try:
            return eventually(find, f"{what} is {type_}={status} {reason or ''}", seconds)
        except TimeoutError as late:
            late.add_note(f"{what} says: {self.shown(what).get('status')}")
            raise

    def wait_event(self, what: str, reason: str, seconds: float = SECONDS) -> Object:
        """Wait until there is an event with this reason about an object, and return the event."""

        def find() -> Object | None:
            return next((event for event in self.events(what) if event["reason"] == reason), None)

        return eventually(find, f"an event {reason} about {what}", seconds)

    def wait_gone(self, what: str, seconds: float = SECONDS) -> None:
        eventually(lambda: not self.exists(what), f"{what} is gone", seconds)

    def wait_names_abandon(self, what: str, seconds: float = SECONDS) -> None:
        """Wait until an object's message names the annotation that ends the wait for its server."""

        def is_named() -> bool:
            return ABANDON in self.conditions(what).get("Ready", {}).get("message", "")

        eventually(is_named, f"{what} names the annotation {ABANDON}", seconds)

    def abandon(self, what: str) -> None:
        self.namespace.client.annotate(what, {ABANDON: "true"})

    # What is on the server.

    def stream(self, name: str = "orders") -> Object | None:
        """Return what the server says of a stream: its configuration, its state, its consumers."""
        return next((stream for stream in self._streams("&consumers=true&config=true") if stream["name"] == name), None)

    def streams(self) -> list[str]:
        return [stream["name"] for stream in self._streams()]

    def _streams(self, more: str = "") -> list[Object]:
        accounts = self.server.monitored(f"jsz?streams=true{more}").get("account_details", [])
        return [stream for account in accounts for stream in account.get("stream_detail", [])]

    def ready(self, kind: str) -> int:
        """Return how many objects of a kind are ready."""
        listed = self.namespace.client.list(kind)
        conditions = [each.get("status", {}).get("conditions", []) for each in listed]
        return sum(said["type"] == "Ready" and said["status"] == "True" for each in conditions for said in each)

    def consumer(self, name: str = "etl", stream: str = "orders") -> Object | None:
        held = self.stream(stream) or {}
        return next((one for one in held.get("consumer_detail", []) if one["name"] == name), None)

    def config(self, stream: str = "orders") -> Object:
        held = self.stream(stream)
        assert held, f"there is no stream {stream}"
        config: Object = held["config"]
        return config

    def ask(self, subject: str, **request: object) -> Object:
        """Send a request to the server's JetStream API: STREAM.UPDATE.orders."""
        return asyncio.run(self._ask(f"$JS.API.{subject}", json.dumps(request).encode() if request else b""))

    def publish(self, subject: str, *payloads: bytes) -> None:
        for payload in payloads:
            asyncio.run(self._ask(subject, payload))

    async def _ask(self, subject: str, payload: bytes) -> Object:
        async with connection(**self.server.connect_arguments()) as client:
            answer: Object = json.loads((await client.request(subject, payload, timeout=SECONDS)).data)
        assert "error" not in answer, answer
        return answer

    def asked(self) -> int:
        """Return how many JetStream API requests the server has received so far."""
        total: int = self.server.monitored("jsz")["api"]["total"]
        return total

    def wait(self, condition: Callable[[], object], what: str, seconds: float = SECONDS) -> None:
        eventually(condition, what, seconds)


def manifest(kind: str, name: str, spec: Mapping[str, Any], **metadata: object) -> Object:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}
