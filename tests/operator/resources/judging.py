"""How tests have a manifest judged: by a real API server, and by the models.

Knows kubectl, and where rules stand in a schema. Does not know any kind.
"""

import json
from collections.abc import Iterator
from typing import Any

import pydantic
import pytest

from penstock_operator.constants import API_VERSION
from penstock_operator.resources import Kind, definition
from tests.testbed.kubernetes.access import KubectlError, Namespace

Spec = dict[str, Any]


def manifest(kind: Kind, spec: Spec, name: str = "one") -> str:
    return json.dumps({"apiVersion": API_VERSION, "kind": kind.name, "metadata": {"name": name}, "spec": spec})


def dry_run(namespace: Namespace, kind: Kind, spec: Spec) -> dict[str, Any]:
    """Have the API server judge a spec, and return what it would have kept."""
    kept: dict[str, Any] = json.loads(
        namespace.kubectl(
            "create",
            "--dry-run=server",
            "--validate=strict",
            "--output=json",
            "--filename=-",
            stdin=manifest(kind, spec),
        )
    )
    return kept


def assert_accepted(namespace: Namespace, kind: Kind, spec: Spec) -> None:
    """The API server and the model accept it, and agree about what was left out."""
    kept = dry_run(namespace, kind, spec)["spec"]
    assert kind.spec.read(kept) == kind.spec.read(spec)


def assert_refused(namespace: Namespace, kind: Kind, spec: Spec, sentence: str = "") -> None:
    """The API server and the model refuse it, with this sentence."""
    with pytest.raises(KubectlError) as refused:
        dry_run(namespace, kind, spec)
    assert sentence in str(refused.value)
    with pytest.raises(pydantic.ValidationError) as refused_here:
        kind.spec.read(spec)
    assert sentence in str(refused_here.value)


def sentences(kind: Kind) -> set[str]:
    """Return what the rules of the kind's spec say, wherever they stand."""
    schema = definition(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return set(_messages(schema["properties"]["spec"]))


def _messages(schema: Any) -> Iterator[str]:  # noqa: ANN401 - JSON is anything
    if isinstance(schema, list):
        for part in schema:
            yield from _messages(part)
    if isinstance(schema, dict):
        yield from (rule["message"] for rule in schema.get("x-kubernetes-validations", ()))
        for part in schema.values():
            yield from _messages(part)
