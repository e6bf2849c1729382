"""The simulated server answers as real servers of the newest and the oldest line do.

What is compared is what arrived, in its order: messages by sequence, statuses by request, with what they say is left.
Heartbeats are a matter of time, so one stands for all of a request. The scenarios of a server are played at once.
"""

import asyncio
from collections.abc import Mapping

import pytest

from tests.jetstream.scene import scene
from tests.jetstream.simulation.players import Answer, Real, Simulated, without_time
from tests.jetstream.simulation.scenarios import IN_A_CLUSTER, SCENARIOS, Scenario
from tests.testbed.nats.fixtures import StartNatsCluster
from tests.testbed.nats.shared import SharedServers


@pytest.mark.requirement(
    "P-04", "P-06", "P-08", "C-24", "C-34", "C-41", "C-42", "G-05", "G-06", "G-09", "G-10", "G-16", "G-17", "X-16"
)
@pytest.mark.parametrize(
    ("line", "version"), [("2.15", (2, 15)), pytest.param("2.11", (2, 11), marks=pytest.mark.full)]
)
async def test_a_simulated_server_answers_as_a_real_one(
    line: str, version: tuple[int, int], shared_servers: SharedServers, fresh_name: str, subtests: pytest.Subtests
) -> None:
    scenarios = {name: scenario for name, scenario in SCENARIOS.items() if scenario.since <= version}
    await compare(shared_servers.get(line).url, fresh_name, scenarios, subtests)


@pytest.mark.full
@pytest.mark.requirement("C-44")
async def test_a_simulated_cluster_answers_as_a_real_one(
    start_nats_cluster: StartNatsCluster, subtests: pytest.Subtests
) -> None:
    """Among them: a batch's `409 Batch Completed` arrives before its messages, which wait for a quorum."""
    await compare(start_nats_cluster().urls, "S", IN_A_CLUSTER, subtests, replicas=3)


async def compare(
    url: str | list[str],
    stream_prefix: str,
    scenarios: Mapping[str, Scenario],
    subtests: pytest.Subtests,
    *,
    replicas: int = 1,
) -> None:
    plays = (
        play_both(url, f"{stream_prefix}-{number:02}", scenario, replicas)
        for number, scenario in enumerate(scenarios.values())
    )
    for name, outcome in zip(scenarios, await asyncio.gather(*plays, return_exceptions=True), strict=True):
        with subtests.test(name):
            if isinstance(outcome, BaseException):
                raise outcome
            happened, expected = outcome
            assert happened == expected


async def play_both(
    url: str | list[str], stream: str, scenario: Scenario, replicas: int
) -> tuple[list[Answer], list[Answer]]:
    expected = Simulated(stream, scenario, replicated=replicas > 1).play(scenario.steps)
    storage = {"num_replicas": replicas, "storage": "file" if replicas > 1 else "memory"}
    async with scene(url, stream, **storage) as it:
        consumer = await it.create(mem_storage=replicas == 1, **scenario.config)
        if replicas > 1:  # its leader is known to the server that we are connected to once it answers a pull
            await it.until_heard(consumer.name)
        happened = await Real(it).play(scenario.steps, expected)
    return without_time(happened), without_time(expected)
