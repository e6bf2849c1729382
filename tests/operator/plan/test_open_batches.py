"""Of the ledger's entries, those are open batches whose messages are still to be processed or acknowledged."""

import json
from datetime import UTC, datetime

from penstock_operator.plan.open_batches import Consumed, open_batches

WRITTEN = datetime(2026, 11, 20, tzinfo=UTC)


def entry(ranges: str, **fields: object) -> tuple[bytes, datetime]:
    usual = {"incarnation": "once", "worker": "etl-0", "attempts": 0, "losses": 0, "committed": False}
    return json.dumps({**usual, "ranges": ranges, **fields}).encode(), WRITTEN


def test_batches_that_are_settled_cut_or_of_a_former_consumer_are_not_open() -> None:
    entries = {
        "open": entry("1+9"),
        "half of the one that was cut": entry("11+4", attempts=1),
        "cut": entry("11+9", parts={"11-15.a": "11+4", "16-20.b": "16+4"}),
        "committed": entry("21+9", committed=True),
        "settled": entry("1+2", committed=True),
        "former": entry("31", incarnation="before"),
        "unreadable": (b"no entry", WRITTEN),
    }
    found = open_batches(entries, Consumed(life="once", ack_floor=5), (), 600)
    assert {batch.id: (batch.messages, batch.attempt) for batch in found} == {
        "open": (10, 1),
        "half of the one that was cut": (5, 2),
        "committed": (10, 1),
    }
    assert open_batches(entries, None, (), 600) == []
