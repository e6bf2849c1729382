"""How large an entry of the ledger is at most is known before it is written."""

from hypothesis import given
from hypothesis import strategies as st

from penstock_worker.policy.ledger import Entry, decode, encode, most_bytes
from penstock_worker.policy.ranges import ranges_of


@given(
    first=st.integers(1, 10**15),
    steps=st.lists(st.one_of(st.just(1), st.integers(1, 20), st.integers(1, 10**9)), max_size=300),
)
def test_entry_is_no_larger_than_its_bound(first: int, steps: list[int]) -> None:
    sequences = [first]
    for step in steps:
        sequences.append(sequences[-1] + step)
    ancestors = (f"S.c.{10**18}-{10**18}.01234567",) * 20
    entry = Entry(
        batch_id="S.c.1-2.abc",
        ranges=ranges_of(sequences),
        newest=10**19,
        oldest=10**19,
        worker="w" * 253,
        ancestors=ancestors,
    )
    incarnation = "2026-11-18T12:00:00.123456+00:00 2026-11-18T12:00:00.123456+00:00"
    value = encode(entry, incarnation=incarnation)
    assert len(value) <= most_bytes(entry.ranges, len(sequences), len(ancestors))
    assert decode(entry.batch_id, value, incarnation=incarnation) == entry


@given(rejected=st.sets(st.integers(1, 10**15), max_size=50))
def test_entry_has_what_was_rejected_unless_it_would_be_too_large(rejected: set[int]) -> None:
    entry = Entry(batch_id="S.c.1-2.abc", ranges=((1, 2),), newest=2, oldest=1, worker="w")
    recorded = entry.with_rejected(sorted(rejected), most_bytes=10_000)
    assert recorded.rejected == ranges_of(sorted(rejected))
    assert decode(entry.batch_id, encode(recorded, incarnation="i"), incarnation="i") == recorded
    assert entry.with_rejected(sorted(rejected), most_bytes=100) == entry
