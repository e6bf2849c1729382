"""Batches fit into the memory of the engine's container, counted as Python needs it."""

import tracemalloc

import pytest

from penstock_jetstream import Block
from penstock_worker.engine.ground import MEMORY_SHARE, MESSAGE_BYTES, within_memory
from penstock_worker.engine.rows import Rows
from penstock_worker.engine.shelf import Shelf
from penstock_worker.policy.settings import BatchSettings
from tests.worker.machine.playing import Play

MIB = 1 << 20
BLOCKS, BLOCK = 10, 1000


def block_of(first: int) -> Block:
    numbers = range(first, first + BLOCK)
    reply = b"$JS.ACK.ORDERS.orders-etl.1.%d.%d.1763500000000%06d.%d"
    replies = [reply % (10**8 + number, 10**8 + number, number, 10**6 + number) for number in numbers]
    subjects = [b"orders.new.%d" % number for number in numbers]
    return Block(b"1", subjects, replies, [b"%010d" % number for number in numbers], {})


def test_held_message_takes_as_much_memory_as_is_counted() -> None:
    shelf, play = Shelf(), Play.ready()
    tracemalloc.start()
    try:
        counted = 0
        for first in range(0, BLOCKS * BLOCK, BLOCK):
            for arrived in shelf.put(Rows.of(block_of(first))):
                counted += arrived.offsets[-1]
                play.handle(arrived)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.8 * MESSAGE_BYTES <= (used - counted) / (BLOCKS * BLOCK) <= MESSAGE_BYTES


def test_batches_are_made_smaller_until_those_that_are_held_fit_into_memory(subtests: pytest.Subtests) -> None:
    for name, limit, batch, fits in (
        ("no limit", None, BatchSettings(max_messages=1_000_000, in_flight=16), True),
        ("the defaults", 1 << 30, BatchSettings(), True),
        ("many messages", 1 << 30, BatchSettings(max_messages=1_000_000), False),
        ("many batches", 1 << 30, BatchSettings(in_flight=16), False),
        ("large batches", 1 << 30, BatchSettings(max_bytes=512 * MIB), False),
        ("large batches with the limit that is advised", 6 << 30, BatchSettings(max_bytes=512 * MIB), True),
        ("hardly any memory", MIB, BatchSettings(max_messages=1), False),
    ):
        with subtests.test(name):
            fitting, warnings = within_memory(batch, limit)
            assert (fitting == batch, not warnings) == (fits, fits)
            needed = (batch.in_flight + 2) * (fitting.max_bytes + fitting.max_messages * MESSAGE_BYTES)
            assert limit is None or needed <= limit * MEMORY_SHARE
            assert fitting.max_messages >= 1
