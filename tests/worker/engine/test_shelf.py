"""The store of messages without a final answer: fresh and redelivered ones are separate blocks."""

from penstock_worker.engine.rows import Rows
from penstock_worker.engine.shelf import Shelf
from penstock_worker.policy.machine.pieces import Piece


def rows(*delivered: tuple[int, int]) -> Rows:
    """Return messages by their sequence and how often they were delivered; each has as many bytes as its sequence."""
    sequences = [sequence for sequence, _ in delivered]
    return Rows(
        [b""] * len(delivered),
        [b"reply %d" % sequence for sequence in sequences],
        [b"x" * sequence for sequence in sequences],
        {},
        sequences,
        [times for _, times in delivered],
        [0] * len(delivered),
    )


def test_fresh_messages_are_one_block_and_redelivered_ones_others_with_each_message_once() -> None:
    (fresh,) = Shelf().put(rows((1, 1), (2, 1), (5, 1)))
    assert (fresh.redelivered, list(fresh.sequences), list(fresh.offsets)) == (False, [1, 2, 5], [0, 1, 3, 8])
    arrived = Shelf().put(rows((1, 1), (2, 3), (3, 1), (2, 4), (4, 2)))
    expected = [(False, [1, 3]), (True, [2, 4]), (True, [2])]
    assert [(each.redelivered, list(each.sequences)) for each in arrived] == expected
    assert len({each.block for each in arrived}) == 3
    (sorted_block,) = Shelf().put(rows((9, 2), (3, 2), (7, 2)))
    assert list(sorted_block.sequences) == [3, 7, 9]


def test_block_is_kept_until_its_last_message_is_answered() -> None:
    shelf = Shelf()
    (first,) = shelf.put(rows((1, 1), (2, 1), (3, 1)))
    (second,) = shelf.put(rows((4, 1)))
    pieces = [Piece(second.block, 0, 1), Piece(first.block, 1, 3)]
    assert shelf.replies(pieces) == [b"reply 4", b"reply 2", b"reply 3"]
    assert shelf.rows(pieces).sequences == [4, 2, 3]
    assert shelf.answered(pieces) == (3, 9)
    assert shelf.messages == 3
    assert shelf.answered([Piece(first.block, 0, 1)]) == (1, 1)
    assert shelf.messages == 0


def test_message_answered_twice_counts_once() -> None:
    shelf = Shelf()
    (arrived,) = shelf.put(rows((1, 1), (2, 1), (3, 1)))
    assert shelf.answered([Piece(arrived.block, 1, 2)]) == (1, 2)
    assert shelf.answered([Piece(arrived.block, 0, 3)]) == (2, 4)
    assert shelf.answered([Piece(arrived.block, 0, 3)]) == (0, 0)
