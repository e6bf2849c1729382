"""Which JetStream a link leads to: whether two are the same, and what is said where there is none."""

import os
import signal
from typing import Any

import pytest

from penstock_operator.plan.connections import Connected
from penstock_operator.plan.declared import Identity
from penstock_operator.plan.reasons import Reason
from penstock_operator.resources.conditions import fact_names
from penstock_operator.resources.connection import ConnectionStatus
from penstock_operator.services.links import Secrets
from penstock_operator.services.nats import families
from penstock_operator.services.nats.permissions import PROBES, permissions, server_configuration
from tests.operator.links.linking import CONNECTION, PATIENCE_SECONDS, Kept, keeping, login, spec_of
from tests.testbed.nats.authentication import Access, Login, trusted_accounts, user_of
from tests.testbed.nats.fixtures import StartNats, StartNatsCluster, StartNatsLeaf
from tests.testbed.nats.leaf import LEAF_DOMAIN
from tests.testbed.nats.server import NatsServer
from tests.testbed.run import current

OTHER = Identity("Connection", "team", "other")
SILENCE_SECONDS = 5
"""After which nobody hears, on a machine that does other things too."""


def users(**with_jetstream: bool) -> dict[str, Any]:
    """Return a configuration with an account for each name, and in it a user of that name."""
    return {
        "accounts": {
            name: {"jetstream": "enabled" if enabled else "disabled", "users": [{"user": name, "password": "hush"}]}
            for name, enabled in with_jetstream.items()
        }
    }


def as_user(name: str) -> tuple[dict[str, Any], Secrets]:
    fields = {"auth": {"userPasswordSecretRef": {"name": "user"}}}
    return fields, {"user": {"username": name.encode(), "password": b"hush"}}


async def accounts(kept: Kept) -> tuple[str, str]:
    return (await kept.connected()).account, (await kept.connected(OTHER)).account


async def test_links_of_two_users_of_an_account_lead_to_the_same(every_server: NatsServer) -> None:
    async with keeping() as kept:
        kept.keep(spec_of(every_server.url))
        kept.keep(spec_of(f"nats://localhost:{every_server.port}"), of=OTHER)
        one, other = await accounts(kept)
        assert one == other


@pytest.mark.parametrize("version", ["2.11.17", None])
async def test_links_to_different_accounts_of_a_server_do_not(start_nats: StartNats, version: str | None) -> None:
    server = start_nats(extra=users(A=True, B=True), version=version)
    async with keeping() as kept:
        for name, connection in (("A", CONNECTION), ("B", OTHER)):
            fields, secrets = as_user(name)
            kept.keep(spec_of(server.url, **fields), secrets, of=connection)
        one, other = await accounts(kept)
        assert (one[:2], other[:2]) == ("A/", "B/")


async def test_links_to_different_servers_do_not(start_nats: StartNats) -> None:
    async with keeping() as kept:
        kept.keep(spec_of(start_nats().url))
        kept.keep(spec_of(start_nats().url), of=OTHER)
        one, other = await accounts(kept)
        assert one != other


@pytest.mark.parametrize("version", ["2.11.17", None])
async def test_an_account_that_an_operator_vouches_for_is_known_by_its_key(
    start_nats: StartNats, version: str | None
) -> None:
    server, account, _ = trusted_accounts()
    access = Access(server, user_of(account, current().new_folder("creds") / "user.creds"), system=None)
    nats = start_nats(access=access, version=version)
    fields, secrets = login(access)
    async with keeping() as kept:
        kept.keep(spec_of(nats.url, **fields), secrets)
        assert (await kept.connected()).account.startswith(f"{account.public_key}/")


async def test_links_to_the_nodes_of_a_cluster_lead_to_the_same(
    start_nats_cluster: StartNatsCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(families, "HEARING_SECONDS", PATIENCE_SECONDS)
    cluster = start_nats_cluster(extra={"cluster": {"no_advertise": True}})
    async with keeping() as kept:
        kept.keep(spec_of(cluster.nodes[0].url))
        kept.keep(spec_of(cluster.nodes[1].url), of=OTHER)
        one, other = await accounts(kept)
        assert one == other
        link = await kept.connected()
        assert link.facts.clustered


async def test_two_clusters_of_one_name_are_two(
    start_nats_cluster: StartNatsCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(families, "HEARING_SECONDS", SILENCE_SECONDS)
    one, other = start_nats_cluster(), start_nats_cluster()
    third = Identity("Connection", "team", "third")
    async with keeping() as kept:
        kept.keep(spec_of(one.nodes[0].url))
        kept.keep(spec_of(other.nodes[0].url), of=OTHER)
        kept.keep(spec_of(other.nodes[1].url), of=third)
        assert (await kept.connected()).account != (await kept.connected(OTHER)).account
        assert (await kept.connected(third)).account == (await kept.connected(OTHER)).account


async def test_a_user_who_may_say_nothing_is_known_by_names(start_nats_cluster: StartNatsCluster) -> None:
    """Where nothing can be tried out, two links of one account and one cluster's name are held to lead to the same."""
    granted = [each for each in permissions() if each.subject != PROBES]
    restricted = {"user": "user", "password": "hush", "permissions": server_configuration(granted)}
    free = {"user": "free", "password": "hush"}
    access = Access({"authorization": {"users": [free, restricted]}}, Login(free), system=None)
    cluster = start_nats_cluster(access=access)
    fields, secrets = as_user("user")
    async with keeping() as kept:
        for node, connection in zip(cluster.nodes, (CONNECTION, OTHER), strict=False):
            kept.keep(spec_of(node.url, **fields), secrets, of=connection)
        one, other = await accounts(kept)
        assert one == other


async def test_what_a_link_leads_to_stays_the_same_when_its_server_restarts(start_nats: StartNats) -> None:
    server, stranger = start_nats(), start_nats()
    async with keeping() as kept:
        kept.keep(spec_of(server.url))
        kept.keep(spec_of(stranger.url), of=OTHER)
        before = await accounts(kept)
        server.terminate()
        await kept.failing()
        server.start()
        assert await accounts(kept) == before


async def test_a_domain_is_another_jetstream_than_the_hub(start_nats_leaf: StartNatsLeaf) -> None:
    pair = start_nats_leaf()
    async with keeping() as kept:
        kept.keep(spec_of(pair.hub.url))
        kept.keep(spec_of(pair.hub.url, jetStream={"domain": LEAF_DOMAIN}), of=OTHER)
        one, other = await accounts(kept)
        assert one != other
        state = kept.links.state(OTHER)
        assert isinstance(state, Connected)
        assert state.facts["domain"] == LEAF_DOMAIN


async def test_a_domain_that_nobody_has_is_no_jetstream(start_nats: StartNats) -> None:
    async with keeping() as kept:
        kept.keep(spec_of(start_nats().url, jetStream={"domain": "nowhere"}))
        failing = await kept.failing()
        assert failing.reason is Reason.NO_JETSTREAM
        assert "$JS.nowhere.API" in failing.message


async def test_an_imported_api_is_asked_by_its_prefix_and_tells_no_notices(start_nats: StartNats) -> None:
    extra = users(OWNER=True, GUEST=False)
    owner, guest = extra["accounts"]["OWNER"], extra["accounts"]["GUEST"]
    owner["exports"] = [{"service": "$JS.API.>", "response_type": "stream"}]
    guest["imports"] = [{"service": {"account": "OWNER", "subject": "$JS.API.>"}, "to": "JS.owner.API.>"}]
    server = start_nats(extra=extra)
    fields, secrets = as_user("GUEST")
    async with keeping() as kept:
        kept.keep(spec_of(server.url, **fields, jetStream={"apiPrefix": "JS.owner.API"}), secrets)
        await kept.connected()
        state = kept.links.state(CONNECTION)
        assert isinstance(state, Connected)
        assert "notices do not pass between accounts" in state.warnings[0]


@pytest.mark.parametrize("version", ["2.11.17", None])
async def test_an_account_without_jetstream_says_so_until_it_has_it(start_nats: StartNats, version: str | None) -> None:
    server = start_nats(extra=users(A=False, B=True), version=version)
    fields, secrets = as_user("A")
    async with keeping() as kept:
        kept.keep(spec_of(server.url, **fields), secrets)
        failing = await kept.failing()
        assert failing.reason is Reason.NO_JETSTREAM
        server.config_file.write_text(server.config_file.read_text().replace("disabled", "enabled"))
        os.kill(server.pid, signal.SIGHUP)
        await kept.connected()


async def test_the_facts_are_those_that_the_status_shows(every_server: NatsServer) -> None:
    async with keeping() as kept:
        kept.keep(spec_of(every_server.url))
        await kept.connected()
        state = kept.links.state(CONNECTION)
        assert isinstance(state, Connected)
        assert set(state.facts) <= fact_names(ConnectionStatus)
        status = ConnectionStatus.model_validate(state.facts)
        assert (status.server_name, status.account) == (every_server.name, "$G")
