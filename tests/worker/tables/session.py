"""The fixtures of cases.py, a pytest plugin: one session with all table formats, and their addresses."""

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock_worker.testing import local_spark

EXTENSIONS = (
    "io.delta.sql.DeltaSparkSessionExtension",
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
)


@pytest.fixture(scope="session")
def folder() -> Path:
    return Path(os.environ["PENSTOCK_TABLES"])


@pytest.fixture(scope="session")
def url() -> str:
    return os.environ["PENSTOCK_POSTGRES"]


@pytest.fixture(scope="session")
def spark(folder: Path) -> SparkSession:
    """Return a session with Delta as Spark's own catalog, and Iceberg as the catalog `ice`."""
    return local_spark(
        {
            "spark.jars": os.environ["PENSTOCK_JARS"],
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.local.dir": str(folder / "local"),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.sql.extensions": ",".join(EXTENSIONS),
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.ice.type": "hadoop",
            "spark.sql.catalog.ice.warehouse": str(folder / "ice"),
            "spark.databricks.delta.snapshotPartitions": "2",
        }
    )
