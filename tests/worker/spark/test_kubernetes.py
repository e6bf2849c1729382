"""Spark whose executors are pods: what it is told follows from the pod that the driver is in."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock_worker.spark import defaults, kubernetes
from penstock_worker.spark.executor import executor_command
from penstock_worker.spark.problems import CannotStartError
from tests.testbed import ports
from tests.worker.driver.driving import LONG_SECONDS

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


@pytest.fixture
def in_a_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in POD.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)  # which the tests' own Spark has, once it was started


@pytest.mark.usefixtures("in_a_pod")
def test_executors_are_made_beside_the_pod_and_find_the_driver_at_its_address_and_fixed_ports(tmp_path: Path) -> None:
    told = defaults.classic(URL, tmp_path, {})
    expected = {
        "spark.master": URL,
        "spark.driver.host": "10.1.2.3",
        "spark.driver.bindAddress": "10.1.2.3",
        "spark.driver.port": "7078",
        "spark.driver.blockManager.port": "7079",
        "spark.kubernetes.namespace": "shop",
        "spark.kubernetes.container.image": "example/etl:1.4",
        "spark.sql.shuffle.partitions": "2",
    }
    assert expected.items() <= told.items()
    assert "spark.kubernetes.driver.pod.name" not in told, "Spark would wait until our pod is ready, which waits for it"


@pytest.mark.usefixtures("in_a_pod")
def test_executors_of_a_standalone_cluster_find_the_driver_at_its_pods_address(tmp_path: Path) -> None:
    """Spark would have told them the pod's name, which nobody else can look up."""
    told = defaults.classic("spark://spark:7077", tmp_path, {})
    assert (told["spark.driver.host"], told["spark.driver.bindAddress"]) == ("10.1.2.3", "10.1.2.3")
    assert not [name for name in told if name.startswith("spark.kubernetes.")]


@pytest.mark.usefixtures("in_a_pod")
def test_nobody_else_reaches_a_driver_whose_spark_is_in_its_pod(tmp_path: Path) -> None:
    assert defaults.classic("local[*]", tmp_path, {})["spark.driver.host"] == "127.0.0.1"


@pytest.mark.usefixtures("in_a_pod")
def test_what_the_user_sets_goes_before_it(tmp_path: Path) -> None:
    conf = {"spark.executor.instances": "5", "spark.kubernetes.container.image": "mine", "spark.executor.cores": "2"}
    told = defaults.classic(URL, tmp_path, conf)
    assert conf.items() <= told.items()
    assert told["spark.sql.shuffle.partitions"] == "10"


@pytest.mark.usefixtures("in_a_pod")
@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("spark.kubernetes.namespace", "other", "executors go with the worker's pod only where it is, shop. Leave it"),
        ("spark.kubernetes.driver.pod.name", "x", "the driver is in the worker's own pod, orders-6d5f-x7k2p. Leave it"),
        ("spark.submit.deployMode", "cluster", "it can be client only"),
    ],
)
def test_what_cannot_work_is_refused_in_a_sentence(tmp_path: Path, setting: str, value: str, said: str) -> None:
    with pytest.raises(CannotStartError) as caught:
        defaults.classic(URL, tmp_path, {setting: value})
    assert setting in str(caught.value)
    assert said in str(caught.value)
    assert caught.value.is_permanent


STARTS = """
import sys
from pathlib import Path
from penstock_worker.spark.classic import ClassicSpark
from penstock_worker.spark.problems import CannotStartError
spark = ClassicSpark(sys.argv[1], Path(sys.argv[2]), {"spark.ui.enabled": "false"}, 1)
try:
    spark.start()
except CannotStartError as problem:
    print(problem.is_permanent, problem)
spark.close()
"""


@pytest.mark.timeout(LONG_SECONDS)
def test_an_api_server_that_is_not_there_is_told_in_a_sentence_and_tried_again(tmp_path: Path) -> None:
    url = f"k8s://https://{ports.LOOPBACK}:{ports.free_port()}"
    pod = {**POD, "PENSTOCK_POD_IP": ports.LOOPBACK}
    outcome = subprocess.run(
        [sys.executable, "-c", STARTS, url, str(tmp_path)],
        env={**os.environ, **pod},
        capture_output=True,
        text=True,
        check=True,
    )
    assert outcome.stdout == f"False Spark does not start on {url}: Connection refused\n"


def test_the_pods_of_executors_are_restricted_and_known_by_their_group(tmp_path: Path) -> None:
    kubernetes.write_template(tmp_path, {}, POD)
    pod = json.loads((tmp_path / kubernetes.TEMPLATE).read_text())
    assert pod["metadata"]["labels"] == {"penstock.dev/executors-of": "orders"}
    assert pod["spec"]["securityContext"]["runAsNonRoot"]
    (container,) = pod["spec"]["containers"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_executors_go_with_the_drivers_pod() -> None:
    [owner] = kubernetes.template({}, POD)["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("Pod", "orders-6d5f-x7k2p", "1-2-3")


@pytest.mark.usefixtures("in_a_pod")
@pytest.mark.parametrize(
    ("conf", "variables"),
    [
        ({"spark.kubernetes.executor.volumes.persistentVolumeClaim.data.options.claimName": "OnDemand"}, {}),
        ({"spark.kubernetes.executor.podTemplateFile": "/mine.yaml"}, {}),
        ({}, {"SPARK_CONF_DIR": "/conf"}),
    ],
    ids=["claims of volumes", "a template of the user's", "files of settings"],
)
def test_spark_makes_the_pod_the_owner_where_there_is_more_to_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, conf: dict[str, str], variables: dict[str, str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert defaults.classic(URL, tmp_path, conf)["spark.kubernetes.driver.pod.name"] == "orders-6d5f-x7k2p"
    assert not kubernetes.template(conf, POD | variables)["metadata"]["ownerReferences"]


def test_executors_have_the_users_variables_as_they_were_declared() -> None:
    of_secret = {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "lake", "key": "password"}}}
    env = [{"name": "PLAIN", "value": "1"}, of_secret]
    [container] = kubernetes.template({}, POD | {kubernetes.ENV: json.dumps(env)})["spec"]["containers"]
    assert container["env"] == env


def test_an_executor_is_started_as_the_driver_tells_by_variables(tmp_path: Path) -> None:
    told = EXECUTOR | {"SPARK_JAVA_OPT_10": "-Db=with space", "SPARK_JAVA_OPT_2": "-Da", "SPARK_CONF_DIR": "/conf"}
    jars = tmp_path / "jars"
    jars.mkdir()
    for name in ("b.jar", "a.jar", "slf4j-api-2.jar"):
        (jars / name).touch()
    command = executor_command(told, java=Path("/java"), home=tmp_path, options=["-Xshare:auto"])
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


def test_an_executor_that_nobody_told_anything_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="SPARK_DRIVER_URL"):
        executor_command({"SPARK_EXECUTOR_MEMORY": "1g"}, java=Path("/java"), home=tmp_path)
