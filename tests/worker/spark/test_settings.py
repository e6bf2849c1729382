"""Settings that a user gives Spark: a misspelt name and a value that is none are told, and all else is let be."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.worker.driver.driving import LONG_SECONDS, QUICK

pytestmark = pytest.mark.timeout(LONG_SECONDS)
CHECKS = """
import json, sys
from pathlib import Path
from penstock_worker.spark import classic, settings
from penstock_worker.spark.problems import CannotStartError
spark = classic.ClassicSpark("local[1]", Path(sys.argv[1]), json.loads(sys.argv[2]), 1)
spark.start()
for conf in json.loads(sys.argv[3]):
    try:
        settings.check_classic(spark.seat(0).session._jvm, conf)
    except CannotStartError as problem:
        print(json.dumps(str(problem) if problem.is_permanent else "worth another try"))
    else:
        print(json.dumps(""))
spark.close()
"""
WELL = (
    {"spark.sql.shuffle.partitions": "3", "spark.driver.memory": "1g", "spark.executor.memoryOverheadFactor": "0.2"},
    {"spark.of.the.code": "1", "spark.sql.catalog.spark_catalo": "x", "spark.hadoop.fs.s3a.access.key": "x"},
    {"spark.kryoserializer.buffer.mb": "1", "spark.ui.jettyStopTimeout": "30s"},
    {"spark.sql.shuffle.partitions": "${spark.default.parallelism}"},
)
WRONG = {
    "spark.sql.shuffle.partition=3": "setting spark.sql.shuffle.partition. Did you mean spark.sql.shuffle.partitions?",
    "spark.executer.memory=1g": "has no setting spark.executer.memory. Did you mean spark.executor.memory?",
    "spark.sql.adaptive.enabeld=true": "Did you mean spark.sql.adaptive.enabled?",
    "spark.sql.shuffle.partitions=many": "The Spark setting spark.sql.shuffle.partitions cannot have this value: ",
    "spark.sql.session.timeZone=Mars": "The Spark setting spark.sql.session.timeZone cannot have this value: ",
    "spark.task.maxFailures=-": "The Spark setting spark.task.maxFailures cannot have this value: ",
}


def test_what_is_surely_wrong_is_told_and_what_is_not_is_let_be(tmp_path: Path) -> None:
    asked = [*WELL, *(dict([word.split("=", 1)]) for word in WRONG)]
    command = [sys.executable, "-c", CHECKS, str(tmp_path), json.dumps(QUICK), json.dumps(asked)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert told[: len(WELL)] == [""] * len(WELL)
    for sentence, wanted in zip(told[len(WELL) :], WRONG.values(), strict=True):
        assert wanted in sentence
