"""Parsing of payloads that never throws: good rows go on as columns, bad ones to the dead letters with a reason.

Knows JSON and CSV, and how a bad row is told. A bad row is counted while the user's own job reads the frame; only where
that job did not read every message of the batch is the frame read once more. Does not know what the rows are used for.

Spark's from_json reads the first document of a text and ignores what follows. So a payload becomes an element of an
array, `{"documents":[PAYLOAD,{"_penstock_end":"RANDOM"}]}`: only if it is exactly one document, the random mark is the
element after it. Of several documents, each has its mark.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from penstock_worker.api.observing import observed
from penstock_worker.api.session import functions, observation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructField, StructType

Format = Literal["json", "csv"]
Documents = Literal["one", "many"]
KEPT = ("subject", "stream", "seq", "timestamp")
TEXT, CORRUPT, PARSED, REASON = "_penstock_text", "_penstock_corrupt", "_penstock_parsed", "_penstock_reason"
SOURCE, HUGE, DOCUMENT, END = "_penstock_source", "_penstock_huge", "_penstock_document", "_penstock_end"
DOCUMENTS = "documents"
BLANK = r"^\s*$"
LINE_BREAK = r"\s*\n\s*"
HUGE_EXPONENT = "[0-9.][eE][+-]?0*[1-9][0-9]{3,}"
"""Spark works for minutes on 1e100000000 as a DECIMAL: it writes all digits down before it looks at the precision."""
TINY_NUMBER = r"(?<![\w.+-])-?[0-9.]+[eE]-0*[1-9][0-9]{3,}(?![\w.+-])"
SHOWN_LETTERS = 100
"""How much of a payload a reason shows: the dead letter holds all of it."""
NAMED_FIELDS = 40
"""In wider schemas a reason does not name the field: Spark would compile an expression for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What rows are to be."""

    schema: StructType
    format: Format = "json"
    documents: Documents = "one"
    """How many JSON documents a payload has: one, or one in each line that is not blank."""
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
        mark = uuid.uuid4().hex
        source = _marked(f, wanted, mark) if wanted.format == "json" else f.col(TEXT)
        checked = text.withColumn(SOURCE, source).withColumn(HUGE, _huge(f, wanted))
        parsed = checked.withColumn(PARSED, _parsed(f, wanted, f.when(f.col(HUGE).isNull(), f.col(SOURCE))))
        told = parsed.withColumn(REASON, _reason(f, wanted, mark))
        bad = f.when(f.col(REASON).isNotNull(), f.concat(f.col("seq").cast("string"), f.lit(" "), f.col(REASON)))
        self._observed = told.observe(
            self._observation, f.count(f.lit(1)).alias("rows"), f.collect_list(bad).alias("bad")
        )
        self._bad = bad
        self._wanted = wanted

    def rows(self) -> DataFrame:
        """Return the good rows."""
        f, wanted = functions(self._spark), self._wanted
        good = self._observed.where(f.col(REASON).isNull())
        if wanted.documents == "many":
            good, document = good.withColumn(DOCUMENT, f.explode(_documents(f))), f.col(DOCUMENT)
        else:
            document = _first(f, wanted)
        fields = [document[name].alias(name) for name in wanted.schema.fieldNames()]
        shown = fields if wanted.into is None else [f.struct(*fields).alias(wanted.into)]
        kept = [name for name in wanted.keep if name in self._observed.columns]
        return good.select(*shown, *kept)

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
    if wanted.documents not in ("one", "many"):
        raise ValueError(f"A payload cannot have {wanted.documents} documents: say one or many.")
    if wanted.documents == "many" and wanted.format != "json":
        raise ValueError("Only payloads of JSON can have many documents, one in each line.")
    names = wanted.schema.fieldNames() if wanted.into is None else [wanted.into]
    clashes = {name.lower() for name in names} & {name.lower() for name in wanted.keep}
    if clashes:
        raise ValueError(
            f"Both the schema and the batch have a column {min(clashes)}: name the batch's columns to keep by "
            'keep=("stream", "seq"), or put the fields into one column by into="message".'
        )


def _marked(f: Any, wanted: Wanted, mark: str) -> Column:  # noqa: ANN401 - a module of pyspark
    """Return the payload as an array in which the mark follows each document."""
    end = f'\n,{{"{END}":"{mark}"}}'
    text = f.col(TEXT)
    if wanted.documents == "many":
        text = f.regexp_replace(_trimmed(f), LINE_BREAK, f"{end},")
    marked: Column = f.concat(f.lit(f'{{"{DOCUMENTS}":['), text, f.lit(f"{end}]}}"))
    return marked


def _trimmed(f: Any) -> Column:  # noqa: ANN401 - a module of pyspark
    trimmed: Column = f.regexp_replace(f.col(TEXT), r"^\s+|\s+$", "")
    return trimmed


def _parsed(f: Any, wanted: Wanted, source: Column, schema: StructType | None = None) -> Column:  # noqa: ANN401 - a module of pyspark
    """Return what Spark reads, by the wanted schema or another one, in the column PARSED."""
    from pyspark.sql.types import ArrayType, StringType, StructType  # noqa: PLC0415 - pyspark is where a frame is

    options = {**wanted.options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    fields = (schema or wanted.schema).fields
    if wanted.format == "json":
        document = StructType([*fields]).add(END, StringType())
        whole = StructType().add(DOCUMENTS, ArrayType(document)).add(CORRUPT, StringType())
        json: Column = f.from_json(source, whole, options)
        return json
    columns = [*fields, *StructType().add(CORRUPT, StringType())]
    ddl = ", ".join(f"`{column.name}` {column.dataType.simpleString()}" for column in columns)
    csv: Column = f.from_csv(source, ddl, options)
    return csv


def _first(f: Any, wanted: Wanted) -> Column:  # noqa: ANN401 - a module of pyspark
    """Return the document of a payload that has one."""
    parsed = f.col(PARSED)
    first: Column = f.get(parsed[DOCUMENTS], f.lit(0)) if wanted.format == "json" else parsed
    return first


def _documents(f: Any) -> Column:  # noqa: ANN401 - a module of pyspark
    """Return the documents of a payload that may have many, without their marks."""
    many: Column = f.filter(f.col(PARSED)[DOCUMENTS], lambda _, place: place % 2 == 0)
    return many


def _has_any(f: Any, wanted: Wanted, test: Callable[[Column], Column]) -> Column:  # noqa: ANN401 - a module of pyspark
    """Tell whether something is true of any document. Looking into an array has Spark compile nothing."""
    found: Column = test(_first(f, wanted)) if wanted.documents == "one" else f.exists(_documents(f), test)
    return found


def _is_marked(f: Any, wanted: Wanted, mark: str) -> Column:  # noqa: ANN401 - a module of pyspark
    """Tell whether each document has its mark, and nothing else is there."""
    found = f.col(PARSED)[DOCUMENTS]
    if wanted.documents == "one":
        ends, count = f.get(found, f.lit(1))[END] == mark, f.lit(2)
    else:
        marks = f.filter(found, lambda _, place: place % 2 == 1)
        ends = f.forall(marks, lambda each: f.coalesce(each[END] == mark, f.lit(False)))  # noqa: FBT003 - a literal
        count = 2 * f.size(f.split(_trimmed(f), LINE_BREAK))
    marked: Column = f.coalesce((f.size(found) == count) & ends, f.lit(False))  # noqa: FBT003 - a literal
    return marked


def _huge(f: Any, wanted: Wanted) -> Column:  # noqa: ANN401 - a module of pyspark
    """Name a field for whose number Spark would take minutes, or return null."""
    reason: Column = f.lit(None).cast("string")
    decimals = [column for column in wanted.schema.fields if _has_decimals(column.dataType)]
    if not decimals:
        return reason
    as_text = type(wanted.schema)([type(each)(each.name, _with_text(each.dataType)) for each in wanted.schema.fields])
    parsed = _parsed(f, wanted, f.col(SOURCE), as_text)
    documents = parsed[DOCUMENTS] if wanted.format == "json" else f.array(parsed)
    for column in decimals:
        huge = f.exists(documents, _has_huge(f, column))
        told = f"{column.name} is not {column.dataType.simpleString()}: its exponent has more than three digits."
        reason = f.coalesce(reason, f.when(huge, f.lit(told)))
    suspected: Column = f.when(f.col(TEXT).rlike(HUGE_EXPONENT), reason)
    return suspected


def _has_huge(f: Any, column: StructField) -> Callable[[Column], Column]:  # noqa: ANN401 - a module of pyspark
    return lambda document: _is_huge(f, document[column.name], column.dataType)


def _has_decimals(kind: DataType) -> bool:
    return bool(_with_text(kind) != kind)


def _with_text(kind: DataType) -> DataType:
    """Return a type with texts in the place of decimals."""
    from pyspark.sql.types import (  # noqa: PLC0415 - pyspark is there where there is a frame
        ArrayType,
        DecimalType,
        MapType,
        StringType,
        StructField,
        StructType,
    )

    match kind:
        case DecimalType():
            return StringType()
        case ArrayType():
            return ArrayType(_with_text(kind.elementType), kind.containsNull)
        case MapType():
            return MapType(kind.keyType, _with_text(kind.valueType), kind.valueContainsNull)
        case StructType():
            return StructType([StructField(each.name, _with_text(each.dataType), each.nullable) for each in kind])
        case _:
            return kind


def _is_huge(f: Any, value: Column, kind: DataType) -> Column:  # noqa: ANN401 - a module of pyspark
    """Tell whether a value has a number with a huge exponent. It was read as text, by way of a double if it is none."""
    from pyspark.sql.types import ArrayType, DecimalType, MapType, StructType  # noqa: PLC0415 - pyspark is where a frame is

    match kind:
        case DecimalType():
            is_rounded_to_zero = value.rlike(r'^"?-?0\.0"?$') & f.col(TEXT).rlike(TINY_NUMBER)
            huge: Column = value.rlike(f"{HUGE_EXPONENT}|Infinity") | is_rounded_to_zero
            return huge
        case ArrayType():
            found: Column = f.exists(value, lambda each: _is_huge(f, each, kind.elementType))
            return found
        case MapType():
            return _is_huge(f, f.map_values(value), ArrayType(kind.valueType))
        case StructType():
            inner = [_is_huge(f, value[each.name], each.dataType) for each in kind if _has_decimals(each.dataType)]
            any_of: Column = f.greatest(*inner, f.lit(False))  # noqa: FBT003 - a literal
            return any_of
        case _:
            raise TypeError(f"{kind} has no decimals.")


def _reason(f: Any, wanted: Wanted, mark: str) -> Column:  # noqa: ANN401 - a module of pyspark
    """Return why a row is bad, or null. What is costly is evaluated for bad rows only."""
    text = f.col(TEXT)
    reason: Column = f.when(~f.is_valid_utf8(text), f.lit("The payload is not UTF-8."))
    reason = reason.when(f.col(HUGE).isNotNull(), f.col(HUGE))
    if wanted.format == "json":
        reason = reason.when(~_is_marked(f, wanted, mark), _not_documents(f, wanted))
    else:
        reason = reason.when(f.col(PARSED).isNull(), f.lit("The payload is empty."))
    misfits = f.col(PARSED)[CORRUPT].isNotNull() | _has_any(f, wanted, lambda each: each.isNull())
    reason = reason.when(misfits, _misfit(f, wanted))
    for column in wanted.schema.fields:
        if not column.nullable:
            lacks = _has_any(f, wanted, _lacks(column.name))
            reason = reason.when(lacks, f.lit(f"{column.name} is missing."))
    return reason


def _lacks(name: str) -> Callable[[Column], Column]:
    return lambda document: document[name].isNull()


def _start(f: Any) -> Column:  # noqa: ANN401 - a module of pyspark
    start: Column = f.substring(f.col(TEXT), 1, SHOWN_LETTERS)
    return start


def _not_documents(f: Any, wanted: Wanted) -> Column:  # noqa: ANN401 - a module of pyspark
    """Tell a payload without a document from one with something after it."""
    no_json = f.concat(f.lit("The payload is not JSON of the schema: "), _start(f))
    is_empty = f.col(TEXT).isNull() | f.col(TEXT).rlike(BLANK)
    reason: Column = f.when(is_empty, f.lit("The payload is empty."))
    if wanted.documents == "many":
        return reason.otherwise(no_json)
    follows = f.concat(f.lit("Something follows the JSON document in the payload: "), _start(f))
    begins = f.startswith(_trimmed(f), f.lit("{")) & f.get_json_object(f.col(TEXT), "$").isNotNull()
    return reason.when(begins, follows).otherwise(no_json)


def _misfit(f: Any, wanted: Wanted) -> Column:  # noqa: ANN401 - a module of pyspark
    """Name the fields that are there and of another type, or show what is no record at all."""
    whole: Column = f.concat(f.lit(f"The payload is not {wanted.format.upper()} of the schema: "), _start(f))
    if wanted.format != "json" or wanted.documents == "many" or len(wanted.schema) > NAMED_FIELDS:
        return whole
    wrong = []
    for column in wanted.schema.fields:
        value = f.get_json_object(f.col(TEXT), f"$['{column.name}']")
        said = f.concat(f.lit(f"{column.name} is not {column.dataType.simpleString()}: "), value)
        there = _first(f, wanted)[column.name].isNull() & value.isNotNull()
        wrong.append(f.when(there, f.substring(said, 1, SHOWN_LETTERS)))
    named = f.concat_ws("; ", *wrong)
    either: Column = f.when(named != f.lit(""), named).otherwise(whole)
    return either
