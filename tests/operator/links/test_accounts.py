"""Which JetStream account a link leads to: whether two are the same, and what is reported where there is none."""

import os
import signal
from typing import Any

import pytest

from penstock_operator.plan.declared import Identity
from penstock_operator.plan.reasons import Reason
from penstock_operator.resources.conditions import fact_names
from penstock_operator.resources.connection import ConnectionStatus
from penstock_operator.services.nats import families
from penstock_operator.services.nats.permissions import PROBES, permissions, server_configuration
from tests.operator.links.linking import CONNECTION, OLD_AND_NEW, OTHER, PASSWORD, Kept, login, spec_of
from tests.testbed.nats.authentication import Access, Login, trusted_accounts, user_of
from tests.testbed.nats.fixtures import StartNats, StartNatsCluster, StartNatsLeaf
from tests.testbed.nats.leaf import LEAF_DOMAIN
from tests.testbed.nats.server import NatsServer
from tests.testbed.run import current

SILENCE_SECONDS = 5
"""After which a probe counts as unheard, also on a busy machine."""


def users(**with_jetstream: bool) -> dict[str, Any]:
    """Return a configuration with an account for each name, and in it a user of that name."""
    return {
        "accounts": {
            name: {"jetstream": "enabled" if enabled else "disabled", "users": [{"user": name, "password": PASSWORD}]}
            for name, enabled in with_jetstream.items()
        }
    }


async def accounts(kept: Kept) -> tuple[str, str]:
    return (await kept.connected()).account, (await kept.connected(OTHER)).account


async def test_links_to_one_server_lead_to_the_same_account(every_server: NatsServer, kept: Kept) -> None:
    kept.keep(spec_of(every_server.url))
    kept.keep(spec_of(f"nats://localhost:{every_server.port}"), of=OTHER)
    one, other = await accounts(kept)
    assert one == other
    facts = kept.state().facts
    assert set(facts) <= fact_names(ConnectionStatus)
    status = ConnectionStatus.model_validate(facts)
    assert (status.server_name, status.account) == (every_server.name, "$G")


@pytest.mark.parametrize("version", OLD_AND_NEW)
async def test_links_to_two_accounts_of_a_server_differ(start_nats: StartNats, kept: Kept, version: str | None) -> None:
    server = start_nats(extra=users(A=True, B=True), version=version)
    for name, connection in (("A", CONNECTION), ("B", OTHER)):
        kept.keep_as(name, server.url, of=connection)
    one, other = await accounts(kept)
    assert (one[:2], other[:2]) == ("A/", "B/")


@pytest.mark.parametrize("version", OLD_AND_NEW)
async def test_account_with_a_key_is_identified_by_it(start_nats: StartNats, kept: Kept, version: str | None) -> None:
    server, account, _ = trusted_accounts()
    access = Access(server, user_of(account, current().new_folder("creds") / "user.creds"), system=None)
    nats = start_nats(access=access, version=version)
    fields, secrets = login(access)
    kept.keep(spec_of(nats.url, **fields), secrets)
    assert (await kept.connected()).account.startswith(f"{account.public_key}/")


async def test_links_to_the_nodes_of_a_cluster_lead_to_the_same_account(
    start_nats_cluster: StartNatsCluster, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(families, "HEARING_SECONDS", 60)
    cluster = start_nats_cluster(extra={"cluster": {"no_advertise": True}})
    kept.keep(spec_of(cluster.nodes[0].url))
    kept.keep(spec_of(cluster.nodes[1].url), of=OTHER)
    one, other = await accounts(kept)
    assert one == other
    assert (await kept.connected()).facts.clustered


@pytest.mark.full
async def test_two_clusters_with_one_name_differ(
    start_nats_cluster: StartNatsCluster, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(families, "HEARING_SECONDS", SILENCE_SECONDS)
    one, other = start_nats_cluster(), start_nats_cluster()
    third = Identity("Connection", "team", "third")
    kept.keep(spec_of(one.nodes[0].url))
    kept.keep(spec_of(other.nodes[0].url), of=OTHER)
    kept.keep(spec_of(other.nodes[1].url), of=third)
    assert (await kept.connected()).account != (await kept.connected(OTHER)).account
    assert (await kept.connected(third)).account == (await kept.connected(OTHER)).account


@pytest.mark.full
async def test_account_of_a_user_who_may_not_publish_probes_is_identified_by_names(
    start_nats_cluster: StartNatsCluster, kept: Kept
) -> None:
    """Without probes, two links to one account and one cluster's name count as the same."""
    granted = [each for each in permissions() if each.subject != PROBES]
    restricted = {"user": "user", "password": PASSWORD, "permissions": server_configuration(granted)}
    free = {"user": "free", "password": PASSWORD}
    access = Access({"authorization": {"users": [free, restricted]}}, Login(free), system=None)
    cluster = start_nats_cluster(access=access)
    for node, connection in zip(cluster.nodes, (CONNECTION, OTHER), strict=False):
        kept.keep_as("user", node.url, of=connection)
    one, other = await accounts(kept)
    assert one == other


async def test_accounts_of_two_servers_differ_also_after_a_restart(start_nats: StartNats, kept: Kept) -> None:
    server, stranger = start_nats(), start_nats()
    kept.keep(spec_of(server.url))
    kept.keep(spec_of(stranger.url), of=OTHER)
    before = await accounts(kept)
    assert len({*before}) == 2
    server.terminate()
    await kept.failing()
    server.start()
    assert await accounts(kept) == before


async def test_domain_is_another_account_than_the_hub(start_nats_leaf: StartNatsLeaf, kept: Kept) -> None:
    hub = start_nats_leaf().hub
    in_hub, in_leaf = await kept.link_to(hub), await kept.link_to(hub, of=OTHER, jetStream={"domain": LEAF_DOMAIN})
    assert in_hub.account != in_leaf.account
    assert kept.state(OTHER).facts["domain"] == LEAF_DOMAIN


async def test_unknown_domain_has_no_jetstream(nats_server: NatsServer, kept: Kept) -> None:
    kept.keep(spec_of(nats_server.url, jetStream={"domain": "nowhere"}))
    failing = await kept.failing()
    assert failing.reason is Reason.NO_JETSTREAM
    assert "$JS.nowhere.API" in failing.message


async def test_imported_api_is_used_with_its_prefix_and_without_advisories(start_nats: StartNats, kept: Kept) -> None:
    extra = users(OWNER=True, GUEST=False)
    owner, guest = extra["accounts"]["OWNER"], extra["accounts"]["GUEST"]
    owner["exports"] = [{"service": "$JS.API.>", "response_type": "stream"}]
    guest["imports"] = [{"service": {"account": "OWNER", "subject": "$JS.API.>"}, "to": "JS.owner.API.>"}]
    server = start_nats(extra=extra)
    kept.keep_as("GUEST", server.url, jetStream={"apiPrefix": "JS.owner.API"})
    await kept.connected()
    assert "notices do not pass between accounts" in kept.state().warnings[0]


@pytest.mark.full
@pytest.mark.parametrize("version", ["2.11.17", None])
async def test_account_fails_until_it_has_jetstream(start_nats: StartNats, kept: Kept, version: str | None) -> None:
    server = start_nats(extra=users(A=False, B=True), version=version)
    kept.keep_as("A", server.url)
    assert (await kept.failing()).reason is Reason.NO_JETSTREAM
    server.config_file.write_text(server.config_file.read_text().replace("disabled", "enabled"))
    os.kill(server.pid, signal.SIGHUP)
    await kept.connected()
