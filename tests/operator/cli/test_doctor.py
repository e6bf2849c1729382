"""`penstock doctor`: what holds and what does not, each with what to do; nothing is changed by looking."""

from collections.abc import Collection
from pathlib import Path

import pytest

from penstock_operator.resources import ConnectionSpec
from penstock_operator.services.nats.examination import Finding, Verdict, examine
from penstock_operator.services.nats.permissions import Feature, Permission, Verb, permissions, server_configuration
from tests.operator.cli.commands import Declared, data, penstock, stream_names
from tests.testbed import ports
from tests.testbed.nats.authentication import creds
from tests.testbed.nats.fixtures import StartNats, StartRelay
from tests.testbed.nats.server import NatsServer

ALL = tuple(permissions())
USER, PASSWORD = "operator", "hush"


def verdicts(*arguments: str | Path) -> dict[str, str]:
    return {each["what"]: each["verdict"] for each in data("doctor", *arguments)["findings"]}


def test_a_server_where_all_is_well_passes_and_is_left_as_it_was(server: NatsServer) -> None:
    before = stream_names(server.url)
    outcome = penstock("doctor", "--server", server.url)
    assert outcome.exit_code == 0
    assert "✗" not in outcome.stdout
    assert "✓ permissions: The user may do all that the operator does." in outcome.stdout
    assert stream_names(server.url) == before


def test_each_server_is_tried_by_itself(server: NatsServer) -> None:
    away = f"nats://{ports.LOOPBACK}:{ports.free_port()}"
    found = verdicts("--server", away, "--server", server.url)
    assert (found[away], found[server.url], found["JetStream"]) == ("bad", "good", "good")
    assert penstock("doctor", "--server", away).exit_code == 1


def test_connections_of_manifests_are_looked_at_with_their_secrets(declared: Declared, server: NatsServer) -> None:
    auth = {"credentialsSecretRef": {"name": "login", "key": "user.creds"}}
    declared.write("Connection", "guarded", servers=[server.url], auth=auth)
    findings = declared.data("doctor")["findings"]
    assert {each["of"] for each in findings} == {"Connection default/nats", "Connection default/guarded"}
    [missing] = [each for each in findings if each["of"] == "Connection default/guarded"]
    assert (missing["what"], missing["verdict"]) == ("Secrets", "bad")
    assert "Secret default/login does not exist" in missing["sentence"]


def test_a_credentials_file_is_enough_to_be_let_in(start_nats: StartNats, tmp_path: Path) -> None:
    access = creds(tmp_path)
    guarded = start_nats(access=access)
    file = access.client.arguments["user_credentials"]
    assert verdicts("--server", guarded.url, "--creds", file)[guarded.url] == "good"
    refused = penstock("doctor", "--server", guarded.url)
    assert refused.exit_code == 1
    assert f"✗ {guarded.url}" in refused.stdout


def test_an_account_without_jetstream_is_told_what_to_enable(start_nats: StartNats) -> None:
    users = {"accounts": {"PLAIN": {"users": [{"user": USER, "password": PASSWORD}]}}, "no_auth_user": USER}
    server = start_nats(extra=users)
    found = [each for each in data("doctor", "--server", server.url)["findings"] if each["what"] == "JetStream"]
    assert [each["verdict"] for each in found] == ["bad"]


def start_with(start_nats: StartNats, granted: Collection[Permission]) -> NatsServer:
    user = {"user": USER, "password": PASSWORD, "permissions": server_configuration(granted)}
    return start_nats(extra={"authorization": {"users": [user]}, "no_auth_user": USER})


def test_a_user_with_exactly_the_permissions_of_the_document_may_do_all(start_nats: StartNats) -> None:
    assert verdicts("--server", start_with(start_nats, ALL).url)["permissions"] == "good"


@pytest.mark.parametrize(
    "missing",
    [each for each in ALL if not (each.feature is Feature.CONNECT and each.verb is Verb.SUBSCRIBE)],
    ids=lambda permission: permission.subject,
)
def test_each_permission_that_is_missing_is_named(start_nats: StartNats, missing: Permission) -> None:
    server = start_with(start_nats, [each for each in ALL if each != missing])
    findings = data("doctor", "--server", server.url)["findings"]
    told = [each for each in findings if each["what"].startswith("permission")]
    assert [each["what"] for each in told] == [f"permission to {missing.feature}"]
    assert missing.subject in told[0]["sentence"]


async def test_permissions_that_a_silent_server_does_not_judge_are_not_called_granted(
    server: NatsServer, start_relay: StartRelay
) -> None:
    relay = start_relay(server.port)
    found: dict[str, Finding] = {}
    async for finding in examine(ConnectionSpec(servers=[relay.url]), "", {}):
        found[finding.what] = finding
        if finding.what == "consumers":
            relay.half_open()
    assert (found["consumers"].verdict, found["permissions"].verdict) == (Verdict.GOOD, Verdict.DOUBTFUL)
    assert "could not be tried" in found["permissions"].sentence


def test_limits_that_are_nearly_reached_are_doubtful(start_nats: StartNats, tmp_path: Path) -> None:
    limits = {"max_streams": 1, "max_consumers": 10, "max_mem": 2**20, "max_file": 2**20}
    users = {"users": [{"user": USER, "password": PASSWORD}], "jetstream": limits}
    server = start_nats(extra={"accounts": {"SMALL": users}, "no_auth_user": USER})
    assert verdicts("--server", server.url)["streams"] == "good"
    declared = Declared(tmp_path, server.url)
    declared.stream("orders")
    assert declared.run("apply").exit_code == 0
    after = verdicts("--server", server.url)
    assert (after["streams"], after["consumers"]) == ("doubtful", "good")


@pytest.mark.parametrize(
    "arguments",
    [["--server", "http://x"], ["-f", "x", "--creds", __file__], ["--creds", "nowhere"]],
    ids=" ".join,
)
def test_wrong_usage_is_told_from_failure(arguments: list[str]) -> None:
    assert penstock("doctor", *arguments).exit_code == 2
