"""Watching, against a real API server: all there is, each change, and nothing missed where a watch ends."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

import pytest
from kubernetes.aio.client import ApiClient

from penstock_operator.storage import pages, watching
from penstock_operator.storage.access import find_access
from penstock_operator.storage.children import CONFIG_MAPS
from penstock_operator.storage.watching import Changed, Event, Failed, Gone, Listed, Watched, watch
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.control_plane import ControlPlane

SECONDS = 60
OURS = "team=ours"


@pytest.fixture
async def client(namespace: Namespace, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ApiClient]:
    monkeypatch.setenv("KUBECONFIG", str(namespace.kubeconfig))
    async with ApiClient(await find_access()) as client:
        yield client


@pytest.fixture
def own_namespace(own_control_plane: ControlPlane) -> Namespace:
    own_control_plane.kubectl("create", "namespace", "shop")
    return Namespace(own_control_plane, "shop")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Watches end each second, and what failed is tried again soon."""
    monkeypatch.setattr(watching, "WATCH_SECONDS", 1)
    monkeypatch.setattr(watching, "AGAIN_SECONDS", 0.1)


def put(namespace: Namespace, name: str, label: str = OURS, **data: str) -> None:
    key, _, value = label.partition("=")
    metadata = {"name": name, "labels": {key: value}}
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    namespace.kubectl("apply", "--filename=-", stdin=json.dumps(manifest))


def watched(namespace: Namespace, *, only_metadata: bool = False) -> Watched:
    return Watched(CONFIG_MAPS.path(namespace.name), selector=OURS, only_metadata=only_metadata)


async def following(events: AsyncIterator[Event]) -> Event:
    async with asyncio.timeout(SECONDS):
        return await anext(events)


def names(objects: Sequence[dict[str, dict[str, str]]]) -> list[str]:
    return sorted(each["metadata"]["name"] for each in objects)


async def test_it_tells_all_there_is_and_then_each_change_of_what_is_chosen(
    client: ApiClient, namespace: Namespace
) -> None:
    put(namespace, "first", a="1")
    put(namespace, "other", label="team=theirs")
    async with aclosing(watch(client, watched(namespace))) as events:
        there = await following(events)
        assert isinstance(there, Listed)
        assert names(there.objects) == ["first"]
        put(namespace, "elsewhere", label="team=theirs")
        put(namespace, "first", a="2")
        changed = await following(events)
        assert isinstance(changed, Changed)
        assert changed.object["data"] == {"a": "2"}
        namespace.kubectl("delete", "configmap/first")
        gone = await following(events)
        assert isinstance(gone, Gone)
        assert gone.object["metadata"]["name"] == "first"


async def test_a_list_longer_than_a_page_is_told_whole(
    client: ApiClient, namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE_OBJECTS", 2)
    for number in range(5):
        put(namespace, f"c{number}")
    async with aclosing(watch(client, watched(namespace))) as events:
        there = await following(events)
    assert isinstance(there, Listed)
    assert names(there.objects) == [f"c{number}" for number in range(5)]


async def test_of_metadata_alone_nothing_else_is_told(client: ApiClient, namespace: Namespace) -> None:
    put(namespace, "code", secret="much")
    async with aclosing(watch(client, watched(namespace, only_metadata=True))) as events:
        there = await following(events)
        assert isinstance(there, Listed)
        assert "data" not in there.objects[0]
        put(namespace, "code", secret="more")
        changed = await following(events)
        assert isinstance(changed, Changed)
        assert "data" not in changed.object


async def test_it_goes_on_where_the_watch_before_has_ended(
    client: ApiClient, namespace: Namespace, impatient: None
) -> None:
    del impatient
    async with aclosing(watch(client, watched(namespace))) as events:
        assert isinstance(await following(events), Listed)
        for number in range(4):
            await asyncio.sleep(0.7)  # over several watches, whatever moment they end at
            put(namespace, "c", number=str(number))
            changed = await following(events)
            assert isinstance(changed, Changed)
            assert changed.object["data"] == {"number": str(number)}


async def test_an_api_server_that_goes_and_comes_again_is_told_and_what_went_meanwhile_is_not_missed(
    own_control_plane: ControlPlane, own_namespace: Namespace, impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    del impatient
    monkeypatch.setenv("KUBECONFIG", str(own_namespace.kubeconfig))
    for name in ("stays", "goes"):
        put(own_namespace, name)
    async with (
        ApiClient(await find_access()) as client,
        aclosing(watch(client, watched(own_namespace))) as events,
    ):
        assert isinstance(await following(events), Listed)
        own_control_plane.api_server.kill()
        assert isinstance(await following(events), Failed)
        await asyncio.to_thread(own_control_plane.start_api_server)
        await asyncio.to_thread(own_namespace.kubectl, "delete", "configmap/goes")
        there = await following(events)
        while isinstance(there, Failed):
            there = await following(events)
        while not (isinstance(there, Listed) and names(there.objects) == ["stays"]) and not isinstance(there, Gone):
            there = await following(events)


async def test_a_watch_that_is_not_allowed_says_so(namespace: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    namespace.kubectl("create", "serviceaccount", "nobody")
    monkeypatch.setenv("KUBECONFIG", str(namespace.kubeconfig_for_service_account("nobody")))
    async with ApiClient(await find_access()) as client, aclosing(watch(client, watched(namespace))) as events:
        failed = await following(events)
    assert isinstance(failed, Failed)
    assert "does not allow" in failed.sentence
