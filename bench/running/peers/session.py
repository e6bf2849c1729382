"""A Spark session of a peer's own: one JVM, with the settings that our driver has, and what a peer needs besides."""

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from bench.running.job import settings


def session(folder: Path, more: Mapping[str, str] | None = None) -> SparkSession:
    (folder / "tmp").mkdir(exist_ok=True)
    builder = SparkSession.builder
    for name, value in {**settings(folder), "spark.local.dir": str(folder / "local"), **(more or {})}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark
