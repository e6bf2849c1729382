"""A Lease in a real API server: which writes win, and what other programs read of it."""

from typing import Any

import pytest
from kubernetes.aio.client import ApiClient

from penstock_operator.plan.lease import Candidate, Claim
from penstock_operator.storage.errors import ObjectChangedError
from penstock_operator.storage.lease import Lease
from tests.testbed.kubernetes.access import Namespace

CREATE = Claim("", "me", 15, 0)


@pytest.fixture
def lease(client: ApiClient, namespace: Namespace) -> Lease:
    return Lease(client, namespace.name, "penstock")


def stored(namespace: Namespace) -> dict[str, Any]:
    spec: dict[str, Any] = namespace.client.get("lease/penstock")["spec"]
    return spec


async def test_a_lease_is_created_once_and_a_write_replaces_only_the_version_that_it_names(
    lease: Lease, namespace: Namespace
) -> None:
    assert await lease.read() is None
    first = await lease.write(CREATE)
    assert await lease.read() == first
    spec = stored(namespace)
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("me", 15, 0)
    assert spec["acquireTime"] == spec["renewTime"]
    with pytest.raises(ObjectChangedError):
        await lease.write(CREATE)
    second = await lease.write(Claim(first.version, "me", 15, 0, first.acquired_at))
    with pytest.raises(ObjectChangedError):
        await lease.write(Claim(first.version, "other", 15, 1))
    assert await lease.read() == second
    assert second.acquired_at == first.acquired_at


async def test_one_renewal_of_a_deleted_lease_creates_it_and_the_second_is_refused(
    lease: Lease, namespace: Namespace
) -> None:
    """The API server creates a Lease where one is replaced that doesn't exist, whatever version the request names."""
    record = await lease.write(CREATE)
    namespace.client.delete("lease/penstock")
    again = await lease.write(Claim(record.version, "me", 15, 0))
    assert await lease.read() == again
    with pytest.raises(ObjectChangedError):
        await lease.write(Claim(record.version, "other", 15, 0))


async def test_a_released_lease_and_an_empty_one_have_no_holder(lease: Lease, namespace: Namespace) -> None:
    claim = Candidate(identity="me").wrote(await lease.write(CREATE), 0).release()
    assert claim is not None
    assert (await lease.write(claim)).holder == ""
    assert "holderIdentity" not in stored(namespace)
    namespace.client.delete("lease/penstock")
    empty = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "penstock"}}
    namespace.client.create(empty)
    record = await lease.read()
    assert record is not None
    assert (record.holder, record.duration_seconds, record.transitions) == ("", 0, 0)
