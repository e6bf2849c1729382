"""The operator's own client of the API server, for tests of what it reads and writes."""

from collections.abc import AsyncIterator

import pytest
from kubernetes.aio.client import ApiClient

from penstock_operator.storage.access import find_access
from tests.testbed.kubernetes.access import Namespace


@pytest.fixture
async def client(namespace: Namespace, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ApiClient]:
    monkeypatch.setenv("KUBECONFIG", str(namespace.kubeconfig))
    async with ApiClient(await find_access()) as client:
        yield client
