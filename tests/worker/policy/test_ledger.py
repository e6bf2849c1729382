"""How large an entry of the ledger is at most is known before it is written."""

from hypothesis import given
from hypothesis import strategies as st

from penstock_worker.policy.ledger import Entry, encode, most_bytes
from penstock_worker.policy.ranges import ranges_of


@given(
    first=st.integers(1, 10**15),
    steps=st.lists(st.one_of(st.just(1), st.integers(1, 20), st.integers(1, 10**9)), max_size=300),
)
def test_entry_is_no_larger_than_its_bound(first: int, steps: list[int]) -> None:
    sequences = [first]
    for step in steps:
        sequences.append(sequences[-1] + step)
    entry = Entry(batch_id="S.c.1-2.abc", ranges=ranges_of(sequences), newest=10**19, oldest=10**19, worker="w" * 253)
    value = encode(entry, incarnation="2026-11-18T12:00:00.123456+00:00 2026-11-18T12:00:00.123456+00:00")
    assert len(value) <= most_bytes(entry.ranges, len(sequences))
