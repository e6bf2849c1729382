"""Two replicas of `penstock operator`, one Lease, a real API server: one leads, and the other when that is gone.

What happens within which time is judged by a clock of the tests' own (services/test_election.py). Here are processes
on a machine that does other things too: that one follows the other, in the right order, is what they can show.
"""

import contextlib
import json
import signal
import urllib.request
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from penstock_operator.resources import KINDS
from tests.operator.running import RunningOperator, running_operator
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.relay import Relay
from tests.testbed.waiting import eventually

DURATION_SECONDS = 15
"""As by default: nobody loses such a Lease because the machine is busy."""
SHORT_SECONDS = 9
"""Where it has to run out."""
LONG_SECONDS = 60
SOON_SECONDS = 30
"""Within a second on a machine that has nothing else to do, and long before a Lease of a minute runs out."""
START_SECONDS = 90


def replica(
    namespace: Namespace, kubeconfig: Path | None = None, duration_seconds: int = DURATION_SECONDS
) -> contextlib.AbstractContextManager[RunningOperator]:
    served = (f"--namespace={namespace.name}", f"--lease={namespace.name}/penstock")
    return running_operator(kubeconfig or namespace.kubeconfig, *served, f"--lease-duration={duration_seconds}")


@pytest.fixture
def duration_seconds() -> int:
    return DURATION_SECONDS


@pytest.fixture
def leader(penstock_namespace: Namespace, duration_seconds: int) -> Iterator[RunningOperator]:
    with replica(penstock_namespace, duration_seconds=duration_seconds) as first:
        eventually(first.leads, "the first leads", START_SECONDS)
        yield first


@pytest.fixture
def other(penstock_namespace: Namespace, leader: RunningOperator, duration_seconds: int) -> Iterator[RunningOperator]:
    with replica(penstock_namespace, duration_seconds=duration_seconds) as second:
        eventually(second.stands_by, "the second stands by", START_SECONDS)
        eventually(leader.leads, "the first still leads", START_SECONDS)
        yield second


short = pytest.mark.parametrize("duration_seconds", [SHORT_SECONDS])
long = pytest.mark.parametrize("duration_seconds", [LONG_SECONDS])


def metric(operator: RunningOperator, name: str, **labels: str) -> float:
    """Return what an operator tells Prometheus under this name."""
    with urllib.request.urlopen(f"http://{operator.address}/metrics", timeout=START_SECONDS) as answer:
        families = text_string_to_metric_families(answer.read().decode())
    samples = [sample for family in families for sample in family.samples if sample.name == name]
    return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())


def moment(operator: RunningOperator, words: str) -> datetime:
    """Return when an operator said this for the last time; it may be about to say it for the first."""
    eventually(lambda: bool(said(operator, words)), f"it says {words}", START_SECONDS)
    return datetime.fromisoformat(said(operator, words)[-1])


def said(operator: RunningOperator, words: str) -> list[str]:
    """Return all times at which an operator said this."""
    return [line["time"] for line in operator.logged() if words in line["message"]]


def test_both_are_ready_and_one_leads(
    penstock_namespace: Namespace, leader: RunningOperator, other: RunningOperator
) -> None:
    lease = json.loads(penstock_namespace.kubectl("get", "lease/penstock", "--output=json"))["spec"]
    stands_by = f"It stands by: {lease['holderIdentity']} leads."
    eventually(lambda: stands_by in str(other.ready()), "the second says who leads", START_SECONDS)
    assert lease["leaseDurationSeconds"] == DURATION_SECONDS
    assert not [line for line in (*leader.logged(), *other.logged()) if line["level"] != "info"]
    assert metric(leader, "penstock_leader") == 1
    assert metric(other, "penstock_leader") == 0
    assert metric(other, "penstock_kubernetes_requests_total", method="GET", code="200") > 0


@long
def test_the_other_leads_at_once_when_the_leader_is_told_to_end(
    leader: RunningOperator, other: RunningOperator
) -> None:
    leader.program.send(signal.SIGTERM)
    assert leader.program.wait_ended(START_SECONDS) == 0
    eventually(other.leads, "the other leads", START_SECONDS)
    passed = moment(other, "This replica leads:") - moment(leader, "leads no longer")
    assert 0 <= passed.total_seconds() < SOON_SECONDS
    assert said(leader, "was released")


@short
def test_the_other_leads_when_the_lease_of_a_leader_that_was_killed_has_run_out(
    leader: RunningOperator, other: RunningOperator
) -> None:
    leader.program.kill()
    eventually(other.leads, "the other leads", START_SECONDS)


@short
def test_one_that_stood_still_for_too_long_finds_that_another_leads(
    leader: RunningOperator, other: RunningOperator
) -> None:
    with leader.program.frozen():
        eventually(other.leads, "the other leads", START_SECONDS)
    eventually(leader.stands_by, "the first stands by", START_SECONDS)
    eventually(other.leads, "the other still leads", START_SECONDS)
    assert moment(leader, "leads no longer") > moment(other, "This replica leads:")


def test_one_that_is_cut_off_leads_no_longer_before_the_other_begins(
    penstock_namespace: Namespace, tmp_path: Path
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    with (
        relayed(penstock_namespace, kubeconfig) as relay,
        replica(penstock_namespace, kubeconfig) as first,
    ):
        eventually(first.leads, "the first leads", START_SECONDS)
        with replica(penstock_namespace) as second:
            eventually(second.stands_by, "the second stands by", START_SECONDS)
            relay.half_open()
            eventually(second.leads, "the second leads", START_SECONDS)
            passed = moment(second, "This replica leads:") - moment(first, "leads no longer")
            assert passed.total_seconds() > 0
            relay.heal()
            eventually(first.stands_by, "the first stands by", START_SECONDS)
            eventually(second.leads, "the second still leads", START_SECONDS)


def test_a_lease_that_may_not_be_read_is_said_in_a_sentence(penstock_namespace: Namespace) -> None:
    penstock_namespace.kubectl("create", "serviceaccount", "operator")
    ours = ",".join(kind.resource for kind in KINDS)
    penstock_namespace.kubectl("create", "role", "operator", "--verb=get,list,watch", f"--resource={ours}")
    bound = f"--serviceaccount={penstock_namespace.name}:operator"
    penstock_namespace.kubectl("create", "rolebinding", "operator", "--role=operator", bound)
    with replica(penstock_namespace, penstock_namespace.kubeconfig_for_service_account("operator")) as operator:
        operator.wait_not_ready("It cannot be told which replica leads: The API server does not allow GET")


@contextlib.contextmanager
def relayed(namespace: Namespace, path: Path) -> Iterator[Relay]:
    """Put a relay before the API server, and write a kubeconfig that leads there."""
    access = yaml.safe_load(namespace.kubeconfig.read_text())
    [cluster] = access["clusters"]
    port = int(cluster["cluster"]["server"].rpartition(":")[2])
    with Relay(port) as relay:
        cluster["cluster"]["server"] = f"https://{relay.host}:{relay.port}"
        path.write_text(yaml.safe_dump(access))
        yield relay
