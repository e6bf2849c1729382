"""Parsing of payloads that never throws: good rows go on as columns, bad ones to the dead letters with a reason.

Knows JSON and CSV, and how a bad row is told. A bad row is counted while the user's own job reads the frame; only where
that job did not read every message of the batch is the frame read once more. Does not know what the rows are used for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from penstock_worker.api.observing import observed
from penstock_worker.api.session import functions, observation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

Format = Literal["json", "csv"]
KEPT = ("subject", "stream", "seq", "timestamp")
TEXT, CORRUPT, PARSED, REASON = "_penstock_text", "_penstock_corrupt", "_penstock_parsed", "_penstock_reason"
SHOWN_LETTERS = 100
"""How much of a payload a reason shows: the dead letter holds all of it."""
NAMED_FIELDS = 40
"""In wider schemas a reason does not name the field: Spark would compile an expression for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What rows are to be."""

    schema: StructType
    format: Format = "json"
    keep: Sequence[str] = KEPT
    """Columns of the batch that stay beside the fields."""
    into: str | None = None
    """The name of one struct column for all fields, instead of a column for each."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Spark's options for the format."""


class Parsed:
    """A frame whose bad rows are told apart while it is read."""

    def __init__(self, df: DataFrame, wanted: Wanted) -> None:
        _check(df, wanted)
        self._spark: SparkSession = df.sparkSession
        f = functions(self._spark)
        self._observation = observation(self._spark)
        kept = [name for name in dict.fromkeys((*wanted.keep, "seq")) if name in df.columns]
        text = df.select(*kept, f.col("data").cast("string").alias(TEXT))
        parsed = text.withColumn(PARSED, _parsed(f, wanted))
        told = parsed.withColumn(REASON, _reason(f, wanted))
        bad = f.when(f.col(REASON).isNotNull(), f.concat(f.col("seq").cast("string"), f.lit(" "), f.col(REASON)))
        self._observed = told.observe(
            self._observation, f.count(f.lit(1)).alias("rows"), f.collect_list(bad).alias("bad")
        )
        self._bad = bad
        self._wanted = wanted

    def rows(self) -> DataFrame:
        """Return the good rows."""
        f, wanted = functions(self._spark), self._wanted
        names = wanted.schema.fieldNames()
        fields = [f.col(PARSED)[name].alias(name) for name in names]
        shown = fields if wanted.into is None else [f.struct(*fields).alias(wanted.into)]
        kept = [name for name in wanted.keep if name in self._observed.columns]
        return self._observed.where(f.col(REASON).isNull()).select(*shown, *kept)

    def refused(self, rows: int) -> dict[int, str]:
        """Return the bad rows' sequences and reasons, of a frame that has so many rows if nobody filtered it."""
        values = observed(self._spark, self._observation)
        if values is not None and values["rows"] == rows:
            return dict(map(_told, values["bad"]))
        bad = self._observed.where(functions(self._spark).col(REASON).isNotNull()).select(self._bad.alias("bad"))
        return dict(_told(row["bad"]) for row in bad.collect())


def _told(text: str) -> tuple[int, str]:
    sequence, _, reason = text.partition(" ")
    return int(sequence), reason


def schema_of(schema: str | StructType, spark: SparkSession) -> StructType:
    """Return a schema that may be written as DDL."""
    if not isinstance(schema, str):
        return schema
    empty: Sequence[object] = ()
    found: StructType = spark.createDataFrame(empty, schema).schema
    return found


def _check(df: DataFrame, wanted: Wanted) -> None:
    missing = [name for name in ("seq", "data") if name not in df.columns]
    if missing:
        raise ValueError(
            f"The DataFrame to parse has no column {missing[0]}: parse what `process` was given, and select afterwards."
        )
    if wanted.format not in ("json", "csv"):
        raise ValueError(f"Payloads cannot be parsed as {wanted.format}: the formats are json and csv.")
    names = wanted.schema.fieldNames() if wanted.into is None else [wanted.into]
    clashes = {name.lower() for name in names} & {name.lower() for name in wanted.keep}
    if clashes:
        raise ValueError(
            f"Both the schema and the batch have a column {min(clashes)}: name the batch's columns to keep by "
            'keep=("stream", "seq"), or put the fields into one column by into="message".'
        )


def _parsed(f: Any, wanted: Wanted) -> Column:  # noqa: ANN401 - a module of pyspark
    from pyspark.sql.types import StringType  # noqa: PLC0415 - pyspark is there where there is a frame

    options = {**wanted.options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    schema = type(wanted.schema)([*wanted.schema.fields]).add(CORRUPT, StringType())
    if wanted.format == "json":
        json: Column = f.from_json(f.col(TEXT), schema, options)
        return json
    ddl = ", ".join(f"`{column.name}` {column.dataType.simpleString()}" for column in schema.fields)
    csv: Column = f.from_csv(f.col(TEXT), ddl, options)
    return csv


def _reason(f: Any, wanted: Wanted) -> Column:  # noqa: ANN401 - a module of pyspark
    """Return why a row is bad, or null. What is costly is evaluated for bad rows only."""
    parsed = f.col(PARSED)
    corrupt = parsed[CORRUPT]
    reason: Column = f.when(~f.is_valid_utf8(f.col(TEXT)), f.lit("The payload is not UTF-8."))
    reason = reason.when(parsed.isNull(), f.lit("The payload is empty."))
    reason = reason.when(corrupt.isNotNull(), _misfit(f, wanted))
    required = [column.name for column in wanted.schema.fields if not column.nullable]
    for name in required:
        reason = reason.when(parsed[name].isNull(), f.lit(f"{name} is missing."))
    return reason


def _misfit(f: Any, wanted: Wanted) -> Column:  # noqa: ANN401 - a module of pyspark
    """Name the fields that are there and of another type, or show what is no record at all."""
    corrupt = f.col(PARSED)[CORRUPT]
    start = f.substring(corrupt, 1, SHOWN_LETTERS)
    whole: Column = f.concat(f.lit(f"The payload is not {wanted.format.upper()} of the schema: "), start)
    if wanted.format != "json" or len(wanted.schema) > NAMED_FIELDS:
        return whole
    wrong = []
    for column in wanted.schema.fields:
        value = f.get_json_object(corrupt, f"$['{column.name}']")
        said = f.concat(f.lit(f"{column.name} is not {column.dataType.simpleString()}: "), value)
        there = f.col(PARSED)[column.name].isNull() & value.isNotNull()
        wrong.append(f.when(there, f.substring(said, 1, SHOWN_LETTERS)))
    named = f.concat_ws("; ", *wrong)
    either: Column = f.when(named != f.lit(""), named).otherwise(whole)
    return either
