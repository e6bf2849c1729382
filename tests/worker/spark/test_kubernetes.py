"""Spark whose executors are pods: its settings follow from the driver's pod."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock_worker.spark import defaults, kubernetes
from penstock_worker.spark.executor import executor_command
from penstock_worker.spark.problems import CannotStartError
from tests.testbed import ports
from tests.testbed.waiting import eventually
from tests.worker.driver.driving import LONG_SECONDS, RunningDriver

URL = "k8s://https://kubernetes.default.svc"
POD = {
    "PENSTOCK_POD_NAME": "orders-6d5f-x7k2p",
    "PENSTOCK_POD_UID": "1-2-3",
    "PENSTOCK_POD_IP": "10.1.2.3",
    "PENSTOCK_NAMESPACE": "shop",
    "PENSTOCK_IMAGE": "example/etl:1.4",
    "PENSTOCK_GROUP": "orders",
}
EXECUTOR = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@10.1.2.3:7078",
    "SPARK_EXECUTOR_ID": "7",
    "SPARK_EXECUTOR_CORES": "1",
    "SPARK_EXECUTOR_MEMORY": "1024m",
    "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "10.1.2.4",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_EXECUTOR_POD_NAME": "penstock-exec-7",
}


@pytest.fixture(autouse=True)
def in_a_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in POD.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)  # which the tests' own Spark has, once it was started


def test_executors_find_the_driver_at_its_pods_address_and_user_settings_win(tmp_path: Path) -> None:
    settings = defaults.classic(URL, tmp_path, {})
    expected = {
        "spark.master": URL,
        "spark.driver.host": "10.1.2.3",
        "spark.driver.bindAddress": "10.1.2.3",
        "spark.driver.port": "7078",
        "spark.driver.blockManager.port": "7079",
        "spark.authenticate": "true",
        "spark.kubernetes.namespace": "shop",
        "spark.kubernetes.container.image": "example/etl:1.4",
        "spark.sql.shuffle.partitions": "2",
    }
    assert expected.items() <= settings.items()
    assert "spark.kubernetes.driver.pod.name" not in settings, "Spark and our pod would wait for each other"
    conf = {
        "spark.executor.instances": "5",
        "spark.kubernetes.container.image": "mine",
        "spark.executor.cores": "2",
        "spark.authenticate": "false",
    }
    assert (conf | {"spark.sql.shuffle.partitions": "10"}).items() <= defaults.classic(URL, tmp_path, conf).items()


def test_spark_makes_a_secret_for_the_driver_and_its_executors(classic_spark: SparkSession, tmp_path: Path) -> None:
    jvm: Any = classic_spark.sparkContext._jvm  # noqa: SLF001 - Spark shows it nowhere else
    conf = jvm.org.apache.spark.SparkConf()
    for name, value in defaults.classic(URL, tmp_path, {}).items():
        conf.set(name, value)
    manager = jvm.org.apache.spark.SecurityManager
    security = manager(conf, jvm.scala.Option.empty(), getattr(manager, "$lessinit$greater$default$3")())
    security.initializeAuth()
    assert security.isAuthenticationEnabled()
    assert security.getSecretKey()
    assert not conf.contains("spark.authenticate.secret"), "Spark shows its settings"


def test_a_standalone_cluster_finds_the_driver_at_its_pods_address_and_a_local_one_hides_it(tmp_path: Path) -> None:
    """Spark would use the pod's name, which cannot be looked up outside the pod."""
    settings = defaults.classic("spark://spark:7077", tmp_path, {})
    assert (settings["spark.driver.host"], settings["spark.driver.bindAddress"]) == ("10.1.2.3", "10.1.2.3")
    assert not [name for name in settings if name.startswith("spark.kubernetes.")]
    assert defaults.classic("local[*]", tmp_path, {})["spark.driver.host"] == "127.0.0.1"


def test_settings_that_cannot_work_in_a_pod_are_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for (setting, value), report in {
        ("spark.kubernetes.namespace", "other"): "executors go with the worker's pod only where it is, shop. Leave it",
        ("spark.kubernetes.driver.pod.name", "x"): "is in the worker's own pod, orders-6d5f-x7k2p. Leave it",
        ("spark.submit.deployMode", "cluster"): "it can be client only",
    }.items():
        with subtests.test(setting), pytest.raises(CannotStartError) as caught:
            defaults.classic(URL, tmp_path, {setting: value})
        assert setting in str(caught.value)
        assert report in str(caught.value)
        assert caught.value.is_permanent


@pytest.mark.full
@pytest.mark.timeout(2 * LONG_SECONDS)
def test_a_missing_api_server_is_reported_and_tried_again() -> None:
    url = f"k8s://https://{ports.LOOPBACK}:{ports.free_port()}"
    driver = RunningDriver("driver-without-api-server", master=url)
    driver.program.env.update(POD, PENSTOCK_POD_IP=ports.LOOPBACK)

    def is_reported() -> bool:
        described = driver.describe()
        refused = f"Spark does not start on {url}: Connection refused"
        return described is not None and described.why_not == refused and not described.permanent

    with driver:
        eventually(is_reported, "Spark is refused", LONG_SECONDS)


def test_executor_pods_are_restricted_labelled_and_owned_and_have_the_users_variables(tmp_path: Path) -> None:
    of_secret = {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "lake", "key": "password"}}}
    env = [{"name": "PLAIN", "value": "1"}, of_secret]
    kubernetes.write_template(tmp_path, {}, POD | {kubernetes.ENV: json.dumps(env)})
    pod = json.loads((tmp_path / kubernetes.TEMPLATE).read_text())
    assert pod["metadata"]["labels"] == {"penstock.dev/executors-of": "orders"}
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("Pod", "orders-6d5f-x7k2p", "1-2-3")
    assert pod["spec"]["securityContext"]["runAsNonRoot"]
    (container,) = pod["spec"]["containers"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["env"] == env


def test_spark_sets_the_owner_where_there_is_more_to_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    claim = "spark.kubernetes.executor.volumes.persistentVolumeClaim.data.options.claimName"
    cases: dict[str, tuple[dict[str, str], dict[str, str]]] = {
        "volume claims": ({claim: "OnDemand"}, {}),
        "a template of the user": ({"spark.kubernetes.executor.podTemplateFile": "/mine.yaml"}, {}),
        "files of settings": ({}, {"SPARK_CONF_DIR": "/conf"}),
    }
    for name, (conf, variables) in cases.items():
        with subtests.test(name), monkeypatch.context() as patch:
            for variable, value in variables.items():
                patch.setenv(variable, value)
            assert defaults.classic(URL, tmp_path, conf)["spark.kubernetes.driver.pod.name"] == "orders-6d5f-x7k2p"
            assert not kubernetes.template(conf, POD | variables)["metadata"]["ownerReferences"]


def test_an_executor_starts_as_its_variables_say_and_names_a_missing_one(tmp_path: Path) -> None:
    variables = EXECUTOR | {"SPARK_JAVA_OPT_10": "-Db=with space", "SPARK_JAVA_OPT_2": "-Da", "SPARK_CONF_DIR": "/conf"}
    jars = tmp_path / "jars"
    jars.mkdir()
    for name in ("b.jar", "a.jar", "slf4j-api-2.jar"):
        (jars / name).touch()
    command = executor_command(variables, java=Path("/java"), home=tmp_path, options=["-Xshare:auto"])
    assert command[:7] == ["/java", "-Xshare:auto", "-Da", "-Db=with space", "-Xms1024m", "-Xmx1024m", "-cp"]
    places = ["/conf", *(str(jars / name) for name in ("slf4j-api-2.jar", "a.jar", "b.jar", "*")), "."]
    assert command[7].split(":") == places
    assert command[8].endswith("KubernetesExecutorBackend")
    assert dict(zip(command[9::2], command[10::2], strict=True)) == {
        "--driver-url": "spark://CoarseGrainedScheduler@10.1.2.3:7078",
        "--executor-id": "7",
        "--cores": "1",
        "--app-id": "spark-1",
        "--hostname": "10.1.2.4",
        "--resourceProfileId": "0",
        "--podName": "penstock-exec-7",
    }
    with pytest.raises(KeyError, match="SPARK_DRIVER_URL"):
        executor_command({"SPARK_EXECUTOR_MEMORY": "1g"}, java=Path("/java"), home=tmp_path)
