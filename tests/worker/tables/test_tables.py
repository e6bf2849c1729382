"""Real tables of Delta, Iceberg and PostgreSQL hold each batch once, on a pyspark that they support: runs cases.py."""

from pathlib import Path

import pytest

from tests.testbed import maven
from tests.testbed.postgres import postgres
from tests.testbed.spark.older import run_tests

FIRST_TIME_SECONDS = 1800
"""The first time fetches a second Spark; later runs take a minute, or ten on a very busy machine."""


@pytest.mark.full
@pytest.mark.timeout(FIRST_TIME_SECONDS)
def test_each_kind_of_table_holds_a_batch_once_however_often_it_runs(tmp_path: Path) -> None:
    jars = [jar.path() for jar in (*maven.DELTA, maven.ICEBERG, maven.POSTGRESQL_DRIVER)]
    with postgres() as url:
        env = {"PENSTOCK_TABLES": str(tmp_path), "PENSTOCK_JARS": ",".join(map(str, jars)), "PENSTOCK_POSTGRES": url}
        run_tests(Path(__file__).parent / "cases.py", "tests.worker.tables.session", env)
