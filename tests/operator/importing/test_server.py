"""Manifests of what is on a server: `penstock plan` has nothing to do for them, and the API server takes them."""

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock_jetstream import Connection, JetStream
from tests.operator.importing.zoo import BUCKETS, CONSUMERS, NEWER_THAN_2_11, STREAMS
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.authentication import creds, user_and_password
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.server import NatsServer

PENSTOCK = Path(sys.executable).parent / "penstock"


def penstock(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([PENSTOCK, *arguments], capture_output=True, text=True, check=False)


def imported(*arguments: str) -> list[dict[str, Any]]:
    done = penstock("import", *arguments)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


@pytest.fixture
async def zoo(nats_server: NatsServer) -> NatsServer:
    """A server with one of each."""
    await fill(nats_server, STREAMS)
    return nats_server


async def fill(server: NatsServer, streams: Iterable[Mapping[str, Any]]) -> None:
    async with Connection(server.url) as connection:
        js = JetStream(connection)
        for config in streams:
            await js.streams.create(config)
        for stream, config in CONSUMERS:
            await js.consumers.create(stream, config)


async def test_plan_has_nothing_to_do_for_what_was_imported_from_the_oldest_server(
    start_nats: StartNats, tmp_path: Path
) -> None:
    server = start_nats(version="2.11.17")
    known = [{name: value for name, value in each.items() if name not in NEWER_THAN_2_11} for each in STREAMS]
    await fill(server, known)
    manifests = tmp_path / "manifests.yaml"
    manifests.write_text(penstock("import", "--server", server.url).stdout)
    planned = penstock("plan", "-f", str(manifests), "--detailed-exitcode", "-o", "json")
    assert planned.returncode == 0, planned.stdout + planned.stderr
    assert json.loads(planned.stdout)["summary"] == {"unchanged": len(STREAMS) + len(CONSUMERS)}


@pytest.mark.parametrize("version", [None, "2.11.17"])
async def test_plan_has_nothing_to_do_for_the_streams_of_buckets_that_were_asked_for(
    start_nats: StartNats, tmp_path: Path, version: str | None
) -> None:
    server = start_nats(version=version)
    async with Connection(server.url) as connection:
        for config in BUCKETS:
            await JetStream(connection).streams.create(config)
    chosen = [f"--stream={config['name']}" for config in BUCKETS]
    manifests = tmp_path / "manifests.yaml"
    manifests.write_text(penstock("import", "--server", server.url, *chosen).stdout)
    planned = penstock("plan", "-f", str(manifests), "--detailed-exitcode", "-o", "json")
    assert planned.returncode == 0, planned.stdout + planned.stderr
    assert json.loads(planned.stdout)["summary"] == {"unchanged": len(BUCKETS)}


def test_plan_has_nothing_to_do_for_what_was_imported(zoo: NatsServer, tmp_path: Path) -> None:
    manifests = tmp_path / "manifests.yaml"
    manifests.write_text(penstock("import", "--server", zoo.url).stdout)
    planned = penstock("plan", "-f", str(manifests), "--detailed-exitcode", "-o", "json")
    assert planned.returncode == 0, planned.stdout + planned.stderr


def test_all_that_is_on_the_server_is_imported_under_its_name(zoo: NatsServer) -> None:
    manifests = imported("--server", zoo.url, "--namespace", "shop")
    assert {each["metadata"]["namespace"] for each in manifests} == {"shop"}
    specs = {kind: [each["spec"] for each in manifests if each["kind"] == kind] for kind in ("Stream", "Consumer")}
    assert sorted(spec["name"] for spec in specs["Stream"]) == sorted(config["name"] for config in STREAMS)
    assert len(specs["Consumer"]) == len(CONSUMERS)
    objects = [(each["kind"], each["metadata"]["name"]) for each in manifests]
    assert len(set(objects)) == len(objects)


def test_the_api_server_takes_what_was_imported(zoo: NatsServer, penstock_namespace: Namespace) -> None:
    for manifest in imported("--server", zoo.url):
        penstock_namespace.kubectl("create", "--dry-run=server", "--filename=-", stdin=json.dumps(manifest))


def test_json_is_a_list_of_the_same_manifests(zoo: NatsServer) -> None:
    listed = json.loads(penstock("import", "--server", zoo.url, "-o", "json").stdout)
    assert (listed["kind"], listed["items"]) == ("List", imported("--server", zoo.url))


def test_a_chosen_stream_has_the_name_that_it_has_among_all(zoo: NatsServer) -> None:
    everything = {each["spec"].get("name"): each for each in imported("--server", zoo.url) if each["kind"] == "Stream"}
    chosen = imported("--server", zoo.url, "--stream", "PLAIN")
    assert [each["kind"] for each in chosen] == ["Connection", "Stream", "Consumer", "Consumer"]
    assert chosen[1] == everything["PLAIN"]


def test_a_stream_that_is_not_there_is_said(nats_server: NatsServer) -> None:
    done = penstock("import", "--server", nats_server.url, "--stream", "NONE")
    assert "The server has no stream named NONE." in done.stderr


async def test_what_nobody_declared_is_left_out_and_said(nats_server: NatsServer) -> None:
    async with Connection(nats_server.url) as connection:
        js = JetStream(connection)
        for config in ({"name": "ORDERS"}, {"name": "KV_settings", "subjects": ["$KV.settings.>"]}):
            await js.streams.create(config)
        await js.consumers.create("ORDERS", {"durable_name": "JS_MIRROR_abc"})
        await js.consumers.create("ORDERS", {"name": "passing", "inactive_threshold": 3600 * 10**9})
    done = penstock("import", "--server", nats_server.url)
    kinds = [(each["kind"], each["metadata"]["name"]) for each in yaml.safe_load_all(done.stdout)]
    assert kinds == [("Connection", "nats"), ("Stream", "orders")]
    assert "Stream KV_settings is left out, as it is a key-value bucket." in done.stderr
    assert "Consumer passing of stream ORDERS is left out, as it is ephemeral" in done.stderr
    assert "Consumer JS_MIRROR_abc of stream ORDERS is left out, as a server made it" in done.stderr


def test_credentials_become_a_secret_that_a_comment_says_how_to_make(start_nats: StartNats, tmp_path: Path) -> None:
    server = start_nats(access=creds(tmp_path))
    file = str(server.access.client.arguments["user_credentials"])
    done = penstock("import", "--server", server.url, "--creds", file)
    [connection] = yaml.safe_load_all(done.stdout)
    assert connection["spec"]["auth"] == {"credentialsSecretRef": {"name": "nats-creds", "key": "user.creds"}}
    assert "kubectl create secret generic nats-creds" in done.stdout


def test_a_login_in_the_url_does_not_reach_the_manifest(start_nats: StartNats) -> None:
    server = start_nats(access=user_and_password())
    user, secret = server.access.client.arguments["user"], server.access.client.arguments["password"]
    url = server.url.replace("nats://", f"nats://{user}:{secret}@")
    done = penstock("import", "--server", url)
    [connection] = yaml.safe_load_all(done.stdout)
    assert connection["spec"] == {"servers": [server.url]}
    assert secret not in done.stdout + done.stderr
    assert "put it into a Secret, and name that in auth.userPasswordSecretRef." in done.stdout


def test_a_server_that_is_not_there_is_said_in_a_sentence() -> None:
    done = penstock("import", "--server", "nats://127.0.0.1:1")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr


def test_no_server_is_a_wrong_usage() -> None:
    done = penstock("import")
    assert done.returncode == 2
    assert "Say which server: --server URL" in done.stderr
