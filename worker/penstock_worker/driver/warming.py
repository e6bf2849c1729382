"""`python -m penstock_worker.driver.warming FOLDER`: has Spark work once, and leave an archive of its classes there.

For whoever builds an image: a JVM that starts from it finds its classes laid out, as one does on a laptop from the
second start on. Knows what most batches do. Does not know where the image has the folder.
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from penstock_worker.exchange.columns import COLUMNS
from penstock_worker.spark.classic import ClassicSpark
from penstock_worker.spark.launching import launch

MASTER = "local[2]"
MESSAGES = 1000
ARCHIVE_SECONDS = 600
"""A driver has a pod's grace period to end in. The build of an image can wait, on a busy machine too."""


def main() -> int:
    """Leave the archive; 1 if there is none in the end."""
    parser = argparse.ArgumentParser(description="Leaves an archive of the Java classes that Spark needs for a batch.")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    folder = parser.parse_args().folder
    with TemporaryDirectory() as work:
        _work(Path(work), folder)
    found = [file for file in folder.glob("*.jsa") if not file.stem.endswith("-base")]
    if not found:
        sys.stderr.write(f"Spark has left no archive in {folder}.\n")
    return int(not found)


def _work(work: Path, folder: Path) -> None:
    jvm = launch(MASTER, work, {}, folder)
    jvm.archive_seconds = ARCHIVE_SECONDS
    spark = ClassicSpark(MASTER, work, {}, 1, archives=folder, jvm=jvm)
    spark.start()
    frame = spark.seat(0).frame(_messages())
    parsed = frame.selectExpr("from_json(string(data), 'id long, region string, amount double') AS parsed")
    parsed.select("parsed.*").groupBy("region").sum("amount").write.parquet(str(work / "written"))
    frame.selectExpr("count(*)").collect()
    spark.close()


def _messages() -> pa.Table:
    facts = [
        {"subject": "s", "data": b'{"id": %d, "region": "eu", "amount": 1.5}' % number, "stream": "S", "seq": number}
        | {"timestamp": 0, "delivered": 1, "headers": None}
        for number in range(MESSAGES)
    ]
    return pa.Table.from_pylist(facts, COLUMNS)


if __name__ == "__main__":
    sys.exit(main())
