"""What is applied for a queue group: its content, what changes it, and what is refused."""

import json
from typing import Any

import pytest

from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Waiting
from penstock_operator.plan.workload import Code, Equipment, Workload, code_print
from penstock_operator.plan.workload.naming import label_of
from penstock_worker.policy.telling import read_settings
from tests.operator.plan.workload.workloads import (
    CONNECTION,
    GROUP,
    HANDLER,
    asked,
    container,
    declared,
    group,
    made,
    named,
    objects,
    pod_of,
    with_master,
)

Json = dict[str, Any]
SECRET_AUTH: Json = {**CONNECTION, "auth": {"userPasswordSecretRef": {"name": "nats.user"}}}
KUBERNETES = "k8s://https://kubernetes.default.svc"
IMAGE: Json = {"entrypoint": "etl:process", "image": "example/etl:1.4"}


def settings(of: Any) -> Any:  # noqa: ANN401 - a workload, and the worker's settings
    annotations = of.deployment["spec"]["template"]["metadata"]["annotations"]
    return read_settings(annotations["penstock.dev/settings"])


def mounts(of: Any, name: str) -> dict[str, str]:  # noqa: ANN401 - a workload
    """Return the paths of a container's mounts by the names of their volumes."""
    return {each["name"]: each["mountPath"] for each in container(of, name)["volumeMounts"]}


# What is in it


def test_objects_belong_to_their_group_and_leave_replicas_to_the_scaler() -> None:
    found = made(group())
    assert "replicas" not in found.deployment["spec"]
    for manifest in objects(found):
        metadata = manifest["metadata"]
        assert (metadata["name"], metadata["namespace"]) == ("etl", "shop")
        [owner] = metadata["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["uid"]) == ("QueueGroup", "etl", "uid-of-etl")
        assert (owner["controller"], owner["blockOwnerDeletion"]) == (True, False)
        assert metadata["labels"]["penstock.dev/queue-group"] == "etl"


def test_pods_are_selected_by_one_label_that_is_cut_uniquely_if_too_long() -> None:
    found = made(group())
    assert found.selector == "penstock.dev/queue-group=etl"
    assert found.deployment["spec"]["selector"] == {"matchLabels": {"penstock.dev/queue-group": "etl"}}
    names = [f"{'a' * 60}.{last}" * 2 for last in ("b", "c")]
    labels = [label_of(name) for name in names]
    assert len({*labels}) == 2
    assert all(len(label) <= 63 and label[0].isalnum() and label[-1].isalnum() for label in labels)
    assert made(group(names[0])).selector == f"penstock.dev/queue-group={labels[0]}"


def test_worker_reads_its_settings_and_answers_the_probes_where_they_ask() -> None:
    found = made(group(batch={"deadline": "90s"}))
    told, engine, driver = settings(found), container(found, "engine"), container(found, "driver")
    assert (told.engine.group, told.engine.worker, told.engine.probes) == ("shop/etl", "", ":8081")
    assert (told.driver.python_path, told.socket) == (("/opt/penstock-code",), "/run/penstock/driver.sock")
    assert told.connection.servers == ("nats://nats.nats:4222",)
    assert told.engine.probes == f":{engine['livenessProbe']['httpGet']['port']}"
    assert told.engine.probes == f":{engine['readinessProbe']['httpGet']['port']}"
    assert told.driver.probes == f":{driver['livenessProbe']['httpGet']['port']}"
    assert "readinessProbe" not in driver


def test_grace_period_covers_a_batch_and_the_engine_has_a_little_less() -> None:
    found = made(group(batch={"deadline": "90s"}))
    assert pod_of(found)["spec"]["terminationGracePeriodSeconds"] == 120
    assert settings(found).engine.grace_seconds == 105
    shorter = made(group(template={"spec": {"terminationGracePeriodSeconds": 10}}))
    assert pod_of(shorter)["spec"]["terminationGracePeriodSeconds"] == 10
    assert settings(shorter).engine.grace_seconds == 1


def test_only_the_engine_has_the_connections_secrets() -> None:
    found = made(group(), declared("Connection", "nats", SECRET_AUTH))
    [source] = named(pod_of(found)["spec"]["volumes"], "penstock-secrets")["projected"]["sources"]
    assert source["secret"] == {
        "name": "nats.user",
        "items": [{"key": "password", "path": "nats.user/password"}, {"key": "username", "path": "nats.user/username"}],
    }
    path = mounts(found, "engine")["penstock-secrets"]
    assert "penstock-secrets" not in mounts(found, "driver")
    assert settings(found).connection.user_file == f"{path}/nats.user/username"
    assert settings(found).connection.inbox_prefix == "_INBOX_shop_etl"


def test_only_the_driver_has_the_tokens_for_spark_and_for_the_api_server() -> None:
    found = made(with_master("sc://connect:15002"))
    assert "penstock-token" not in mounts(found, "engine")
    assert settings(found).driver.token_file == f"{mounts(found, 'driver')['penstock-token']}/spark/token"
    found = made(with_master(KUBERNETES))
    assert "penstock-api" in mounts(found, "driver")
    assert "penstock-api" not in mounts(found, "engine")
    assert [port["containerPort"] for port in container(found, "driver")["ports"]] == [7078, 7079]
    for other in ("local[*]", "sc://connect", "spark://spark"):
        pod = pod_of(made(with_master(other)))["spec"]
        assert pod["automountServiceAccountToken"] is False
        assert "penstock-api" not in [volume["name"] for volume in pod["volumes"]]


def test_code_is_in_a_config_map_or_in_the_image() -> None:
    mounted = made(group())
    assert container(mounted, "driver")["image"] == "example/worker:1"
    assert named(pod_of(mounted)["spec"]["volumes"], "penstock-code")["configMap"] == {"name": "code"}
    built = made(group(handler=IMAGE))
    assert container(built, "driver")["image"] == "example/etl:1.4"
    assert container(built, "engine")["image"] == "example/worker:1"
    assert settings(mounted).driver.code_source == mounts(mounted, "driver")["penstock-code"]
    assert settings(mounted).driver.python_path == (mounts(mounted, "driver")["penstock-code-copy"],)
    assert (settings(built).driver.python_path, settings(built).driver.code_source) == ((), None)
    assert "imagePullPolicy" not in container(built, "driver")


def test_environment_of_the_code_reaches_the_driver_and_its_executors() -> None:
    of_secret = {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
    may_miss = {"name": "MAY", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k", "optional": True}}}
    env = [{"name": "PLAIN", "value": "1"}, of_secret, may_miss]
    assert container(made(group(handler={**HANDLER, "env": env})), "driver")["env"][-3:] == env
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)2"}]
    account = {"spec": {"serviceAccountName": "spark"}}
    found = made(group(spark={"master": KUBERNETES}, template=account, handler={**HANDLER, "env": env}))
    told = {each["name"]: each for each in container(found, "driver")["env"]}
    assert told["PENSTOCK_POD_UID"]["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.uid"}}
    as_the_driver_sees_it = told["PENSTOCK_EXECUTOR_ENV"]["value"].replace("$$(", "$(")
    assert json.loads(as_the_driver_sees_it) == env
    assert "PENSTOCK_EXECUTOR_ENV" not in {each["name"] for each in container(made(group()), "driver")["env"]}


def test_operators_own_settings_are_in_all_pods() -> None:
    told = Equipment(worker_image="example/worker:2", pull_policy="Always", pull_secrets=("registry",))
    found = made(group(), equipment=told)
    engine = container(found, "engine")
    assert (engine["image"], engine["imagePullPolicy"]) == ("example/worker:2", "Always")
    assert pod_of(found)["spec"]["imagePullSecrets"] == [{"name": "registry"}]


# What a change of the group changes


SAME: tuple[Json, ...] = (
    {"scaling": {"minReplicas": 3, "maxReplicas": 7, "targetDrain": "2m"}},
    {"scaling": {"mode": "External"}, "replicas": 4},
    {"suspend": True},
    {"network": {"egress": []}},
)
DIFFERENT: tuple[Json, ...] = (
    {"batch": {"maxMessages": 7}},
    {"spark": {"master": "local[2]"}},
    {"handler": IMAGE},
    {"handler": {**HANDLER, "env": [{"name": "A", "value": "1"}]}},
    {"retry": {"maxAttempts": 2}},
    {"template": {"spec": {"nodeSelector": {"disk": "fast"}}}},
    {"template": {"metadata": {"labels": {"team": "etl"}}}},
)


def test_workers_are_replaced_exactly_if_a_change_concerns_them(subtests: pytest.Subtests) -> None:
    for change in SAME:
        with subtests.test(str(change)):
            assert made(group(**change)).print == made(group()).print
    for change in DIFFERENT:
        with subtests.test(str(change)):
            assert made(group(**change)).print != made(group()).print


def test_changed_code_and_the_restart_annotation_replace_all_workers() -> None:
    one, same, other = ({"a": "1", "b": "2"}, json.loads('{"b": "2", "a": "1"}'), {"a": "1", "b": "3"})
    assert code_print(one, {}) == code_print(same, {})
    assert code_print({"a": "1"}, {}) != code_print({}, {"a": "1"})
    once, twice = (declared("QueueGroup", "etl", GROUP, annotations={"penstock.dev/restart": at}) for at in "12")
    changed = [made(group(), code=Code("code", code_print(files, {}))) for files in (one, other)]
    assert len({each.print for each in (made(group()), made(once), made(twice), *changed)}) == 5


def test_workers_log_in_as_the_user_of_their_group_also_over_a_connection_of_another_namespace() -> None:
    own = {"userPasswordSecretRef": {"name": "own.user"}}
    found = made(group(auth=own), declared("Connection", "nats", SECRET_AUTH, "infra"))
    [source] = named(pod_of(found)["spec"]["volumes"], "penstock-secrets")["projected"]["sources"]
    assert source["secret"]["name"] == "own.user"
    assert settings(found).connection.user_file == "/etc/penstock-secrets/own.user/username"


def test_only_the_object_that_changes_has_another_fingerprint() -> None:
    before, after = made(group()), made(group(network={"egress": []}))
    marks = [
        [each["metadata"]["annotations"]["penstock.dev/applied"] for each in objects(found)]
        for found in (before, after)
    ]
    assert [was == becomes for was, becomes in zip(*marks, strict=True)] == [True, True, False]


# What is refused


ELSEWHERE = declared("Connection", "nats", SECRET_AUTH, "infra")
MUCH_CONF = {f"spark.much.{number}": "x" * 4000 for number in range(60)}
REFUSED: tuple[tuple[Workload | Waiting, Reason, str], ...] = (
    (asked(group(), code=None), Reason.CODE_NOT_FOUND, "no ConfigMap shop/code"),
    (asked(group(), ELSEWHERE), Reason.SECRET_ELSEWHERE, ""),
    (asked(group(spark={"master": KUBERNETES})), Reason.INVALID, "serviceAccountName"),
    (asked(group(spark={"conf": MUCH_CONF})), Reason.INVALID, "KiB"),
)
TOO_MUCH: tuple[tuple[Json, str], ...] = (
    ({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}, "volumes[v] must not be of the type hostPath"),
    ({"containers": [{"name": "driver", "$patch": "delete"}]}, "must keep driver"),
    ({"initContainers": [{"name": "engine", "volumeMounts": [{"$patch": "replace"}]}]}, "must keep what"),
    ({"initContainers": [{"name": "engine", "restartPolicy": None}]}, "must keep engine"),
    ({"volumes": [{"name": "v", "$patch": "replace"}]}, "must keep those"),
    ({"$retainKeys": ["containers"]}, "only $patch is taken"),
)


def test_group_that_cannot_run_or_whose_template_asks_for_too_much_is_refused(subtests: pytest.Subtests) -> None:
    of_template = [(asked(group(template={"spec": spec})), Reason.TEMPLATE_REFUSED, said) for spec, said in TOO_MUCH]
    for found, reason, said in (*REFUSED, *of_template):
        with subtests.test(f"{reason}: {said}"):
            assert isinstance(found, Waiting)
            assert found.reason is reason
            assert said in found.message
    assert made(group(), declared("Connection", "nats", CONNECTION, "infra")).others, "it has no Secret"
