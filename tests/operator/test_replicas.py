"""Two replicas of `penstock operator`, one Lease, a real API server: one leads, and the other when that one ends.

services/test_election.py judges times, by a virtual clock; test_single_writer.py strikes the leader.
"""

import contextlib
import signal
import urllib.request
from datetime import datetime
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.operator.accounts import OUR_KINDS, create_account, grant
from tests.operator.running import RunningOperator, running_operator
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.waiting import eventually

LEASE_SECONDS = 60
SOON_SECONDS = 30
"""Long before the Lease expires."""
START_SECONDS = 90


def replica(
    namespace: Namespace, kubeconfig: Path | None = None, duration_seconds: int = LEASE_SECONDS
) -> contextlib.AbstractContextManager[RunningOperator]:
    served = (f"--namespace={namespace.name}", f"--lease={namespace.name}/penstock")
    return running_operator(kubeconfig or namespace.kubeconfig, *served, f"--lease-duration={duration_seconds}")


def metric(operator: RunningOperator, name: str, **labels: str) -> float:
    """Return what an operator serves to Prometheus under this name."""
    with urllib.request.urlopen(f"http://{operator.address}/metrics", timeout=START_SECONDS) as answer:
        families = text_string_to_metric_families(answer.read().decode())
    samples = [sample for family in families for sample in family.samples if sample.name == name]
    return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())


def last_logged(operator: RunningOperator, words: str) -> datetime:
    """Return when an operator logged this for the last time; wait for the first time."""
    eventually(lambda: times_logged(operator, words), f"the operator logs {words}", START_SECONDS)
    return datetime.fromisoformat(times_logged(operator, words)[-1])


def times_logged(operator: RunningOperator, words: str) -> list[str]:
    return [line["time"] for line in operator.logged() if words in line["message"]]


def test_both_are_ready_one_leads_and_the_other_leads_at_once_when_that_one_ends(penstock_namespace: Namespace) -> None:
    with replica(penstock_namespace) as leader, contextlib.ExitStack() as stack:
        eventually(leader.leads, "the first leads", START_SECONDS)
        other = stack.enter_context(replica(penstock_namespace))
        lease = penstock_namespace.client.get("lease/penstock")["spec"]
        assert lease["leaseDurationSeconds"] == LEASE_SECONDS
        stands_by = f"It stands by: {lease['holderIdentity']} leads."
        eventually(lambda: stands_by in str(other.ready()), "the second names the leader", START_SECONDS)
        eventually(leader.leads, "the first still leads", START_SECONDS)
        assert not [line for line in (*leader.logged(), *other.logged()) if line["level"] != "info"]
        assert (metric(leader, "penstock_leader"), metric(other, "penstock_leader")) == (1, 0)
        assert metric(other, "penstock_kubernetes_requests_total", method="GET", code="200") > 0

        leader.program.send(signal.SIGTERM)
        assert leader.program.wait_ended(START_SECONDS) == 0
        eventually(other.leads, "the other leads", START_SECONDS)
        passed = last_logged(other, "This replica leads:") - last_logged(leader, "leads no longer")
        assert 0 <= passed.total_seconds() < SOON_SECONDS
        assert times_logged(leader, "was released")


@pytest.mark.full
def test_forbidden_lease_is_reported_in_a_sentence(penstock_namespace: Namespace) -> None:
    account = create_account(penstock_namespace)
    grant(penstock_namespace, "declared", OUR_KINDS, "get", "list", "watch")
    with replica(penstock_namespace, account) as operator:
        operator.wait_not_ready("It cannot be told which replica leads: The API server does not allow GET")
