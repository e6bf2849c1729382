"""Two replicas never both write to NATS while the lead passes from one to the other, by the server's own account.

The test edits a stream again and again, so that the leader has something to correct all the time. The server reports
each request, and which connection sent it.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.operator.running import RunningOperator
from tests.operator.scene import Scene
from tests.operator.test_replicas import START_SECONDS, last_logged, replica
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.relay import Relay
from tests.testbed.nats.requests import Requests
from tests.testbed.waiting import eventually

UPDATE = "$JS.API.STREAM.UPDATE.orders"
OURS = "penstock operator"
"""How our connections' names begin."""
ENOUGH = 3
"""Corrections by one replica until the story goes on."""
LEASE_SECONDS = 9
"""Long enough to keep on a busy machine, and short enough to wait for its expiry."""

pytestmark = [pytest.mark.timeout(600), pytest.mark.full]  # several processes start, and wait for each other


class Writers(Requests):
    """The connection of each update that an operator asked the server for, in the server's order."""

    def __call__(self) -> list[int]:
        return [
            told["client"]["id"]
            for told in self.heard()
            if told["subject"] == UPDATE and told["client"].get("name", "").startswith(OURS)
        ]


class Story(Scene):
    """A scene in which the test edits a stream."""

    edits = itertools.count()

    def begin(self) -> None:
        self.connect()
        self.declare_stream()
        self.wait_ready("stream/orders")

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
        story = Story(penstock_namespace, start_nats(), first)
        story.begin()
        with (
            Writers(**story.server.connect_arguments()) as writers,
            replica(penstock_namespace, duration_seconds=LEASE_SECONDS) as second,
        ):
            story.edit_until_corrected(writers, by=1)
            eventually(second.stands_by, "the second stands by", START_SECONDS)
            with lose(relay, first):
                story.edit_until_corrected(writers, by=2)
            story.edit_until(first.stands_by, "the first stands by")
            begun, ended = last_logged(second, "This replica leads:"), last_logged(first, "leads no longer")
            assert (ended < begun) is (lose is cut_off), "a process that is stopped learns of it only when it continues"
            eventually(second.leads, "the second still leads", START_SECONDS)
            story.edit_until_corrected(writers, by=2)
            seen = writers()
    changes = [after for before, after in itertools.pairwise(seen) if before != after]
    assert len(changes) == 1, f"connections wrote in this order: {seen}"


def test_leader_killed_at_work_is_replaced(penstock_namespace: Namespace, start_nats: StartNats) -> None:
    with replica(penstock_namespace, duration_seconds=LEASE_SECONDS) as first:
        eventually(first.leads, "the first leads", START_SECONDS)
        story = Story(penstock_namespace, start_nats(), first)
        story.begin()
        with replica(penstock_namespace, duration_seconds=LEASE_SECONDS) as second:
            eventually(second.stands_by, "the second stands by", START_SECONDS)
            for number in range(ENOUGH):
                story.declare_stream(f"stream-{number}")
            first.program.kill()
            story.operator = second
            made = [f"stream/stream-{number}" for number in range(ENOUGH)]
            story.wait_ready(*made, seconds=START_SECONDS)
            with Writers(**story.server.connect_arguments()) as writers:
                story.edit_until_corrected(writers, by=1)
