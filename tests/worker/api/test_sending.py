"""Rows that are sent become messages with the same ids each time the batch runs."""

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock_worker.api import Batch
from penstock_worker.testing import Message, Process, run

ORDERS = [{"id": number, "region": ("north", "south")[number % 2]} for number in range(6)]


def test_rows_become_json_without_the_batchs_own_columns_each_named_by_its_message(session: SparkSession) -> None:
    def process(df: DataFrame, batch: Batch) -> None:
        assert batch.send(batch.parse(df, "id BIGINT, region STRING"), "seen.orders") == 6

    sent = run(process, ORDERS, spark=session, stream="S", consumer="c").sent
    assert {message.subject for message in sent} == {"seen.orders"}
    assert sorted((message.message_id, message.json()["id"]) for message in sent) == [
        (f"S:c:0:{number + 1}", number) for number in range(6)
    ]
    assert sent[0].json().keys() == {"id", "region"}


def totals(df: DataFrame, batch: Batch) -> None:
    orders = batch.parse(df, "id BIGINT, region STRING")
    rows = orders.groupBy("region").count().selectExpr("concat('totals.', region) AS to", "region", "count")
    batch.send(rows.drop("to"), "all")
    batch.send(rows, rows["to"])


def test_ids_of_what_is_of_the_whole_batch_are_the_same_when_it_is_run_again(session: SparkSession) -> None:
    first, second = (run(totals, ORDERS, spark=session, attempt=attempt).sent for attempt in (1, 2))
    assert {message.subject for message in first} == {"all", "totals.north", "totals.south"}
    assert sorted(map(repr, first)) == sorted(map(repr, second))
    assert len({message.message_id for message in first}) == 4


def test_a_message_has_the_same_id_in_another_batch(spark: SparkSession) -> None:
    def ids(*messages: Message) -> dict[bytes, str]:
        sent = run(lambda df, batch: batch.send(df, df["subject"], "data"), messages, spark=spark).sent
        return {message.data: message.message_id for message in sent}

    first, second = ids(Message("a", seq=3), Message("b", seq=4)), ids(Message("b", seq=4), Message("c", seq=5))
    assert first[b"b"] == second[b"b"]


def lines(order: str) -> Process:
    """Return a process that sends three rows of each message in this order."""

    def process(df: DataFrame, batch: Batch) -> None:
        rows = df.selectExpr("seq", "explode(array('x', 'y', 'y')) AS line").orderBy(order)
        batch.send(rows, "lines")

    return process


def test_several_rows_of_one_message_have_ids_of_their_own_in_any_order(spark: SparkSession) -> None:
    first, second = (run(lines(order), ["m"], spark=spark).sent for order in ("line", "seq"))
    assert len({message.message_id for message in first}) == 3
    assert sorted(map(repr, first)) == sorted(map(repr, second))


def test_payload_and_headers_can_be_columns(session: SparkSession) -> None:
    message = Message(b"\xff\x00", "a.b", {"K": ["1", "2"]})
    (sent,) = run(
        lambda df, batch: batch.send(df, df["subject"], "data", headers=df["headers"]), [message], spark=session
    ).sent
    assert (sent.subject, sent.data, sent.headers) == ("a.b", b"\xff\x00", {"K": ["1", "2"]})


UNSENDABLE = [
    ("'a b'", "data", "'a b' is no subject to send to"),
    ("'a.*'", "data", "is no subject to send to: .* a wildcard"),
    ("''", "data", "'' is no subject to send to"),
    ("'$JS.API.STREAM.DELETE.ORDERS'", "data", "is reserved"),
    ("'_INBOX_shop_etl.1'", "data", "is reserved"),
    ("'penstock.worker.shop=2Fetl.drain'", "data", "is reserved"),
    ("CAST(NULL AS STRING)", "data", r"has no subject \(message 1\)"),
    ("'a'", "nothing", r"has no data \(message 1\): filter it"),
    ("'a'", None, "no column besides the batch's own"),
]


def send(subject: str, data: str | None) -> Process:
    def process(df: DataFrame, batch: Batch) -> None:
        rows = df.selectExpr("*", f"{subject} AS to", "CAST(NULL AS BINARY) AS nothing")
        batch.send(rows if data else df.select("subject", "seq"), rows["to"] if data else "a", data)

    return process


def test_rows_that_cannot_be_sent_are_refused(spark: SparkSession, subtests: pytest.Subtests) -> None:
    for subject, data, refusal in UNSENDABLE:
        with subtests.test(refusal), pytest.raises(ValueError, match=refusal):
            run(send(subject, data), ["m"], spark=spark)
