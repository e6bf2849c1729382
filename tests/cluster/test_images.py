"""The images, run as a cluster runs them: what is in them, what is not, and that they work without any rights."""

import pytest

from tests.cluster.pods import run_pod
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.run import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]  # images are built and loaded, and a JVM starts

VERSION = (ROOT / "VERSION").read_text().strip()
A_USER_WITHOUT_A_NAME = 54321

LOOK_AROUND = """
import importlib.util, os, pathlib, shutil
programs = ["java", "cc", "gcc", "g++", "make", "uv", "pip", "apt-get"]
print("programs", *[name for name in programs if shutil.which(name)])
print("packages", *[name for name in ["pip", "pyspark", "kopf", "pytest"] if importlib.util.find_spec(name)])
places = [pathlib.Path(place) for place in ["/tmp", "/var/lib/apt/lists", "/var/cache/apt", "/run"]]
files = [path for place in places for path in place.rglob("*") if path.is_file()]
print("left", *[path for path in files if not path.is_relative_to("/run/secrets/kubernetes.io")])
print("user", os.getuid())
"""

COUNT = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
print("sum", spark.range(1000).selectExpr("sum(id) AS total").first().total)
print("rows", spark.createDataFrame([(1, "a"), (2, "b")], "id long, name string").toPandas().shape[0])
spark.stop()
"""


def look_around(namespace: Namespace, image: str) -> dict[str, list[str]]:
    said = run_pod(namespace, "look-around", image, command=["python3", "-c", LOOK_AROUND])
    return {words[0]: words[1:] for words in map(str.split, said.splitlines())}


def test_operator_image_has_this_version_no_java_no_spark_and_no_build_tools(
    operator_image: str, cluster_namespace: Namespace
) -> None:
    found = look_around(cluster_namespace, operator_image)
    assert found == {"programs": ["apt-get"], "packages": ["kopf"], "left": [], "user": ["10001"]}
    said = run_pod(cluster_namespace, "version", operator_image, command=["penstock", "--version"])
    assert said == f"penstock {VERSION}\n"


def test_worker_image_has_java_and_spark_and_no_build_tools(worker_image: str, cluster_namespace: Namespace) -> None:
    found = look_around(cluster_namespace, worker_image)
    assert found == {"programs": ["java", "apt-get"], "packages": ["pyspark"], "left": [], "user": ["10001"]}


@pytest.mark.parametrize("user", [10001, A_USER_WITHOUT_A_NAME], ids=["its own user", "a user without a name"])
def test_spark_runs_in_the_workers_image_on_a_read_only_root(
    worker_image: str, cluster_namespace: Namespace, user: int
) -> None:
    said = run_pod(cluster_namespace, "spark", worker_image, args=["-c", COUNT], user=user)
    assert "sum 499500" in said
    assert "rows 2" in said
