"""`penstock plan` and `penstock apply` in the local home: what they say, what they do, and what they leave alone."""

from pathlib import Path

import pytest
import yaml

from tests.operator.cli.commands import Declared, ask, first_words, penstock, stream_names
from tests.testbed import ports
from tests.testbed.nats.authentication import Access, user_and_password
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.server import NatsServer


def test_a_plan_tells_what_is_to_be_made_and_makes_nothing(
    declared: Declared, server: NatsServer, fresh_name: str
) -> None:
    declared.stream(fresh_name, subjects=[f"{fresh_name}.>"], maxAge="1h")
    declared.consumer(f"{fresh_name}-etl", fresh_name)
    outcome = declared.run("plan")
    assert outcome.exit_code == 0
    assert outcome.stdout.splitlines() == [
        f"create            Stream default/{fresh_name}",
        f'      subjects: ["{fresh_name}.>"]',
        "      maxAge: 1h",
        f"create            Consumer default/{fresh_name}-etl",
        "",
        "2 to create",
    ]
    assert fresh_name not in stream_names(server.url)


def test_apply_makes_what_is_declared_whatever_the_order_and_then_leaves_it_alone(
    declared: Declared, server: NatsServer, fresh_name: str
) -> None:
    declared.consumer(f"a-{fresh_name}", fresh_name)  # its file comes first
    declared.stream(fresh_name)
    first, second = declared.run("apply"), declared.run("apply")
    assert (first.exit_code, first_words(first.stdout)) == (0, ["created", "created", "2"])
    assert (second.exit_code, first_words(second.stdout)) == (0, ["unchanged", "unchanged", "2"])
    info = ask(server.url, lambda jetstream: jetstream.consumers.info(fresh_name, f"a-{fresh_name}"))
    assert info.num_pending == 0


def test_an_update_is_told_field_by_field_and_what_is_left_out_gets_its_default(
    declared: Declared, server: NatsServer, fresh_name: str
) -> None:
    declared.stream(fresh_name, description="old", maxAge="1h")
    declared.run("apply")
    declared.stream(fresh_name, description="new")
    outcome = declared.run("plan")
    assert outcome.stdout.splitlines()[0] == f"update            Stream default/{fresh_name}"
    assert any(line.strip() == "description: old → new" for line in outcome.stdout.splitlines())
    assert any(line.strip().startswith("maxAge: ") for line in outcome.stdout.splitlines())
    assert first_words(declared.run("apply").stdout) == ["updated", "1"]
    config = ask(server.url, lambda jetstream: jetstream.streams.info(fresh_name)).config
    assert (config["description"], config["max_age"]) == ("new", 0)


def test_what_works_and_may_surprise_is_a_warning_of_the_plan(declared: Declared, fresh_name: str) -> None:
    declared.stream(fresh_name, subjects=[f"{fresh_name}.>"], retention="WorkQueue")
    declared.consumer(f"{fresh_name}-a", fresh_name, filterSubjects=[f"{fresh_name}.a"])
    declared.consumer(f"{fresh_name}-b", fresh_name)
    warned = [line.strip() for line in declared.run("plan").stdout.splitlines() if "warning" in line]
    assert len(warned) == 2
    assert all(line.startswith("warning: filterSubjects: ") and "in a work queue" in line for line in warned)


def test_a_detailed_exit_code_tells_whether_something_is_to_be_done(declared: Declared, fresh_name: str) -> None:
    declared.stream(fresh_name)
    assert declared.run("plan", "--detailed-exitcode").exit_code == 3
    declared.run("apply")
    assert declared.run("plan", "--detailed-exitcode").exit_code == 0


def test_what_is_waited_for_is_named_and_the_rest_is_done(
    declared: Declared, server: NatsServer, fresh_name: str
) -> None:
    declared.stream(fresh_name)
    declared.consumer(f"{fresh_name}-lost", "nowhere")
    declared.write("Stream", f"{fresh_name}-lost", connectionRef={"name": "nobody"})
    outcome = declared.run("apply")
    assert outcome.exit_code == 1
    assert "There is no Stream default/nowhere." in outcome.stdout
    assert "There is no Connection default/nobody." in outcome.stdout
    assert outcome.stdout.splitlines()[-1] == "1 created, 2 waiting"
    assert fresh_name in stream_names(server.url)


def test_two_objects_for_one_stream_are_a_conflict_and_one_of_them_is_made(declared: Declared, fresh_name: str) -> None:
    declared.stream("a", name=fresh_name)
    declared.stream("b", name=fresh_name, description="mine")
    assert declared.changes("plan") == {"a": "create", "b": "conflict"}
    assert declared.changes("apply") == {"a": "create", "b": "conflict"}


def test_a_field_that_no_update_changes_is_refused_with_the_way_out(declared: Declared, fresh_name: str) -> None:
    declared.stream(fresh_name)
    declared.run("apply")
    declared.stream(fresh_name, storage="Memory")
    outcome = declared.run("apply")
    assert outcome.exit_code == 1
    assert first_words(outcome.stdout)[0] == "refused"
    assert "management.immutableChange to Recreate" in outcome.stdout


def test_what_is_made_anew_loses_its_messages_and_the_plan_says_so(
    declared: Declared, server: NatsServer, fresh_name: str
) -> None:
    declared.stream(fresh_name)
    declared.run("apply")
    ask(server.url, lambda jetstream: jetstream.publish(fresh_name, b"precious"))
    file = declared.folder / f"Stream-{fresh_name}.yaml"
    manifest = yaml.safe_load(file.read_text())
    manifest["spec"] |= {"storage": "Memory", "management": {"immutableChange": "Recreate"}}
    manifest["metadata"]["annotations"] = {"penstock.dev/recreate-generation": "1"}
    file.write_text(yaml.safe_dump(manifest))
    planned = declared.run("plan")
    assert first_words(planned.stdout)[0] == "recreate"
    assert "loss: " in planned.stdout
    assert ask(server.url, lambda jetstream: jetstream.streams.info(fresh_name)).state.messages == 1
    assert first_words(declared.run("apply").stdout)[0] == "recreated"
    assert ask(server.url, lambda jetstream: jetstream.streams.info(fresh_name)).config["storage"] == "memory"


def test_what_is_only_observed_is_not_changed(declared: Declared, server: NatsServer, fresh_name: str) -> None:
    declared.stream(fresh_name)
    declared.run("apply")
    declared.stream(fresh_name, description="mine", management={"policy": "Observe"})
    outcome = declared.run("apply")
    assert first_words(outcome.stdout)[0] == "differs"
    assert "description" in outcome.stdout
    assert "description" not in ask(server.url, lambda jetstream: jetstream.streams.info(fresh_name)).config


def test_a_server_that_is_away_is_said_so_in_a_sentence(declared: Declared, fresh_name: str) -> None:
    declared.write("Connection", "nats", servers=[f"nats://{ports.LOOPBACK}:{ports.free_port()}"])
    declared.stream(fresh_name)
    outcome = declared.run("plan")
    assert outcome.exit_code == 1
    assert first_words(outcome.stdout)[0] == "unknown"
    assert "Connection default/nats is not ready" in outcome.stdout


def test_another_server_can_be_meant_than_the_connection_says(
    declared: Declared, server: NatsServer, fresh_name: str
) -> None:
    declared.write("Connection", "nats", servers=["nats://production.invalid:4222"])
    declared.stream(fresh_name)
    assert declared.run("apply", "--server", server.url).exit_code == 0
    assert fresh_name in stream_names(server.url)


@pytest.fixture
def login() -> Access:
    return user_and_password()


@pytest.fixture
def guarded(start_nats: StartNats, login: Access, tmp_path: Path) -> Declared:
    """A server that wants a user and a password, and a Connection that names a Secret."""
    server = start_nats(access=login)
    declared = Declared(tmp_path, server.url)
    auth = {"userPasswordSecretRef": {"name": "login"}}
    declared.write("Connection", "nats", servers=[server.url], auth=auth)
    declared.stream("orders")
    return declared


def test_a_secret_that_is_missing_is_asked_for_with_a_hint(guarded: Declared) -> None:
    missing = guarded.run("apply", "--timeout", "0")
    assert missing.exit_code == 1
    assert "Secret default/login does not exist" in missing.stdout
    assert "hint: put the Secret into the manifests, or into the folder that --secrets names" in missing.stderr


def test_a_secret_is_found_in_a_folder(guarded: Declared, login: Access, tmp_path: Path) -> None:
    folder = tmp_path / "secrets" / "login"
    folder.mkdir(parents=True)
    (folder / "username").write_text(login.client.arguments["user"])
    (folder / "password").write_text(login.client.arguments["password"])
    assert guarded.run("apply", "--secrets", folder.parent).exit_code == 0


def test_a_secret_is_found_in_a_manifest(guarded: Declared, login: Access) -> None:
    secret = {"username": login.client.arguments["user"], "password": login.client.arguments["password"]}
    guarded.secret("login", secret)
    assert guarded.run("apply").exit_code == 0


def test_a_server_that_refuses_us_is_quoted_without_our_password(guarded: Declared, login: Access) -> None:
    guarded.secret("login", {"username": login.client.arguments["user"], "password": "wrong-one"})
    refused = guarded.run("plan")
    assert refused.exit_code == 1
    assert first_words(refused.stdout)[0] == "unknown"
    assert "wrong-one" not in refused.output


def test_manifests_come_from_standard_input_as_well(server: NatsServer, fresh_name: str) -> None:
    manifests = f"""
apiVersion: penstock.dev/v1alpha1
kind: Connection
metadata: {{name: nats}}
spec: {{servers: ["{server.url}"]}}
---
apiVersion: penstock.dev/v1alpha1
kind: Stream
metadata: {{name: {fresh_name}}}
spec: {{connectionRef: {{name: nats}}}}
"""
    assert penstock("plan", "-f", "-", stdin=manifests).exit_code == 0


@pytest.mark.parametrize("command", ["plan", "apply", "get", "lag"])
def test_what_cannot_be_meant_is_refused_before_any_server_is_asked(declared: Declared, command: str) -> None:
    declared.stream("orders", replicas="six")
    outcome = declared.run(command)
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert "Stream-orders.yaml:8: Stream default/orders: spec.replicas: It should be a valid integer." in outcome.stderr


@pytest.mark.parametrize("arguments", [["plan"], ["apply"], ["get", "--home", "local"], ["get", "pods"]], ids=" ".join)
def test_wrong_usage_is_told_from_failure(arguments: list[str]) -> None:
    assert penstock(*arguments).exit_code == 2


def test_nothing_is_painted_where_no_terminal_shows_it(declared: Declared, fresh_name: str) -> None:
    declared.stream(fresh_name)
    assert "\x1b" not in declared.run("plan").output


def test_many_objects_are_made_and_then_found_unchanged(
    declared: Declared, server: NatsServer, fresh_name: str
) -> None:
    for number in range(100):
        declared.stream(f"{fresh_name}-{number}")
        declared.consumer(f"{fresh_name}-{number}-etl", f"{fresh_name}-{number}")
    assert declared.run("apply").stdout.splitlines()[-1] == "200 created"
    assert declared.run("apply").stdout.splitlines()[-1] == "200 unchanged"
    assert len({name for name in stream_names(server.url) if name.startswith(f"{fresh_name}-")}) == 100


def test_a_stream_that_the_server_would_refuse_is_refused_by_the_plan(declared: Declared, fresh_name: str) -> None:
    declared.stream(fresh_name, replicas=3)
    [found] = declared.data("apply", "--timeout", "0")["objects"]
    assert found["change"] == "refused"


def test_a_queue_group_is_looked_at_together_with_its_consumer(declared: Declared, fresh_name: str) -> None:
    declared.stream(fresh_name)
    declared.consumer(f"{fresh_name}-etl", fresh_name)
    group = {"handler": {"entrypoint": "etl:process", "configMapRef": {"name": "code"}}}
    declared.write("QueueGroup", fresh_name, consumerRef={"name": f"{fresh_name}-etl"}, **group)
    fits = declared.run("plan")
    assert (fits.exit_code, fits.stderr) == (0, "")
    assert f" QueueGroup default/{fresh_name}\n" not in fits.stdout
    declared.write("QueueGroup", fresh_name, consumerRef={"name": "gone"}, **group)
    outcome = declared.run("plan")
    assert outcome.exit_code == 1
    assert f"waiting           QueueGroup default/{fresh_name}" in outcome.stdout
    assert "spec.consumerRef: There is no Consumer default/gone." in outcome.stdout
