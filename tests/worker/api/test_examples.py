"""The examples' functions work, tested as a user would test them; their manifests are valid."""

import runpy
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from penstock_operator.cli import main
from penstock_worker.testing import Process, run
from tests.testbed.nats.server import NatsServer
from tools.environment import ROOT

EXAMPLES = ROOT / "examples"
WITH_MANIFESTS = sorted(file.parent.name for file in EXAMPLES.glob("*/manifests.yaml"))
NORTH = {"id": 1, "region": "north", "amount": 2.5}


def process_of(file: str) -> Process:
    process: Process = runpy.run_path(str(EXAMPLES / file))["process"]
    return process


def test_orders_become_totals(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKE", str(tmp_path))
    result = run(process_of("orders/etl.py"), [NORTH, {**NORTH, "amount": 1.5}, {"id": 2}, "pardon"], spark=spark)
    (total,) = spark.read.parquet(f"{tmp_path}/orders").collect()
    assert (total["region"], total["orders"], total["amount"]) == ("north", 2, 4.0)
    assert sorted(result.rejected) == [3, 4]


def test_purchases_are_enriched(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spark.createDataFrame([(7, "Ada")], "customer BIGINT, name STRING").write.parquet(f"{tmp_path}/customers")
    monkeypatch.setenv("CUSTOMERS", f"{tmp_path}/customers")
    purchases = [{"id": 1, "customer": 7, "amount": 2.0}, {"id": 2, "customer": 8, "amount": 3.0}, "pardon"]
    result = run(process_of("enrich/enrich.py"), purchases, spark=spark)
    (sent,) = result.sent
    assert (sent.subject, sent.json()) == ("enriched.purchases", {"id": 1, "customer": 7, "amount": 2.0, "name": "Ada"})
    assert result.rejected[2] == "The customer is not known."
    assert sorted(result.rejected) == [2, 3]


@pytest.mark.full
def test_totals_are_computed_on_a_connect_server_and_published(connect_session: SparkSession) -> None:
    result = run(process_of("connect/totals.py"), [NORTH, {**NORTH, "region": "south"}, NORTH], spark=connect_session)
    amounts = {message.json()["region"]: message.json()["amount"] for message in result.sent}
    assert amounts == {"north": 5.0, "south": 2.5}


def test_visits_of_each_page_are_counted_and_published(spark: SparkSession) -> None:
    visits = [{"page": "start", "visitor": "Ada"}, {"page": "start", "visitor": "Ada"}, {"page": "end"}]
    result = run(process_of("executors/visits.py"), visits, spark=spark)
    (sent,) = result.sent
    assert (sent.subject, sent.json()) == ("counts.pages", {"page": "start", "visits": 2, "visitors": 1})
    assert sorted(result.rejected) == [3]


def test_manifests_of_the_examples_are_valid(nats_server: NatsServer, subtests: pytest.Subtests) -> None:
    for example in WITH_MANIFESTS:
        with subtests.test(example):
            result = CliRunner().invoke(main, ["plan", "-f", str(EXAMPLES / example), "--server", nats_server.url])
            assert result.exit_code == 0, result.output
            assert "warning" not in result.output


def test_examples_name_images_of_this_version_and_are_short() -> None:
    version = (ROOT / "VERSION").read_text().strip()
    lines = [line for file in EXAMPLES.glob("*/*.yaml") for line in file.read_text().splitlines() if "image:" in line]
    ours = {image for image in (line.split()[1] for line in lines) if image.startswith("penstock/")}
    assert ours == {f"penstock/worker:{version}"}
    assert not [str(file) for file in EXAMPLES.glob("*/*.py") if len(file.read_text().splitlines()) > 30]


def test_the_commands_in_the_readme_name_existing_files() -> None:
    readme = (EXAMPLES / "README.md").read_text()
    for example in WITH_MANIFESTS:
        (code,) = (EXAMPLES / example).glob("*.py")
        manifest = (EXAMPLES / example / "manifests.yaml").read_text()
        name = manifest.partition("configMapRef: {name: ")[2].partition("}")[0]
        assert f"kubectl create configmap {name} --from-file=examples/{example}/{code.name}\n" in readme
        assert f"kubectl apply -f examples/{example}\n" in readme
