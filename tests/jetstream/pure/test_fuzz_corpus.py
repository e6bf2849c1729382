"""What fuzzers have found to be worth trying goes well: each input of the corpora, on each target."""

import pytest

from tests.jetstream.fuzz import corpus
from tests.jetstream.fuzz.targets import TARGETS


@pytest.mark.parametrize("target", TARGETS)
def test_what_must_hold_for_any_bytes_holds_for_all_that_was_found(target: str) -> None:
    inputs = corpus.read(target)
    assert inputs
    for data in inputs:
        TARGETS[target](data)
