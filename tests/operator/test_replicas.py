"""Two replicas of `penstock operator` with one Lease: one leads, the other takes over, and they never both write.

The NATS server reports each request and its connection. services/test_election.py judges times, by a virtual clock.
"""

import contextlib
import itertools
import signal
import urllib.request
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.operator.accounts import OUR_KINDS, create_account, grant
from tests.operator.running import START_SECONDS, RunningOperator, running_operator
from tests.operator.scene import Scene
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.relay import Relay
from tests.testbed.nats.requests import Requests
from tests.testbed.waiting import eventually

LONG_LEASE_SECONDS = 60
SOON_SECONDS = 30
"""Long before the long Lease expires."""
LEASE_SECONDS = 9
"""Long enough to keep on a busy machine, and short enough to wait for its expiry."""
UPDATE = "$JS.API.STREAM.UPDATE.orders"
OURS = "penstock operator"
"""How our connections' names begin."""
ENOUGH = 3
"""Corrections by one replica until the test continues."""


def replica(
    namespace: Namespace, kubeconfig: Path | None = None, duration_seconds: int = LONG_LEASE_SECONDS
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
        assert lease["leaseDurationSeconds"] == LONG_LEASE_SECONDS
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


class Writers(Requests):
    """The connection of each update that an operator asked the server for, in the server's order."""

    def __call__(self) -> list[int]:
        return [
            told["client"]["id"]
            for told in self.heard()
            if told["subject"] == UPDATE and told["client"].get("name", "").startswith(OURS)
        ]


class EditedStream(Scene):
    """A stream that the test edits."""

    edits = itertools.count()

    def begin(self) -> None:
        self.connect()
        self.declare_stream_and_wait()

    def edit_until(self, done: Callable[[], bool], what: str) -> None:
        """Edit the stream, and again each time that it was corrected, until this is the case."""

        def edited_and_done() -> bool:
            config = self.config()
            if "description" not in config:
                self.ask("STREAM.UPDATE.orders", **config, description=f"edit {next(self.edits)}")
            return done()

        eventually(edited_and_done, what, START_SECONDS)

    def edit_until_corrected(self, writers: Writers, *, by: int) -> None:
        """Edit until this many connections have corrected it, the last of them a few times more than now."""
        more = len(writers()) + ENOUGH

        def corrected() -> bool:
            seen = writers()
            return len(seen) >= more and len(set(seen)) == by and len(set(seen[-ENOUGH:])) == 1

        self.edit_until(corrected, f"corrections by {by} connections")


@contextlib.contextmanager
def relayed(namespace: Namespace, path: Path) -> Iterator[Relay]:
    """Put a relay before the API server, and write a kubeconfig that leads there."""
    access = yaml.safe_load(namespace.kubeconfig.read_text())
    [cluster] = access["clusters"]
    with Relay(int(cluster["cluster"]["server"].rpartition(":")[2])) as relay:
        cluster["cluster"]["server"] = f"https://{relay.host}:{relay.port}"
        path.write_text(yaml.safe_dump(access))
        yield relay


@contextlib.contextmanager
def cut_off(relay: Relay, _: RunningOperator) -> Iterator[None]:
    """Keep the leader from the API server, and not from NATS."""
    relay.half_open()
    yield
    relay.heal()


@contextlib.contextmanager
def frozen(_: Relay, leader: RunningOperator) -> Iterator[None]:
    """Stop the leader's process for a while, as on a machine that is overloaded or suspended."""
    with leader.program.frozen():
        yield


@pytest.mark.timeout(600)  # several processes start, and wait for each other
@pytest.mark.full
@pytest.mark.parametrize("lose", [cut_off, frozen], ids=["cut off from the API server", "standing still"])
def test_leader_that_lost_the_lead_unknowingly_stops_writing(
    penstock_namespace: Namespace,
    start_nats: StartNats,
    tmp_path: Path,
    lose: Callable[[Relay, RunningOperator], contextlib.AbstractContextManager[None]],
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    with (
        relayed(penstock_namespace, kubeconfig) as relay,
        replica(penstock_namespace, kubeconfig, LEASE_SECONDS) as first,
    ):
        eventually(first.leads, "the first leads", START_SECONDS)
        scene = EditedStream(penstock_namespace, start_nats())
        scene.begin()
        with (
            Writers(**scene.server.connect_arguments()) as writers,
            replica(penstock_namespace, duration_seconds=LEASE_SECONDS) as second,
        ):
            scene.edit_until_corrected(writers, by=1)
            eventually(second.stands_by, "the second stands by", START_SECONDS)
            with lose(relay, first):
                scene.edit_until_corrected(writers, by=2)
            scene.edit_until(first.stands_by, "the first stands by")
            begun, ended = last_logged(second, "This replica leads:"), last_logged(first, "leads no longer")
            assert (ended < begun) is (lose is cut_off), "a process that is stopped learns of it only when it continues"
            eventually(second.leads, "the second still leads", START_SECONDS)
            scene.edit_until_corrected(writers, by=2)
            seen = writers()
    changes = [after for before, after in itertools.pairwise(seen) if before != after]
    assert len(changes) == 1, f"connections wrote in this order: {seen}"


@pytest.mark.timeout(600)
@pytest.mark.full
def test_leader_killed_at_work_is_replaced(penstock_namespace: Namespace, start_nats: StartNats) -> None:
    with replica(penstock_namespace, duration_seconds=LEASE_SECONDS) as first:
        eventually(first.leads, "the first leads", START_SECONDS)
        scene = EditedStream(penstock_namespace, start_nats())
        scene.begin()
        with replica(penstock_namespace, duration_seconds=LEASE_SECONDS) as second:
            eventually(second.stands_by, "the second stands by", START_SECONDS)
            for number in range(ENOUGH):
                scene.declare_stream(f"stream-{number}")
            first.program.kill()
            made = [f"stream/stream-{number}" for number in range(ENOUGH)]
            scene.wait_ready(*made, seconds=START_SECONDS)
            with Writers(**scene.server.connect_arguments()) as writers:
                scene.edit_until_corrected(writers, by=1)
