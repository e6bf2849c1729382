"""What tells a table that it has a batch already: Delta's transaction ids, and Iceberg's snapshot properties.

Knows the two tables' words. Does not know what is written. Why no number of a message may be Delta's version: with
several workers a lower one may be committed later, and Delta would skip it without a word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

ICEBERG_PROPERTY = "penstock-batch"


def delta_options(batch_id: str, name: str) -> dict[str, str]:
    """Return options by which Delta writes this batch once, and skips it when it is written again."""
    return {"txnAppId": f"{batch_id}/{name}" if name else batch_id, "txnVersion": "1"}


def iceberg_options(batch_id: str) -> dict[str, str]:
    """Return options by which the snapshot says of which batch it is."""
    return {f"snapshot-property.{ICEBERG_PROPERTY}": batch_id}


def in_iceberg(spark: SparkSession, table: str, batch_ids: Iterable[str]) -> bool:
    """Tell whether a snapshot of the table is of one of these batches."""
    names = ", ".join(map(_literal, batch_ids))
    found = spark.table(f"{table}.snapshots").where(f"summary['{ICEBERG_PROPERTY}'] IN ({names})")
    return bool(found.limit(1).count())


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
