"""The simulated server is kept honest: told the same story, real servers of the newest and oldest line answer alike.

What is compared is what came back, in its order: messages by sequence, statuses by request, with what
they say is left. Heartbeats are a matter of time, so one stands for all of a request.
"""

import pytest

from tests.jetstream.scene import scene
from tests.jetstream.simulation.players import Real, Simulated, without_time
from tests.jetstream.simulation.scenarios import IN_A_CLUSTER, SCENARIOS, Scenario
from tests.testbed.nats.fixtures import StartNatsCluster
from tests.testbed.nats.shared import SharedServers

LINES = {"2.11": (2, 11), "2.15": (2, 15)}


@pytest.mark.requirement("P-04", "P-08", "C-34", "C-41", "C-42", "G-05", "G-06", "G-09", "G-10", "G-16", "G-17")
@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("line", LINES)
async def test_a_simulated_server_answers_as_a_real_one(
    line: str, name: str, shared_servers: SharedServers, fresh_name: str
) -> None:
    scenario = SCENARIOS[name]
    if LINES[line] < scenario.since:
        return
    await play_both(shared_servers.get(line).url, fresh_name, scenario)


async def play_both(url: str | list[str], stream: str, scenario: Scenario, *, replicas: int = 1) -> None:
    expected = Simulated(stream, scenario, replicated=replicas > 1).play(scenario.steps)
    storage = {"num_replicas": replicas, "storage": "file" if replicas > 1 else "memory"}
    async with scene(url, stream, **storage) as it:
        consumer = await it.create(mem_storage=replicas == 1, **scenario.config)
        if replicas > 1:  # its leader is known to the server that we are connected to once it answers a pull
            await it.until_heard(consumer.name)
        happened = await Real(it).play(scenario.steps, expected)
    assert without_time(happened) == without_time(expected)


@pytest.mark.requirement("C-44")
async def test_a_simulated_cluster_answers_as_a_real_one(start_nats_cluster: StartNatsCluster) -> None:
    """Among them: a batch's `409 Batch Completed` comes before its messages, which wait for a quorum."""
    cluster = start_nats_cluster()
    for number, scenario in enumerate(IN_A_CLUSTER.values()):
        await play_both(cluster.urls, f"S{number}", scenario, replicas=3)
