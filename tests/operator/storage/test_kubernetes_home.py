"""The Kubernetes home against a real API server: what it writes, and what it leaves alone."""

import base64
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from kubernetes.aio.client import ApiClient

from penstock_operator.constants import API_VERSION
from penstock_operator.plan.decision import Note
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.reasons import Reason
from penstock_operator.storage.access import find_access
from penstock_operator.storage.errors import HomeError, NoAnswerError, ObjectChangedError, RefusedError
from penstock_operator.storage.kubernetes_home import KubernetesHome
from tests.testbed.kubernetes.access import Namespace

CREATED = Note(Reason.CREATED, "The stream ORDERS was created.")


@pytest.fixture
async def home(penstock_namespace: Namespace, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[KubernetesHome]:
    monkeypatch.setenv("KUBECONFIG", str(penstock_namespace.kubeconfig))
    async with ApiClient(await find_access()) as client:
        yield KubernetesHome(client)


@pytest.fixture
def nats(penstock_namespace: Namespace) -> Declared:
    """A Connection, as it was read just now."""
    return create(penstock_namespace)


def create(namespace: Namespace) -> Declared:
    manifest = {
        "apiVersion": API_VERSION,
        "kind": "Connection",
        "metadata": {"name": "nats"},
        "spec": {"servers": ["nats://nats.nats"]},
    }
    created = json.loads(namespace.kubectl("create", "-f-", "-ojson", stdin=json.dumps(manifest)))
    return as_read(created)


def as_read(manifest: Mapping[str, Any]) -> Declared:
    metadata = manifest["metadata"]
    return Declared(
        identity=Identity(manifest["kind"], metadata["namespace"], metadata["name"]),
        uid=metadata["uid"],
        generation=metadata["generation"],
        created_at=datetime.now(UTC),
        spec=None,
        annotations={},
        finalizers=tuple(metadata.get("finalizers", ())),
        status=manifest.get("status", {}),
    )


def shown(namespace: Namespace) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(namespace.kubectl("get", "connection/nats", "-ojson"))
    return document


def events(namespace: Namespace) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(namespace.kubectl("get", "events", "-ojson"))["items"]
    return listed


async def test_a_status_takes_the_place_of_the_one_before(
    home: KubernetesHome, nats: Declared, penstock_namespace: Namespace
) -> None:
    await home.write_status(nats, {"observedGeneration": 1, "conditions": []})
    await home.write_status(nats, {"conditions": []})
    assert shown(penstock_namespace)["status"] == {"conditions": []}


async def test_a_status_never_reaches_an_object_that_only_inherited_the_name(
    home: KubernetesHome, nats: Declared, penstock_namespace: Namespace
) -> None:
    penstock_namespace.kubectl("delete", "connection/nats")
    create(penstock_namespace)
    with pytest.raises(ObjectChangedError):
        await home.write_status(nats, {"observedGeneration": 1})
    assert "status" not in shown(penstock_namespace)


async def test_a_status_of_an_object_that_is_gone_is_told_as_such(
    home: KubernetesHome, nats: Declared, penstock_namespace: Namespace
) -> None:
    penstock_namespace.kubectl("delete", "connection/nats")
    with pytest.raises(ObjectChangedError, match="is not what it was"):
        await home.write_status(nats, {"observedGeneration": 1})


async def test_a_status_that_the_schema_refuses_is_a_refusal_and_not_a_change(
    home: KubernetesHome, nats: Declared
) -> None:
    with pytest.raises(RefusedError, match="must be of type integer") as refused:
        await home.write_status(nats, {"observedGeneration": "one"})
    assert refused.value.causes


async def test_finalizers_are_written_and_taken_away(
    home: KubernetesHome, nats: Declared, penstock_namespace: Namespace
) -> None:
    await home.write_finalizers(nats, ["penstock.dev/server-object"])
    assert shown(penstock_namespace)["metadata"]["finalizers"] == ["penstock.dev/server-object"]
    await home.write_finalizers(replace(nats, finalizers=("penstock.dev/server-object",)), [])
    assert "finalizers" not in shown(penstock_namespace)["metadata"]


async def test_a_finalizer_that_somebody_else_has_put_there_meanwhile_stays(
    home: KubernetesHome, nats: Declared, penstock_namespace: Namespace
) -> None:
    patch = json.dumps({"metadata": {"finalizers": ["example.com/theirs"]}})
    penstock_namespace.kubectl("patch", "connection/nats", "--type=merge", f"--patch={patch}")
    with pytest.raises(ObjectChangedError):
        await home.write_finalizers(nats, ["penstock.dev/server-object"])
    assert shown(penstock_namespace)["metadata"]["finalizers"] == ["example.com/theirs"]


async def test_an_event_tells_of_its_object(
    home: KubernetesHome, nats: Declared, penstock_namespace: Namespace
) -> None:
    await home.tell(nats, CREATED)
    description = penstock_namespace.kubectl("describe", "connection/nats")
    assert "Created" in description
    assert "The stream ORDERS was created." in description


async def test_a_repeated_event_is_one_event_with_a_count(
    home: KubernetesHome, nats: Declared, penstock_namespace: Namespace
) -> None:
    await home.tell(nats, CREATED)
    await home.tell(nats, CREATED)
    await home.tell(nats, Note(Reason.DRIFTED, "maxAge is 1h, and not 2h.", is_warning=True))
    counts = {(event["type"], event["reason"]): event["count"] for event in events(penstock_namespace)}
    assert counts == {("Normal", "Created"): 2, ("Warning", "Drifted"): 1}


async def test_an_event_that_an_earlier_life_of_the_operator_told_is_counted_on(
    home: KubernetesHome, nats: Declared, penstock_namespace: Namespace
) -> None:
    for _ in range(2):
        await home.tell(nats, CREATED)
    async with ApiClient(await find_access()) as client:
        await KubernetesHome(client).tell(nats, CREATED)
    assert [event["count"] for event in events(penstock_namespace)] == [3]


async def test_an_event_that_the_api_server_has_forgotten_is_told_anew(
    home: KubernetesHome, nats: Declared, penstock_namespace: Namespace
) -> None:
    await home.tell(nats, CREATED)
    penstock_namespace.kubectl("delete", "events", "--all")
    await home.tell(nats, CREATED)
    assert [event["count"] for event in events(penstock_namespace)] == [1]


async def test_a_message_longer_than_an_event_may_be_is_cut(
    home: KubernetesHome, nats: Declared, penstock_namespace: Namespace
) -> None:
    await home.tell(nats, Note(Reason.DRIFTED, "long " * 1000))
    assert [len(event["message"]) for event in events(penstock_namespace)] == [1024]


async def test_a_secret_is_read_as_bytes_and_one_that_is_not_there_is_none(
    home: KubernetesHome, penstock_namespace: Namespace
) -> None:
    data = {"user": base64.b64encode(b"\x00ann").decode()}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, "data": data}
    penstock_namespace.kubectl("create", "-f-", stdin=json.dumps(secret))
    assert await home.secret(penstock_namespace.name, "login") == {"user": b"\x00ann"}
    assert await home.secret(penstock_namespace.name, "other") is None


async def test_labels_of_a_namespace_are_read(home: KubernetesHome, penstock_namespace: Namespace) -> None:
    penstock_namespace.kubectl("label", "namespace", penstock_namespace.name, "team=sales")
    labels = await home.namespace_labels(penstock_namespace.name)
    assert labels["team"] == "sales"
    assert await home.namespace_labels("no-such-namespace") == {}


async def test_what_the_operator_may_not_do_is_said_with_the_request(
    penstock_namespace: Namespace, nats: Declared, monkeypatch: pytest.MonkeyPatch
) -> None:
    penstock_namespace.kubectl("create", "serviceaccount", "operator")
    monkeypatch.setenv("KUBECONFIG", str(penstock_namespace.kubeconfig_for_service_account("operator")))
    async with ApiClient(await find_access()) as client:
        with pytest.raises(
            HomeError, match=r"The API server does not allow PATCH .*/connections/nats/status, as no role"
        ):
            await KubernetesHome(client).write_status(nats, {})


async def test_an_api_server_that_cannot_be_reached_is_said_so(
    nats: Declared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = {"name": "gone", "cluster": {"server": "https://127.0.0.1:1"}}
    context = {"name": "gone", "context": {"cluster": "gone", "user": "gone"}}
    document = {"clusters": [cluster], "contexts": [context], "users": [{"name": "gone", "user": {}}]}
    (tmp_path / "kubeconfig").write_text(json.dumps({**document, "current-context": "gone"}))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    async with ApiClient(await find_access()) as client:
        with pytest.raises(NoAnswerError, match="The API server cannot be reached"):
            await KubernetesHome(client).write_status(nats, {})
