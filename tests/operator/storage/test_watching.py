"""Watches of a real API server: all objects, each change, and nothing missed when a watch ends."""

import asyncio
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
from tests.testbed.waiting import WITHIN_SECONDS, eventually_async

OURS = "team=ours"


def put(namespace: Namespace, name: str, label: str = OURS, **data: str) -> None:
    key, _, value = label.partition("=")
    metadata = {"name": name, "labels": {key: value}}
    namespace.client.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def watched(namespace: Namespace, *, only_metadata: bool = False) -> Watched:
    return Watched(CONFIG_MAPS.path(namespace.name), selector=OURS, only_metadata=only_metadata)


async def following(events: AsyncIterator[Event]) -> Event:
    async with asyncio.timeout(WITHIN_SECONDS):
        return await anext(events)


def names(objects: Sequence[dict[str, dict[str, str]]]) -> list[str]:
    return sorted(each["metadata"]["name"] for each in objects)


async def test_a_watch_lists_all_selected_objects_and_then_each_change(
    client: ApiClient, namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE_OBJECTS", 2)
    for number in range(5):
        put(namespace, f"c{number}", a="1")
    put(namespace, "other", label="team=theirs")
    async with aclosing(watch(client, watched(namespace))) as events:
        there = await following(events)
        assert isinstance(there, Listed)
        assert names(there.objects) == [f"c{number}" for number in range(5)]
        put(namespace, "elsewhere", label="team=theirs")
        put(namespace, "c0", a="2")
        changed = await following(events)
        assert isinstance(changed, Changed)
        assert changed.object["data"] == {"a": "2"}
        namespace.client.delete("configmap/c0")
        gone = await following(events)
        assert isinstance(gone, Gone)
        assert gone.object["metadata"]["name"] == "c0"


async def test_a_watch_of_metadata_has_no_data(client: ApiClient, namespace: Namespace) -> None:
    put(namespace, "code", secret="much")
    async with aclosing(watch(client, watched(namespace, only_metadata=True))) as events:
        there = await following(events)
        assert isinstance(there, Listed)
        assert "data" not in there.objects[0]
        put(namespace, "code", secret="more")
        changed = await following(events)
        assert isinstance(changed, Changed)
        assert "data" not in changed.object


async def test_changes_are_reported_across_the_end_of_a_watch(
    client: ApiClient, namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    query = Watched.query

    def counted(self: Watched, **more: str) -> list[tuple[str, str]]:
        if "watch" in more:
            opened.append(more["resourceVersion"])
        return query(self, **more)

    monkeypatch.setattr(Watched, "query", counted)
    monkeypatch.setattr(watching, "WATCH_SECONDS", 1)
    async with aclosing(watch(client, watched(namespace))) as events:
        assert isinstance(await following(events), Listed)
        for number in range(2):
            before = len(opened)
            change = asyncio.create_task(following(events))
            await eventually_async(lambda: len(opened) >= before + 2, "one watch has ended and another has begun")  # noqa: B023
            put(namespace, "c", number=str(number))
            changed = await change
            assert isinstance(changed, Changed)
            assert changed.object["data"] == {"number": str(number)}


@pytest.mark.full
async def test_a_watch_lists_again_after_the_api_server_was_away(
    own_control_plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "AGAIN_SECONDS", 0.1)
    namespace = Namespace.create(own_control_plane, "shop")
    monkeypatch.setenv("KUBECONFIG", str(namespace.kubeconfig))
    for name in ("stays", "goes"):
        put(namespace, name)
    async with (
        ApiClient(await find_access()) as client,
        aclosing(watch(client, watched(namespace))) as events,
    ):
        assert isinstance(await following(events), Listed)
        own_control_plane.api_server.kill()
        assert isinstance(await following(events), Failed)
        await asyncio.to_thread(own_control_plane.start_api_server)
        await asyncio.to_thread(namespace.client.delete, "configmap/goes")
        there = await following(events)
        while isinstance(there, Failed):
            there = await following(events)
        while not (isinstance(there, Listed) and names(there.objects) == ["stays"]) and not isinstance(there, Gone):
            there = await following(events)


async def test_a_forbidden_watch_fails_with_the_reason(namespace: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(namespace.kubeconfig_for_service_account("default")))
    async with ApiClient(await find_access()) as client, aclosing(watch(client, watched(namespace))) as events:
        failed = await following(events)
    assert isinstance(failed, Failed)
    assert "does not allow" in failed.sentence
