"""The id of a batch names exactly its messages."""

from penstock_worker.policy.identity import batch_id

RANGES = ((1, 3), (7, 7))


def test_an_id_names_stream_consumer_first_and_last_message_and_differs_for_other_messages() -> None:
    first = batch_id("ORDERS", "etl", RANGES, newest=7)
    assert first.startswith("ORDERS.etl.1-7.")
    assert batch_id("ORDERS", "etl", RANGES, newest=7) == first
    assert batch_id("ORDERS", "etl", ((1, 7),), newest=7) != first
    assert batch_id("ORDERS", "etl", RANGES, newest=8) != first, "messages stored later under the same sequences"
