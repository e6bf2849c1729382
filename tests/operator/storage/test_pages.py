"""Lists of objects, against a real API server."""

import pytest
from kubernetes.aio.client import ApiClient

from penstock_operator.resources import KINDS, Kind
from penstock_operator.storage.access import find_access
from penstock_operator.storage.pages import list_objects, list_uids
from tests.testbed.kubernetes.access import Namespace


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
async def test_kind_without_objects_lists_as_nothing(
    kind: Kind, penstock_namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(penstock_namespace.kubeconfig))
    async with ApiClient(await find_access()) as client:
        assert await list_uids(client, kind, [penstock_namespace.name]) == frozenset()
        assert [each async for each in list_objects(client, kind, [penstock_namespace.name])] == []
