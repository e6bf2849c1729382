"""The id of a batch stands for these very messages, wherever it is met again."""

from penstock_worker.policy.identity import batch_id

RANGES = ((1, 3), (7, 7))


def test_an_id_names_stream_consumer_and_first_and_last_message() -> None:
    assert batch_id("ORDERS", "etl", RANGES, newest=7).startswith("ORDERS.etl.1-7.")


def test_the_same_messages_have_the_same_id_and_no_others_have() -> None:
    same = batch_id("S", "c", RANGES, newest=7)
    assert batch_id("S", "c", RANGES, newest=7) == same
    assert batch_id("S", "c", ((1, 7),), newest=7) != same


def test_messages_that_were_stored_later_under_these_sequences_are_others() -> None:
    assert batch_id("S", "c", RANGES, newest=7) != batch_id("S", "c", RANGES, newest=8)
