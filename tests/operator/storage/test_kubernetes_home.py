"""The Kubernetes home against a real API server: what it writes, and what it leaves alone."""

import base64
from dataclasses import replace
from pathlib import Path

import pytest
from kubernetes.aio.client import ApiClient

from penstock_operator.plan.decision import Note
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.reasons import Reason
from penstock_operator.resources import KINDS
from penstock_operator.storage.access import find_access
from penstock_operator.storage.errors import HomeError, NoAnswerError, ObjectChangedError, RefusedError
from penstock_operator.storage.kubernetes_home import KubernetesHome
from penstock_operator.storage.pages import list_objects, list_uids
from tests.operator.scene import manifest
from tests.testbed.kubernetes import kubeconfig
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.client import Client

CREATED = Note(Reason.CREATED, "The stream ORDERS was created.")
DRIFTED = Note(Reason.DRIFTED, "maxAge is 1h, and not 2h.", is_warning=True)
NATS = "connection/nats"


@pytest.fixture
def home(client: ApiClient) -> KubernetesHome:
    return KubernetesHome(client)


@pytest.fixture
def cluster(penstock_namespace: Namespace) -> Client:
    return penstock_namespace.client


@pytest.fixture
def nats(cluster: Client) -> Declared:
    """A Connection that was just read."""
    return create(cluster)


def create(cluster: Client) -> Declared:
    return Declared.read(cluster.create(manifest("Connection", "nats", {"servers": ["nats://nats.nats"]})))


def counts(cluster: Client) -> dict[tuple[str, str], int]:
    return {(event["type"], event["reason"]): event["count"] for event in cluster.list("events")}


async def test_a_status_replaces_the_former_one(home: KubernetesHome, nats: Declared, cluster: Client) -> None:
    await home.write_status(nats, {"observedGeneration": 1, "conditions": []})
    await home.write_status(nats, {"conditions": []})
    assert cluster.get(NATS)["status"] == {"conditions": []}
    with pytest.raises(RefusedError, match="must be of type integer") as refused:
        await home.write_status(nats, {"observedGeneration": "one"})
    assert refused.value.causes


async def test_a_status_of_a_deleted_object_is_not_written_to_its_successor(
    home: KubernetesHome, nats: Declared, cluster: Client
) -> None:
    cluster.delete(NATS)
    with pytest.raises(ObjectChangedError, match="is not what it was"):
        await home.write_status(nats, {"observedGeneration": 1})
    create(cluster)
    with pytest.raises(ObjectChangedError):
        await home.write_status(nats, {"observedGeneration": 1})
    assert "status" not in cluster.get(NATS)


async def test_finalizers_are_written_and_those_of_others_stay(
    home: KubernetesHome, nats: Declared, cluster: Client
) -> None:
    ours = ["penstock.dev/server-object"]
    await home.write_finalizers(nats, ours)
    assert cluster.get(NATS)["metadata"]["finalizers"] == ours
    await home.write_finalizers(replace(nats, finalizers=tuple(ours)), [])
    assert "finalizers" not in cluster.get(NATS)["metadata"]
    cluster.patch(NATS, {"metadata": {"finalizers": ["example.com/theirs"]}})
    with pytest.raises(ObjectChangedError):
        await home.write_finalizers(nats, ours)
    assert cluster.get(NATS)["metadata"]["finalizers"] == ["example.com/theirs"]


async def test_a_repeated_event_is_shown_with_its_object_and_counted(
    home: KubernetesHome, nats: Declared, cluster: Client, penstock_namespace: Namespace
) -> None:
    await home.tell(nats, CREATED)
    description = penstock_namespace.kubectl("describe", NATS)
    assert "Created" in description
    assert "The stream ORDERS was created." in description
    await home.tell(nats, CREATED)
    await home.tell(nats, DRIFTED)
    assert counts(cluster) == {("Normal", "Created"): 2, ("Warning", "Drifted"): 1}
    async with ApiClient(await find_access()) as client:
        await KubernetesHome(client).tell(nats, CREATED)
    assert counts(cluster)[("Normal", "Created")] == 3, "another process goes on counting"


async def test_a_deleted_event_is_created_again_and_a_long_message_is_cut(
    home: KubernetesHome, nats: Declared, cluster: Client
) -> None:
    await home.tell(nats, CREATED)
    cluster.delete_all("events")
    await home.tell(nats, CREATED)
    assert counts(cluster) == {("Normal", "Created"): 1}
    await home.tell(nats, Note(Reason.DRIFTED, "long " * 1000))
    assert max(len(event["message"]) for event in cluster.list("events")) == 1024


async def test_secrets_and_labels_of_namespaces_are_read(home: KubernetesHome, cluster: Client) -> None:
    name = cluster.namespace
    data = {"user": base64.b64encode(b"\x00ann").decode()}
    cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, "data": data})
    assert await home.secret(name, "login") == {"user": b"\x00ann"}
    assert await home.secret(name, "other") is None
    cluster.label(f"namespace/{name}", {"team": "sales"})
    assert (await home.namespace_labels(name))["team"] == "sales"
    assert await home.namespace_labels("no-such-namespace") == {}


async def test_kinds_without_objects_list_as_nothing(client: ApiClient, penstock_namespace: Namespace) -> None:
    for kind in KINDS:
        assert await list_uids(client, kind, [penstock_namespace.name]) == frozenset()
        assert [each async for each in list_objects(client, kind, [penstock_namespace.name])] == []


async def test_a_forbidden_request_and_an_unreachable_api_server_are_named(
    penstock_namespace: Namespace, nats: Declared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbidden = penstock_namespace.kubeconfig_for_service_account("default")
    unreachable = kubeconfig.write(tmp_path / "kubeconfig", {"server": "https://127.0.0.1:1"}, {})
    for file, error, sentence in (
        (forbidden, HomeError, r"The API server does not allow PATCH .*/connections/nats/status, as no role"),
        (unreachable, NoAnswerError, "The API server cannot be reached"),
    ):
        monkeypatch.setenv("KUBECONFIG", str(file))
        async with ApiClient(await find_access()) as client:
            with pytest.raises(error, match=sentence):
                await KubernetesHome(client).write_status(nats, {})
