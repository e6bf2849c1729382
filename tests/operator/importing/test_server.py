"""`penstock import --server`: manifests of what is on a server, for which `penstock plan` then has nothing to do."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from penstock_jetstream import JetStream
from tests.operator.cli.commands import ask, penstock
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.authentication import creds, user_and_password
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.server import NatsServer

Config = Mapping[str, Any]
ZOO = yaml.safe_load(Path(__file__).with_name("zoo.yaml").read_text())
STREAMS, BUCKETS, CONSUMERS = ZOO["streams"], ZOO["buckets"], ZOO["consumers"]
OLDEST = "2.11.17"
VERSIONS = [None, pytest.param(OLDEST, marks=pytest.mark.full)]


def run_import(server: NatsServer, *arguments: str) -> Result:
    return penstock("import", "--server", server.url, *arguments)


def imported(server: NatsServer, *arguments: str) -> list[dict[str, Any]]:
    done = run_import(server, *arguments)
    assert done.exit_code == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def fill(server: NatsServer, streams: Iterable[Config], consumers: Iterable[tuple[str, Config]] = ()) -> None:
    async def create(js: JetStream) -> None:
        for config in streams:
            await js.streams.create(config)
        for stream, config in consumers:
            await js.consumers.create(stream, config)

    ask(server.url, create)


def assert_plan_is_empty(server: NatsServer, folder: Path, *arguments: str, objects: int) -> None:
    """Import, and assert that a plan of the manifests changes nothing."""
    manifests = folder / "manifests.yaml"
    manifests.write_text(run_import(server, *arguments).stdout)
    planned = penstock("plan", "-f", manifests, "--detailed-exitcode", "-o", "json")
    assert planned.exit_code == 0, planned.output
    assert json.loads(planned.stdout)["summary"] == {"unchanged": objects}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_plan_of_imported_manifests_is_empty(start_nats: StartNats, tmp_path: Path, version: str | None) -> None:
    server = start_nats(version=version)
    newer = ZOO["newer_than_2_11"] if version == OLDEST else ()
    fill(server, [{name: each[name] for name in each if name not in newer} for each in STREAMS], CONSUMERS)
    assert_plan_is_empty(server, tmp_path, objects=len(STREAMS) + len(CONSUMERS))
    fill(server, BUCKETS)
    buckets = [f"--stream={config['name']}" for config in BUCKETS]
    assert_plan_is_empty(server, tmp_path, *buckets, objects=len(BUCKETS))


def test_all_streams_and_consumers_are_imported(nats_server: NatsServer, penstock_namespace: Namespace) -> None:
    fill(nats_server, STREAMS, CONSUMERS)
    manifests = imported(nats_server)
    specs = {kind: [each["spec"] for each in manifests if each["kind"] == kind] for kind in ("Stream", "Consumer")}
    assert sorted(spec["name"] for spec in specs["Stream"]) == sorted(config["name"] for config in STREAMS)
    assert len(specs["Consumer"]) == len(CONSUMERS)
    objects = [(each["kind"], each["metadata"]["name"]) for each in manifests]
    assert len(set(objects)) == len(objects)
    penstock_namespace.client.create(*manifests, dry_run=True)
    elsewhere = imported(nats_server, "--namespace", "shop")
    assert {each["metadata"]["namespace"] for each in elsewhere} == {"shop"}
    listed = json.loads(run_import(nats_server, "-o", "json").stdout)
    assert (listed["kind"], listed["items"]) == ("List", manifests)
    chosen = imported(nats_server, "--stream", "PLAIN")
    assert [each["kind"] for each in chosen] == ["Connection", "Stream", "Consumer", "Consumer"]
    assert chosen[1] in manifests, "a chosen stream has the name that it has among all"
    missing = run_import(nats_server, "--stream", "NONE")
    assert (missing.exit_code, "The server has no stream named NONE." in missing.stderr) == (1, True)


def test_buckets_ephemeral_consumers_and_those_of_servers_are_left_out(nats_server: NatsServer) -> None:
    consumers = ({"durable_name": "JS_MIRROR_abc"}, {"name": "passing", "inactive_threshold": 3600 * 10**9})
    streams = ({"name": "ORDERS"}, {"name": "KV_settings", "subjects": ["$KV.settings.>"]})
    fill(nats_server, streams, [("ORDERS", each) for each in consumers])
    done = run_import(nats_server)
    kinds = [(each["kind"], each["metadata"]["name"]) for each in yaml.safe_load_all(done.stdout)]
    assert kinds == [("Connection", "nats"), ("Stream", "orders")]
    assert "Stream KV_settings is left out, as it is a key-value bucket." in done.stderr
    assert "Consumer passing of stream ORDERS is left out, as it is ephemeral" in done.stderr
    assert "Consumer JS_MIRROR_abc of stream ORDERS is left out, as a server made it" in done.stderr


def test_credentials_become_a_reference_to_a_secret(start_nats: StartNats, tmp_path: Path) -> None:
    server = start_nats(access=creds(tmp_path))
    done = run_import(server, "--creds", str(server.access.client.arguments["user_credentials"]))
    [connection] = yaml.safe_load_all(done.stdout)
    assert connection["spec"]["auth"] == {"credentialsSecretRef": {"name": "nats-creds", "key": "user.creds"}}
    assert "kubectl create secret generic nats-creds" in done.stdout


def test_a_password_in_the_url_is_not_printed(start_nats: StartNats) -> None:
    server = start_nats(access=user_and_password())
    user, secret = server.access.client.arguments["user"], server.access.client.arguments["password"]
    done = penstock("import", "--server", server.url.replace("nats://", f"nats://{user}:{secret}@"))
    [connection] = yaml.safe_load_all(done.stdout)
    assert connection["spec"] == {"servers": [server.url]}
    assert secret not in done.output
    assert "put it into a Secret, and name that in auth.userPasswordSecretRef." in done.stdout


def test_an_unreachable_server_and_none_are_errors() -> None:
    unreachable = penstock("import", "--server", "nats://127.0.0.1:1")
    assert (unreachable.exit_code, unreachable.stderr.startswith("Error: ")) == (1, True)
    none = penstock("import")
    assert (none.exit_code, "Say which server: --server URL" in none.stderr) == (2, True)
