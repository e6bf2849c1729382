"""Spark settings of users: misspelt names and impossible values are reported, everything else is accepted."""

from collections.abc import Mapping

import pytest
from pyspark.sql import SparkSession

from penstock_worker.spark import settings
from penstock_worker.spark.problems import CannotStartError

ACCEPTED = (
    {"spark.sql.shuffle.partitions": "3", "spark.driver.memory": "1g", "spark.executor.memoryOverheadFactor": "0.2"},
    {"spark.of.the.code": "1", "spark.sql.catalog.spark_catalo": "x", "spark.hadoop.fs.s3a.access.key": "x"},
    {"spark.kryoserializer.buffer.mb": "1", "spark.ui.jettyStopTimeout": "30s"},
    {"spark.sql.shuffle.partitions": "${spark.default.parallelism}"},
)
REFUSED = {
    "spark.sql.shuffle.partition=3": "setting spark.sql.shuffle.partition. Did you mean spark.sql.shuffle.partitions?",
    "spark.executer.memory=1g": "has no setting spark.executer.memory. Did you mean spark.executor.memory?",
    "spark.sql.adaptive.enabeld=true": "Did you mean spark.sql.adaptive.enabled?",
    "spark.sql.shuffle.partitions=many": "The Spark setting spark.sql.shuffle.partitions cannot have this value: ",
    "spark.sql.session.timeZone=Mars": "The Spark setting spark.sql.session.timeZone cannot have this value: ",
    "spark.task.maxFailures=-": "The Spark setting spark.task.maxFailures cannot have this value: ",
}


def test_wrong_settings_are_reported_and_unknown_ones_accepted(spark: SparkSession, subtests: pytest.Subtests) -> None:
    def check(conf: Mapping[str, str]) -> None:
        settings.check_classic(spark.sparkContext._jvm, conf)  # noqa: SLF001 - as the driver does

    for conf in ACCEPTED:
        with subtests.test(f"{conf}"):
            check(conf)
    for setting, report in REFUSED.items():
        with subtests.test(setting), pytest.raises(CannotStartError) as caught:
            check(dict([setting.split("=", 1)]))
        assert report in str(caught.value)
        assert caught.value.is_permanent
