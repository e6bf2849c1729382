"""parse() never fails for a row, rejects every bad one with a reason, and needs no job of its own."""

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock_worker.api import Batch
from penstock_worker.testing import Message, Process, run

SCHEMA = "id BIGINT NOT NULL, region STRING, amount DOUBLE"
GOOD = {"id": 1, "region": "north", "amount": 2.5}
BAD: dict[str, tuple[object, str]] = {
    "no JSON": ("pardon", "The payload is not JSON of the schema: pardon"),
    "cut off": ('{"id": 1, "reg', "The payload is not JSON of the schema: "),
    "empty": (b"", "The payload is empty."),
    "white space": (b"  ", "The payload is empty."),
    "null": ("null", "The payload is not JSON of the schema: null"),
    "a list": ([GOOD, GOOD], "The payload is not JSON of the schema: [{"),
    "a number": ("7", "The payload is not JSON of the schema: 7"),
    "wrong type": ({**GOOD, "amount": "much"}, "amount is not double: much"),
    "two wrong types": ({"id": "x", "amount": "y"}, "id is not bigint: x; amount is not double: y"),
    "too large": ({**GOOD, "id": 1 << 70}, "id is not bigint: 1180591620717411303424"),
    "missing": ({"region": "north"}, "id is missing."),
    "null where it must not be": ({"id": None}, "id is missing."),
    "two documents": ('{"id": 1}\n{"id": 2}', "Something follows the JSON document in the payload: "),
    "an end of something else": ('{"id": 1}]}', "Something follows the JSON document in the payload: "),
    "two documents as in a list": ('{"id": 1},{"id": 2}', "Something follows the JSON document in the payload: "),
    "text after it": ('{"id": 1} pardon', "Something follows the JSON document in the payload: "),
    "a mark of its own": ('{"id": 1},{"_penstock_end": ""}]}', "Something follows the JSON document in the payload: "),
    "not UTF-8": (b'{"id": 1, "region": "\xff\xfe"}', "The payload is not UTF-8."),
}


def parse_all(*columns: str, **options: Any) -> Process:  # noqa: ANN401 - passed on
    """Return a process that reads all rows, as a job that writes would, and returns these columns."""
    return lambda df, batch: [
        tuple(row[column] for column in columns) for row in batch.parse(df, SCHEMA, **options).collect()
    ]


def test_good_rows_become_columns_and_bad_ones_are_rejected_each_with_its_reason(session: SparkSession) -> None:
    payloads = [payload for payload, _ in BAD.values()]
    result = run(parse_all("seq", "id", "region", "amount"), [GOOD, *payloads, {"id": 2}], spark=session)
    assert result.returned == [(1, 1, "north", 2.5), (len(BAD) + 2, 2, None, None)]
    wrong = {
        name: result.rejected.get(sequence)
        for sequence, (name, (_, reason)) in enumerate(BAD.items(), 2)
        if not result.rejected.get(sequence, "").startswith(reason)
    }
    assert not wrong
    assert len(result.rejected) == len(BAD)


def read_half_of_it_first(df: DataFrame, batch: Batch) -> None:
    batch.parse(df.where("seq <= 2"), SCHEMA).count()
    batch.parse(df.where("seq > 2"), SCHEMA).count()


def read_twice(orders: DataFrame) -> tuple[int, int]:
    return orders.count(), orders.union(orders).count()


def join_with_nothing(orders: DataFrame) -> int:
    return orders.join(orders.where("id IS NULL").select("id"), "id").count()


READING: dict[str, tuple[Process, object]] = {
    "nothing": (lambda df, batch: (batch.parse(df, SCHEMA), None)[1], None),
    "one row": (lambda df, batch: len(batch.parse(df, SCHEMA).take(1)), 1),
    "what a join with nothing leaves": (lambda df, batch: join_with_nothing(batch.parse(df, SCHEMA)), 0),
    "half of it first": (read_half_of_it_first, None),
    "it twice": (lambda df, batch: read_twice(batch.parse(df, SCHEMA)), (2, 4)),
    "the rejections first": (lambda df, batch: (batch.parse(df, SCHEMA), sorted(batch.rejected))[1], [1, 3]),
}


def test_every_bad_row_is_rejected_whatever_is_read(session: SparkSession, subtests: pytest.Subtests) -> None:
    for name, (process, returned) in READING.items():
        with subtests.test(name):
            result = run(process, ["bad", GOOD, "bad", GOOD], spark=session)
            assert (result.returned, sorted(result.rejected)) == (returned, [1, 3])


def test_rejecting_bad_rows_needs_no_job_where_the_function_reads_all_rows(spark: SparkSession) -> None:
    context = spark.sparkContext
    jobs = []

    def process(df: DataFrame, batch: Batch) -> None:
        context.setJobGroup(batch.id, "parse")
        batch.parse(df, SCHEMA).write.format("noop").mode("overwrite").save()
        jobs.append(len(context.statusTracker().getJobIdsForGroup(batch.id)))
        assert len(batch.rejected) == 2
        jobs.append(len(context.statusTracker().getJobIdsForGroup(batch.id)))

    run(process, [GOOD, "bad", "worse"], spark=spark)
    assert jobs == [1, 1]


def test_a_batch_may_have_bad_rows_only(spark: SparkSession) -> None:
    result = run(parse_all("id"), [f"bad {number}" for number in range(3000)], spark=spark)
    assert result.returned == []
    assert list(result.rejected) == list(range(1, 3001))


def test_kept_columns_can_be_chosen_and_fields_put_into_one_column(spark: SparkSession) -> None:
    def process(df: DataFrame, batch: Batch) -> dict[str, Any]:
        (row,) = batch.parse(df, SCHEMA, keep=("seq", "delivered"), into="order").collect()
        return row.asDict(recursive=True)

    result = run(process, [Message(GOOD, delivered=2)], spark=spark)
    assert result.returned == {"order": GOOD, "seq": 1, "delivered": 2}


def test_parsing_that_cannot_work_is_refused(spark: SparkSession, subtests: pytest.Subtests) -> None:
    unknown: Any = "xml"
    taken = r'have a column timestamp: .*keep=\("stream", "seq"\).* into="message"'
    refusals: dict[str, Process] = {
        taken: lambda df, batch: batch.parse(df, "Timestamp STRING"),
        "has no column data: parse what `process` was given": lambda df, batch: batch.parse(df.drop("data"), SCHEMA),
        "cannot be parsed as xml: the formats are json and csv": lambda df, batch: batch.parse(df, SCHEMA, unknown),
        "cannot have xml documents: say one or many": lambda df, batch: batch.parse(df, SCHEMA, documents=unknown),
        "Only payloads of JSON can have many": lambda df, batch: batch.parse(df, SCHEMA, "csv", documents="many"),
    }
    for refusal, process in refusals.items():
        with subtests.test(refusal), pytest.raises(ValueError, match=refusal):
            run(process, [GOOD], spark=spark)


def test_csv_is_parsed_with_sparks_own_options(session: SparkSession) -> None:
    payloads = ["7,north,2.5", "x,north,2.5", ",east,1", "8|south|3"]
    result = run(parse_all("id", "region", "amount", format="csv"), payloads, spark=session)
    assert result.returned == [(7, "north", 2.5)]
    assert result.rejected == {
        2: "The payload is not CSV of the schema: x,north,2.5",
        3: "id is missing.",
        4: "The payload is not CSV of the schema: 8|south|3",
    }
    other = run(parse_all("id", format="csv", options={"sep": "|"}), ["8|south|3"], spark=session)
    assert other.returned == [(8,)]


def test_a_schema_may_be_nested_and_given_as_a_type(session: SparkSession) -> None:
    from pyspark.sql.types import ArrayType, LongType, StructField, StructType  # noqa: PLC0415 - slow to import

    items = StructType([StructField("items", ArrayType(StructType([StructField("id", LongType())])), nullable=False)])

    def process(df: DataFrame, batch: Batch) -> list[tuple[int, int]]:
        return [tuple(row) for row in batch.parse(df, items).selectExpr("seq", "inline(items)").collect()]

    result = run(process, [{"items": [{"id": 4}, {"id": 5}]}, {"items": [{"id": "x"}]}, {}], spark=session)
    assert result.returned == [(1, 4), (1, 5)]
    assert sorted(result.rejected) == [2, 3]


def test_a_field_whose_name_needs_quoting_is_named_in_the_reason(spark: SparkSession) -> None:
    result = run(
        lambda df, batch: batch.parse(df, "`net.amount` DOUBLE, `the id` BIGINT").count(),
        [{"net.amount": "x"}, {"the id": []}],
        spark=spark,
    )
    assert result.rejected == {1: "net.amount is not double: x", 2: "the id is not bigint: []"}


HUGE = "amount DECIMAL(18,2), note STRING, prices MAP<STRING,DECIMAL(9,2)>, lines ARRAY<STRUCT<price: DECIMAL(9,2)>>"


def test_a_number_on_which_spark_would_compute_for_minutes_is_rejected(session: SparkSession) -> None:
    told = "is not %s: its exponent has more than three digits."
    cases = {
        '{"amount": 1e100000000}': f"amount {told % 'decimal(18,2)'}",
        '{"amount": -1.5E-0100000000}': f"amount {told % 'decimal(18,2)'}",
        '{"amount": "1e100000000"}': f"amount {told % 'decimal(18,2)'}",
        '{"prices": {"a": 1, "b": 1e100000000}}': f"prices {told % 'map<string,decimal(9,2)>'}",
        '{"lines": [{"price": 1}, {"price": 1e100000000}]}': f"lines {told % 'array<struct<price:decimal(9,2)>>'}",
    }
    good = ['{"amount": 1.5e3, "note": "c81e1234"}', '{"amount": 1.5, "note": "1e100000000", "x": 1e100000000}']
    good += ['{"amount": 0.0, "note": "a1234567e-1234-12e-1234"}']
    rows: list[Any] = []
    result = run(
        lambda df, batch: rows.extend(row.amount for row in batch.parse(df, HUGE).collect()),
        [*cases, *good],
        spark=session,
    )
    assert result.rejected == dict(enumerate(cases.values(), 1))
    assert [float(amount) for amount in rows] == [1500, 1.5, 0]
    csv = run(
        lambda df, batch: batch.parse(df, "amount DECIMAL(18,2)", format="csv").count(), ["1e100000000"], spark=session
    )
    assert list(csv.rejected) == [1]


def test_each_line_may_be_a_document_and_one_that_is_bad_rejects_its_message(session: SparkSession) -> None:
    bad = (
        '{"id": 1}\n{"id": "x"}',
        '{"id": 1}\n{"region": "north"}',
        '{"id": 1}{"id": 2}',
        '{"id": 1},{"id": 2}',
        '{"id": 1},{"x": [1\n2]}',
        '{"id": 1}]}\n{"id": 2}',
        '{"id": 1}\nnull',
        "\n\n",
    )
    good = ({"id": 1}, '{"id": 2}\n{"id": 3}', '\n {"id": 4}\r\n\n\t{"id": 5} \n')
    result = run(parse_all("seq", "id", documents="many"), [*good, *bad], spark=session)
    assert result.returned == [(1, 1), (2, 2), (2, 3), (3, 4), (3, 5)]
    assert sorted(result.rejected) == list(range(4, 4 + len(bad)))
