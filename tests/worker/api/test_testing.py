"""Users test their function on plain values, with the batch that a worker would pass; messages can be rejected."""

from datetime import UTC, datetime

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock_worker.api import Batch, Reject, Retry
from penstock_worker.api.rejections import Rejections
from penstock_worker.policy.outcome import Rejection
from penstock_worker.testing import Message, run

MOMENT = datetime(2026, 5, 4, 3, 2, 1, 123456, tzinfo=UTC)


@pytest.mark.interpreter
def test_a_function_receives_all_columns_of_its_messages(session: SparkSession) -> None:
    messages = [
        {"id": 1},
        "text",
        b"\x00\xff",
        Message(b"", "a.b", {"Ä": ["1", "1"]}, seq=9, timestamp=MOMENT, delivered=3),
    ]
    result = run(lambda df, _: df.orderBy("seq").collect(), messages, spark=session, stream="S")
    rows = result.returned
    assert isinstance(rows, list)
    assert [bytes(row["data"]) for row in rows] == [b'{"id": 1}', b"text", b"\x00\xff", b""]
    assert [row["seq"] for row in rows] == [1, 2, 3, 9]
    assert [row["headers"] for row in rows] == [None, None, None, {"Ä": ["1", "1"]}]
    assert (rows[3]["subject"], rows[3]["stream"], rows[3]["delivered"]) == ("a.b", "S", 3)
    assert rows[3]["timestamp"].microsecond == 123456


def test_the_batch_describes_itself(spark: SparkSession) -> None:
    def process(_: DataFrame, batch: Batch) -> None:
        assert batch.id.startswith("S.etl.3-9.")
        assert (batch.stream, batch.consumer, batch.ranges) == ("S", "etl", ((3, 4), (9, 9)))
        assert (batch.first_seq, batch.last_seq, batch.count, batch.bytes) == (3, 9, 3, 5)
        assert (batch.attempt, batch.redelivered) == (2, True)
        assert batch.deadline > datetime.now(UTC)
        assert batch.spark is spark

    messages = [Message("a", seq=3), Message("bb", seq=4, delivered=2), Message("cc", seq=9)]
    run(process, messages, spark=spark, stream="S", consumer="etl", attempt=2)


def test_the_same_messages_are_the_same_batch_which_is_no_number(spark: SparkSession) -> None:
    """A batch cannot serve as a version that only rises."""
    first, again, other = (
        run(lambda _, batch: batch.id, messages, spark=spark).returned for messages in (["a"], ["a"], ["a", "b"])
    )
    assert first == again != other
    with pytest.raises(TypeError):
        run(lambda _, batch: int(batch), ["a"], spark=spark)  # type: ignore[call-overload]


def test_messages_of_a_frame_with_sequences_are_rejected_with_a_reason_or_a_column_of_reasons(
    spark: SparkSession,
) -> None:
    def process(df: DataFrame, batch: Batch) -> dict[int, str]:
        batch.reject([2], "by hand")
        batch.reject(df.where("seq > 2"), df["subject"])
        batch.reject(df.where("seq < 3"), "all the same")
        return dict(batch.rejected)

    result = run(process, ["a", "b", "c"], spark=spark)
    assert result.returned == result.rejected == {1: "all the same", 2: "by hand", 3: "test"}
    with pytest.raises(ValueError, match="has no column seq, which names the messages"):
        run(lambda df, batch: batch.reject(df.select("data"), "bad"), ["a"], spark=spark)


def test_what_the_function_raises_or_asks_for_is_raised(spark: SparkSession) -> None:
    with pytest.raises(Retry, match="the table is locked") as asked:
        run(lambda _, batch: batch.retry(30, "the table is locked"), ["a"], spark=spark)
    assert asked.value.after_seconds == 30
    with pytest.raises(ValueError, match="tried again after -1 seconds"):
        Retry(after_seconds=-1)

    def reject(_df: DataFrame, _batch: Batch) -> None:
        raise Reject("too old")

    with pytest.raises(Reject, match="too old"):
        run(reject, ["a"], spark=spark)


def test_a_batch_without_messages_is_refused(spark: SparkSession) -> None:
    with pytest.raises(ValueError, match="A batch has at least one message"):
        run(lambda _df, _batch: None, [], spark=spark)


def test_rejected_messages_are_listed_in_stream_order_with_the_first_reason_given() -> None:
    rejections = Rejections([(1, 3), (7, 7)])
    for stranger in (0, 4, 6, 8):
        with pytest.raises(ValueError, match=rf"Message {stranger} cannot be rejected: the batch holds 1-3,7\."):
            rejections.add_all([2, stranger], "bad")
    assert rejections.known(()) == ()
    rejections.add_all([7, 2], "too old")
    rejections.add({2: "no region", 1: "no amount"})
    assert rejections.known(()) == (Rejection(1, "no amount"), Rejection(2, "too old"), Rejection(7, "too old"))
