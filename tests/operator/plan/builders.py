"""Declared objects and what a server has, in the words of the tests that are about them."""

from collections.abc import Mapping
from typing import Any, TypedDict

from typing_extensions import Unpack

from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.surroundings import Present
from penstock_operator.resources.management import FINALIZER
from penstock_operator.resources.translation import consumer_config, stream_config

CREATED = "2026-11-18T12:00:00Z"
NATS: dict[str, Any] = {"connectionRef": {"name": "nats"}}
LEADS_NOWHERE: dict[str, Any] = {"servers": ["nats://nats.nats:4222"]}


class About(TypedDict, total=False):
    """What is true of an object besides its spec."""

    name: str
    namespace: str
    generation: int
    synced: int
    annotations: Mapping[str, str] | None
    finalizer: bool
    deleting: bool
    created: str
    status: Mapping[str, Any] | None


def declared(kind: str, default_name: str, spec: Mapping[str, Any], **about: Unpack[About]) -> Declared:
    """Return an object as the API server would show it; `synced` is the generation that was last in sync."""
    metadata: dict[str, Any] = {
        "name": about.get("name", default_name),
        "namespace": about.get("namespace", "shop"),
        "generation": about.get("generation", 1),
        "creationTimestamp": about.get("created", CREATED),
        "annotations": about.get("annotations") or {},
        "finalizers": [FINALIZER] if about.get("finalizer") else [],
        "deletionTimestamp": CREATED if about.get("deleting") else None,
    }
    status = about.get("status") or ({"syncedGeneration": about["synced"]} if about.get("synced") else {})
    return Declared.read({"kind": kind, "metadata": metadata, "spec": spec, "status": status})


def stream(
    management: Mapping[str, Any] | None = None, spec: Mapping[str, Any] | None = None, **about: Unpack[About]
) -> Declared:
    """Return the Stream shop/orders, which declares the stream ORDERS."""
    whole = {**NATS, "name": "ORDERS", "subjects": ["orders.>"], **(spec or {}), "management": management or {}}
    return declared("Stream", "orders", whole, **about)


def consumer(
    management: Mapping[str, Any] | None = None, spec: Mapping[str, Any] | None = None, **about: Unpack[About]
) -> Declared:
    """Return the Consumer shop/etl, which declares a consumer of that stream."""
    whole = {"streamRef": {"name": "orders"}, **(spec or {}), "management": management or {}}
    return declared("Consumer", "etl", whole, **about)


def connection(spec: Mapping[str, Any] | None = None, **about: Any) -> Declared:  # noqa: ANN401
    """Return the Connection shop/nats."""
    return declared("Connection", "nats", {**LEADS_NOWHERE, **(spec or {})}, **about)


def wanted(declared: Declared) -> dict[str, Any]:
    """Return the configuration that an object wants."""
    spec: Any = declared.spec
    to_config = stream_config if declared.identity.kind == "Stream" else consumer_config
    return to_config(spec, declared.identity.name)


def present(declared: Declared, facts: Mapping[str, Any] | None = None, **changed: object) -> Present:
    """Return what the server has when it has what an object wants, but for what was changed."""
    return Present({**wanted(declared), **changed}, facts or {})


OLDER = Identity("Stream", "other", "older")
YOUNGER = Identity("Stream", "other", "younger")
