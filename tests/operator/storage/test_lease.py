"""A Lease in a real API server: one write wins, and what others see of it is what Kubernetes' own programs write."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from kubernetes.aio.client import ApiClient

from penstock_operator.plan.lease import Candidate, Claim
from penstock_operator.storage.access import find_access
from penstock_operator.storage.errors import ObjectChangedError
from penstock_operator.storage.lease import Lease
from tests.testbed.kubernetes.access import Namespace

CREATE = Claim("", "me", 15, 0)


@pytest.fixture
async def lease(namespace: Namespace, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Lease]:
    monkeypatch.setenv("KUBECONFIG", str(namespace.kubeconfig))
    async with ApiClient(await find_access()) as client:
        yield Lease(client, namespace.name, "penstock")


def shown(namespace: Namespace) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(namespace.kubectl("get", "lease/penstock", "--output=json"))["spec"]
    return spec


async def test_there_is_none_until_it_is_created(lease: Lease, namespace: Namespace) -> None:
    assert await lease.read() is None
    record = await lease.write(CREATE)
    assert await lease.read() == record
    spec = shown(namespace)
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("me", 15, 0)
    assert spec["acquireTime"] == spec["renewTime"]


async def test_two_that_create_it_do_not_both_have_it(lease: Lease) -> None:
    await lease.write(CREATE)
    with pytest.raises(ObjectChangedError):
        await lease.write(CREATE)


async def test_a_write_replaces_only_the_version_that_it_names(lease: Lease) -> None:
    first = await lease.write(CREATE)
    second = await lease.write(Claim(first.version, "me", 15, 0, first.acquired_at))
    with pytest.raises(ObjectChangedError):
        await lease.write(Claim(first.version, "other", 15, 1))
    assert await lease.read() == second
    assert second.acquired_at == first.acquired_at


async def test_a_renewal_makes_one_that_was_deleted_anew_and_two_of_them_do_not(
    lease: Lease, namespace: Namespace
) -> None:
    """The API server takes a replacement of a Lease that is not there for a new one, whatever version it names."""
    record = await lease.write(CREATE)
    namespace.kubectl("delete", "lease/penstock")
    again = await lease.write(Claim(record.version, "me", 15, 0))
    assert await lease.read() == again
    with pytest.raises(ObjectChangedError):
        await lease.write(Claim(record.version, "other", 15, 0))


async def test_one_that_was_released_has_no_holder(lease: Lease, namespace: Namespace) -> None:
    candidate = Candidate(identity="me").wrote(await lease.write(CREATE), 0)
    claim = candidate.release()
    assert claim is not None
    assert (await lease.write(claim)).holder == ""
    assert "holderIdentity" not in shown(namespace)


async def test_one_that_another_program_wrote_is_understood(lease: Lease, namespace: Namespace) -> None:
    manifest = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "penstock"}}
    namespace.kubectl("create", "--filename=-", stdin=json.dumps(manifest))
    record = await lease.read()
    assert record is not None
    assert (record.holder, record.duration_seconds, record.transitions) == ("", 0, 0)
