"""`penstock plan` and `penstock apply` on this machine: what they print, change, and leave alone."""

from pathlib import Path

import pytest
import yaml

from tests.operator.cli.commands import Declared, first_words, penstock, stream_names
from tests.operator.cli.groups import HANDLER
from tests.testbed import ports
from tests.testbed.nats.authentication import user_and_password
from tests.testbed.nats.fixtures import StartNats


def test_a_plan_shows_what_would_be_created_and_creates_nothing(declared: Declared, fresh_name: str) -> None:
    declared.stream(fresh_name, subjects=[f"{fresh_name}.>"], maxAge="1h")
    declared.consumer(f"{fresh_name}-etl", fresh_name)
    outcome = declared.run("plan")
    assert outcome.exit_code == 0
    assert "\x1b" not in outcome.output, "there is no terminal"
    assert outcome.stdout.splitlines() == [
        f"create            Stream default/{fresh_name}",
        f'      subjects: ["{fresh_name}.>"]',
        "      maxAge: 1h",
        f"create            Consumer default/{fresh_name}-etl",
        "",
        "2 to create",
    ]
    assert fresh_name not in stream_names(declared.url)


@pytest.mark.interpreter
def test_apply_creates_objects_in_any_order_and_then_changes_nothing(declared: Declared, fresh_name: str) -> None:
    declared.consumer(f"a-{fresh_name}", fresh_name)  # its file comes first
    declared.stream(fresh_name)
    assert declared.run("plan", "--detailed-exitcode").exit_code == 3
    first, second = declared.run("apply"), declared.run("apply")
    assert declared.run("plan", "--detailed-exitcode").exit_code == 0
    assert (first.exit_code, first_words(first.stdout)) == (0, ["created", "created", "2"])
    assert (second.exit_code, first_words(second.stdout)) == (0, ["unchanged", "unchanged", "2"])
    info = declared.ask(lambda jetstream: jetstream.consumers.info(fresh_name, f"a-{fresh_name}"))
    assert info.num_pending == 0


def test_updates_are_shown_by_field_and_observed_streams_are_not_changed(declared: Declared, fresh_name: str) -> None:
    declared.stream(fresh_name, description="old", maxAge="1h")
    declared.run("apply")
    declared.stream(fresh_name, description="new", management={"policy": "Observe"})
    observed = declared.run("apply")
    assert first_words(observed.stdout)[0] == "differs"
    assert "description" in observed.stdout
    assert declared.ask(lambda jetstream: jetstream.streams.info(fresh_name)).config["description"] == "old"
    declared.stream(fresh_name, description="new")
    lines = [line.strip() for line in declared.run("plan").stdout.splitlines()]
    assert lines[0] == f"update            Stream default/{fresh_name}"
    assert "description: old → new" in lines
    assert any(line.startswith("maxAge: ") for line in lines), "an omitted field gets its default"
    assert first_words(declared.run("apply").stdout) == ["updated", "1"]
    config = declared.ask(lambda jetstream: jetstream.streams.info(fresh_name)).config
    assert (config["description"], config["max_age"]) == ("new", 0)


def test_a_plan_warns_of_filters_and_subjects_that_overlap(declared: Declared, fresh_name: str) -> None:
    declared.stream(fresh_name, subjects=[f"{fresh_name}.>"], retention="WorkQueue")
    declared.consumer(f"{fresh_name}-a", fresh_name, filterSubjects=[f"{fresh_name}.a"])
    declared.consumer(f"{fresh_name}-b", fresh_name)
    warned = [line.strip() for line in declared.run("plan").stdout.splitlines() if "warning" in line]
    assert len(warned) == 2
    assert all(line.startswith("warning: filterSubjects: ") and "in a work queue" in line for line in warned)
    declared.stream("other", name=f"{fresh_name}-other", subjects=[f"{fresh_name}.*.eu"])
    warned = [line.strip() for line in declared.run("plan").stdout.splitlines() if "warning: subjects" in line]
    assert {line.rpartition(" of Stream default/")[2].partition(",")[0] for line in warned} == {fresh_name, "other"}


def test_missing_references_are_named_and_the_rest_is_applied(declared: Declared, fresh_name: str) -> None:
    declared.stream(fresh_name)
    declared.consumer(f"{fresh_name}-etl", fresh_name)
    declared.write("QueueGroup", fresh_name, consumerRef={"name": f"{fresh_name}-etl"}, handler=HANDLER)
    fits = declared.run("plan")
    assert (fits.exit_code, fits.stderr) == (0, "")
    assert f" QueueGroup default/{fresh_name}\n" not in fits.stdout
    declared.write("QueueGroup", fresh_name, consumerRef={"name": "gone"}, handler=HANDLER)
    declared.consumer(f"{fresh_name}-lost", "nowhere")
    declared.write("Stream", f"{fresh_name}-lost", connectionRef={"name": "missing"})
    planned = declared.run("plan")
    assert planned.exit_code == 1
    assert f"waiting           QueueGroup default/{fresh_name}" in planned.stdout
    assert "spec.consumerRef: There is no Consumer default/gone." in planned.stdout
    outcome = declared.run("apply")
    assert outcome.exit_code == 1
    assert "There is no Stream default/nowhere." in outcome.stdout
    assert "There is no Connection default/missing." in outcome.stdout
    assert outcome.stdout.splitlines()[-1] == "2 created, 3 waiting"
    assert fresh_name in stream_names(declared.url)


def test_one_of_two_objects_for_a_stream_is_a_conflict(declared: Declared, fresh_name: str) -> None:
    declared.stream("a", name=fresh_name)
    declared.stream("b", name=fresh_name, description="mine")
    assert declared.changes("plan") == {"a": "create", "b": "conflict"}
    assert declared.changes("apply") == {"a": "create", "b": "conflict"}


def test_an_immutable_field_is_changed_only_by_recreating_the_stream(declared: Declared, fresh_name: str) -> None:
    declared.stream(fresh_name)
    declared.run("apply")
    declared.ask(lambda jetstream: jetstream.publish(fresh_name, b"precious"))
    declared.stream(fresh_name, storage="Memory")
    refused = declared.run("apply")
    assert (refused.exit_code, first_words(refused.stdout)[0]) == (1, "refused")
    assert "management.immutableChange to Recreate" in refused.stdout
    file = declared.folder / f"Stream-{fresh_name}.yaml"
    manifest = yaml.safe_load(file.read_text())
    manifest["spec"]["management"] = {"immutableChange": "Recreate"}
    manifest["metadata"]["annotations"] = {"penstock.dev/recreate-generation": "1"}
    file.write_text(yaml.safe_dump(manifest))
    planned = declared.run("plan")
    assert first_words(planned.stdout)[0] == "recreate"
    assert "loss: " in planned.stdout
    assert declared.ask(lambda jetstream: jetstream.streams.info(fresh_name)).state.messages == 1
    assert first_words(declared.run("apply").stdout)[0] == "recreated"
    assert declared.ask(lambda jetstream: jetstream.streams.info(fresh_name)).config["storage"] == "memory"


def test_a_stream_with_more_replicas_than_servers_is_refused(declared: Declared, fresh_name: str) -> None:
    declared.stream(fresh_name, replicas=3)
    [found] = declared.data("apply", "--timeout", "0")["objects"]
    assert found["change"] == "refused"


def test_an_option_replaces_unreachable_servers_of_the_connection(declared: Declared, fresh_name: str) -> None:
    declared.write("Connection", "nats", servers=[f"nats://{ports.LOOPBACK}:{ports.free_port()}"])
    declared.stream(fresh_name)
    outcome = declared.run("plan")
    assert (outcome.exit_code, first_words(outcome.stdout)[0]) == (1, "unknown")
    assert "Connection default/nats is not ready" in outcome.stdout
    assert declared.run("apply", "--server", declared.url).exit_code == 0
    assert fresh_name in stream_names(declared.url)


def test_secrets_come_from_manifests_or_a_folder_and_are_not_printed(start_nats: StartNats, tmp_path: Path) -> None:
    login = user_and_password()
    user, password = login.client.arguments["user"], login.client.arguments["password"]
    declared = Declared(tmp_path / "manifests", "")
    auth = {"userPasswordSecretRef": {"name": "login"}}
    declared.write("Connection", "nats", servers=[start_nats(access=login).url], auth=auth)
    declared.stream("orders")
    missing = declared.run("apply", "--timeout", "0")
    assert missing.exit_code == 1
    assert "Secret default/login does not exist" in missing.stdout
    assert "hint: put the Secret into the manifests, or into the folder that --secrets names" in missing.stderr
    folder = tmp_path / "secrets" / "login"
    folder.mkdir(parents=True)
    (folder / "username").write_text(user)
    (folder / "password").write_text(password)
    assert declared.run("apply", "--secrets", folder.parent).exit_code == 0
    declared.secret("login", {"username": user, "password": password})
    assert declared.run("apply").exit_code == 0
    declared.secret("login", {"username": user, "password": "wrong-one"})
    refused = declared.run("plan")
    assert refused.exit_code == 1
    assert first_words(refused.stdout)[0] == "unknown"
    assert "wrong-one" not in refused.output


def test_manifests_are_read_from_standard_input(declared: Declared, fresh_name: str) -> None:
    declared.stream(fresh_name)
    assert penstock("plan", "-f", "-", stdin=yaml.safe_dump_all(declared.objects())).exit_code == 0


def test_invalid_manifests_are_refused_before_any_server_is_asked(declared: Declared) -> None:
    declared.stream("orders", replicas="six")
    sentence = "Stream-orders.yaml:8: Stream default/orders: spec.replicas: It should be a valid integer."
    for command in ("plan", "apply", "get", "lag"):
        outcome = declared.run(command)
        assert (outcome.exit_code, outcome.stdout) == (1, "")
        assert sentence in outcome.stderr


def test_many_objects_are_created_and_then_unchanged(declared: Declared, fresh_name: str) -> None:
    for number in range(100):
        declared.stream(f"{fresh_name}-{number}")
        declared.consumer(f"{fresh_name}-{number}-etl", f"{fresh_name}-{number}")
    assert declared.run("apply").stdout.splitlines()[-1] == "200 created"
    assert declared.run("apply").stdout.splitlines()[-1] == "200 unchanged"
    assert len({name for name in stream_names(declared.url) if name.startswith(f"{fresh_name}-")}) == 100
