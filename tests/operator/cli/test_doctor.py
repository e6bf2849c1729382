"""`penstock doctor`: findings with what to do about them; looking changes nothing."""

from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from penstock_operator.resources import ConnectionSpec
from penstock_operator.services.nats import examination
from penstock_operator.services.nats.examination import Finding, Verdict, examine
from penstock_operator.services.nats.permissions import Feature, Permission, Verb, permissions, server_configuration
from tests.operator.cli.commands import Declared, data, penstock, stream_names
from tests.testbed import ports
from tests.testbed.nats.authentication import creds
from tests.testbed.nats.fixtures import StartNats, StartRelay
from tests.testbed.nats.server import NatsServer
from tests.testbed.waiting import WITHIN_SECONDS

ALL = tuple(permissions())
USER, PASSWORD = "operator", "hush"


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that answers late is judged as one that answers never."""
    monkeypatch.setattr(examination, "ANSWER_SECONDS", WITHIN_SECONDS)


def verdicts(*arguments: str | Path) -> dict[str, str]:
    return {each["what"]: each["verdict"] for each in data("doctor", *arguments)["findings"]}


@pytest.mark.usefixtures("patient")
def test_each_server_is_tried_and_not_changed(server: NatsServer) -> None:
    before = stream_names(server.url)
    good = penstock("doctor", "--server", server.url)
    assert good.exit_code == 0
    assert "✗" not in good.stdout
    assert "✓ permissions: The user may do all that the operator does." in good.stdout
    assert stream_names(server.url) == before
    away = f"nats://{ports.LOOPBACK}:{ports.free_port()}"
    found = verdicts("--server", away, "--server", server.url)
    assert (found[away], found[server.url], found["JetStream"]) == ("bad", "good", "good")
    assert penstock("doctor", "--server", away).exit_code == 1


def test_each_connection_of_manifests_is_examined_with_its_secrets(declared: Declared) -> None:
    auth = {"credentialsSecretRef": {"name": "login", "key": "user.creds"}}
    declared.write("Connection", "guarded", servers=[declared.url], auth=auth)
    findings = declared.data("doctor")["findings"]
    assert {each["of"] for each in findings} == {"Connection default/nats", "Connection default/guarded"}
    [missing] = [each for each in findings if each["of"] == "Connection default/guarded"]
    assert (missing["what"], missing["verdict"]) == ("Secrets", "bad")
    assert "Secret default/login does not exist" in missing["sentence"]


@pytest.mark.usefixtures("patient")
def test_a_credentials_file_is_used(start_nats: StartNats, tmp_path: Path) -> None:
    guarded = start_nats(access=creds(tmp_path))
    file = guarded.access.client.arguments["user_credentials"]
    assert verdicts("--server", guarded.url, "--creds", file)[guarded.url] == "good"
    refused = penstock("doctor", "--server", guarded.url)
    assert (refused.exit_code, f"✗ {guarded.url}" in refused.stdout) == (1, True)


def user(name: str, granted: Collection[Permission]) -> Mapping[str, object]:
    return {"user": name, "password": PASSWORD, "permissions": server_configuration(granted)}


@pytest.mark.usefixtures("patient")
def test_each_missing_permission_is_named(start_nats: StartNats, tmp_path: Path, subtests: pytest.Subtests) -> None:
    """The user `operator` has all permissions of the document, and each other one lacks one of them."""
    inbox = [each for each in ALL if each.feature is Feature.CONNECT and each.verb is Verb.SUBSCRIBE]
    missing = {f"without-{number}": each for number, each in enumerate(ALL) if each not in inbox}
    users = {USER: ALL, **{name: [each for each in ALL if each != one] for name, one in missing.items()}}
    authorization = {"users": [user(name, granted) for name, granted in users.items()]}
    server = start_nats(extra={"authorization": authorization})
    declared = Declared(tmp_path, server.url)
    for name in users:
        declared.secret(name, {"username": name, "password": PASSWORD})
        declared.write("Connection", name, servers=[server.url], auth={"userPasswordSecretRef": {"name": name}})
    (tmp_path / "Connection-nats.yaml").unlink()
    found: dict[str, list[dict[str, str]]] = {name: [] for name in users}
    for each in declared.data("doctor")["findings"]:
        if each["what"].startswith("permission"):
            found[each["of"].removeprefix("Connection default/")].append(each)
    assert [(each["what"], each["verdict"]) for each in found[USER]] == [("permissions", "good")]
    assert len(missing) > 15
    for name, permission in missing.items():
        with subtests.test(permission.subject):
            [finding] = found[name]
            assert finding["what"] == f"permission to {permission.feature}"
            assert permission.subject in finding["sentence"]


async def test_permissions_are_doubtful_if_the_server_is_silent(server: NatsServer, start_relay: StartRelay) -> None:
    relay = start_relay(server.port)
    found: dict[str, Finding] = {}
    async for finding in examine(ConnectionSpec(servers=[relay.url]), "", {}):
        found[finding.what] = finding
        if finding.what == "consumers":
            relay.half_open()
    assert (found["consumers"].verdict, found["permissions"].verdict) == (Verdict.GOOD, Verdict.DOUBTFUL)
    assert "could not be tried" in found["permissions"].sentence


@pytest.mark.usefixtures("patient")
def test_account_without_jetstream_is_bad_and_nearly_reached_limit_doubtful(
    start_nats: StartNats, tmp_path: Path
) -> None:
    limits = {"max_streams": 1, "max_consumers": 10, "max_mem": 2**20, "max_file": 2**20}
    users = {name: [{"user": name, "password": PASSWORD}] for name in ("plain", "small")}
    accounts = {"PLAIN": {"users": users["plain"]}, "SMALL": {"users": users["small"], "jetstream": limits}}
    server = start_nats(extra={"accounts": accounts, "no_auth_user": "small"})
    assert verdicts("--server", server.url)["streams"] == "good"
    declared = Declared(tmp_path, server.url)
    declared.stream("orders")
    assert declared.run("apply").exit_code == 0
    after = verdicts("--server", server.url)
    assert (after["streams"], after["consumers"]) == ("doubtful", "good")
    declared.secret("plain", {"username": "plain", "password": PASSWORD})
    declared.write("Connection", "nats", servers=[server.url], auth={"userPasswordSecretRef": {"name": "plain"}})
    found = {each["what"]: each["verdict"] for each in declared.data("doctor")["findings"]}
    assert found["JetStream"] == "bad"


def test_password_in_a_server_url_is_refused_and_never_repeated(tmp_path: Path, subtests: pytest.Subtests) -> None:
    declared = Declared(tmp_path, "nats://127.0.0.1:1")
    from_manifests = ("-f", tmp_path)
    for url in ("nats://alice:secret@127.0.0.1:1", "alice:secret@[::1", "nats://alice:sec/secret@127.0.0.1:1"):
        for command in (
            ("doctor",),
            ("import", "nack", *from_manifests),
            *((verb, *from_manifests) for verb in ("plan", "apply", "get", "lag", "doctor")),
        ):
            with subtests.test(" ".join(map(str, command)), url=url):
                told = penstock(*command, "--server", url)
                assert told.exit_code == 2
                assert "--server" in told.output
                assert "secret" not in told.output
                assert "pydantic" not in told.output
        with subtests.test("in a manifest", url=url):
            declared.write("Connection", "nats", servers=[url, url])
            assert "secret" not in declared.run("plan").output
    assert "--server: spec.servers: Listed more than once: " in (
        penstock("doctor", *(2 * ("--server", declared.url))).output
    )
