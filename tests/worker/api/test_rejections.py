"""Messages that are refused are of the batch, each once."""

import pytest

from penstock_worker.api.rejections import Rejections
from penstock_worker.policy.outcome import Rejection


def test_rejected_messages_are_listed_in_the_order_of_the_stream_with_the_first_reason_given() -> None:
    rejections = Rejections([(1, 3), (7, 7)])
    rejections.add_all([7, 2], "too old")
    rejections.add({2: "no region", 1: "no amount"})
    assert rejections.listed() == (Rejection(1, "no amount"), Rejection(2, "too old"), Rejection(7, "too old"))


@pytest.mark.parametrize("stranger", [0, 4, 6, 8])
def test_a_message_that_is_not_in_the_batch_cannot_be_rejected(stranger: int) -> None:
    rejections = Rejections([(1, 3), (7, 7)])
    with pytest.raises(ValueError, match=rf"Message {stranger} cannot be rejected: the batch holds 1-3,7\."):
        rejections.add_all([2, stranger], "bad")
    assert rejections.listed() == ()
