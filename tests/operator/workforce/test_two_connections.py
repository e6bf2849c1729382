"""A group whose workers may do little: its Consumer is only observed, over another Connection than it is made by.

As docs/permissions.md has it: the operator may do in it what its rows connect, observe and workers say.
"""

import pytest

from penstock_operator.services.nats.permissions import Feature, permissions, server_configuration
from tests.operator.workforce.grouping import GROUP, GroupScene
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.server import NatsServer

LOGIN = {"username": "workers", "password": "hush"}
ALLOWED = (Feature.CONNECT, Feature.OBSERVE, Feature.WORKERS)


@pytest.fixture
def nats_server(start_nats: StartNats) -> NatsServer:
    """A server with two users: the platform's, who may do all, and the workers'."""
    granted = server_configuration([each for each in permissions() if each.feature in ALLOWED])
    workers = {"user": LOGIN["username"], "password": LOGIN["password"], "permissions": granted}
    users = {"users": [{"user": "platform", "password": "hush"}, workers]}
    return start_nats(extra={"authorization": users, "no_auth_user": "platform"})


@pytest.mark.full
def test_group_works_with_a_consumer_that_is_only_observed(scene: GroupScene) -> None:
    scene.secret("workers", **LOGIN)
    scene.connect("nats-workers", auth={"userPasswordSecretRef": {"name": "workers"}})
    where = {"connectionRef": {"name": "nats-workers"}, "stream": "orders", "name": "etl"}
    scene.apply("Consumer", "observed", {**where, "management": {"policy": "Observe"}})
    scene.declare_group(consumerRef={"name": "observed"})
    scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "True", "ScaledToZero")
    mounted = [each["name"] for each in scene.template()["spec"]["volumes"]]
    assert "penstock-secrets" in mounted
    scene.publish_orders(3)
    scene.wait_replicas(1)
    scene.wait_ready("consumer/etl")
