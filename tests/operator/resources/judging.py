"""An API server and the models judge the same manifests."""

import contextlib
import functools
from collections.abc import Iterator, Mapping
from typing import Any

import pydantic
import pytest

from penstock_operator.constants import API_VERSION, GROUP, VERSION
from penstock_operator.resources import Kind, definition
from tests.testbed.kubernetes.client import Client, RefusedError

Json = dict[str, Any]
INVALID = {400, 422}
"""HTTP statuses."""


class Judge:
    """Asks an API server about the specs of objects. It keeps only what is created."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def kept(self, kind: Kind, spec: Json, name: str = "one") -> Json:
        """Return the spec that would be kept if the object were created."""
        return dict(self._client.create(manifest(kind, spec, name), dry_run=True)["spec"])

    def create(self, kind: Kind, spec: Json, name: str = "one") -> None:
        self._client.create(manifest(kind, spec, name))

    def kept_after_change(
        self, kind: Kind, spec: Json, name: str, annotations: Mapping[str, str] | None = None
    ) -> Json:
        """Return the spec that would be kept if it replaced that of an object that exists."""
        existing = self._client.get(f"{kind.resource}/{name}")
        changed = {**existing, "metadata": {**existing["metadata"], "annotations": annotations or {}}, "spec": spec}
        path = f"/apis/{GROUP}/{VERSION}/namespaces/{self._client.namespace}/{kind.plural}/{name}"
        query = {"fieldValidation": "Strict", "dryRun": "All"}
        return dict(self._client.request("PUT", path, changed, query=query)["spec"])

    def accepts(self, kind: Kind, spec: Json) -> None:
        """Assert that the API server and the model accept a spec, and agree about the defaults."""
        assert kind.spec.read(self.kept(kind, spec)) == kind.spec.read(spec)

    def refuses(self, kind: Kind, spec: Json, sentence: str = "") -> None:
        """Assert that the API server and the model refuse a spec, with this sentence."""
        with refusal(sentence):
            self.kept(kind, spec)
        with pytest.raises(pydantic.ValidationError) as refused:
            kind.spec.read(spec)
        assert sentence in str(refused.value)


@contextlib.contextmanager
def refusal(sentence: str = "") -> Iterator[None]:
    """Assert that the API server finds what the block asks for invalid, and says this sentence."""
    with pytest.raises(RefusedError) as refused:
        yield
    assert refused.value.status in INVALID
    assert sentence in str(refused.value)


def manifest(kind: Kind, spec: Json, name: str = "one") -> Json:
    return {"apiVersion": API_VERSION, "kind": kind.name, "metadata": {"name": name}, "spec": spec}


@functools.cache
def sentences(kind: Kind) -> frozenset[str]:
    """Return what the rules of the kind's spec say, wherever they stand."""
    schema = definition(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return frozenset(_messages(schema["properties"]["spec"]))


def sentence_that_begins(kind: Kind, beginning: str) -> str:
    """Return the one sentence of the kind's rules that begins so."""
    [sentence] = [sentence for sentence in sentences(kind) if sentence.startswith(beginning)]
    return sentence


def _messages(schema: Any) -> Iterator[str]:  # noqa: ANN401 - JSON is anything
    if isinstance(schema, list):
        for part in schema:
            yield from _messages(part)
    if isinstance(schema, dict):
        yield from (rule["message"] for rule in schema.get("x-kubernetes-validations", ()))
        for part in schema.values():
            yield from _messages(part)
