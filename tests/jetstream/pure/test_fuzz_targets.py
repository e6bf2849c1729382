"""What must hold for any bytes holds for what the fuzzer has found, and for what hypothesis makes up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.jetstream.fuzz import corpus
from tests.jetstream.fuzz.targets import TARGETS


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_holds_for_its_corpus(target: str) -> None:
    inputs = corpus.read(target)
    assert inputs
    for data in inputs:
        TARGETS[target](data)


@pytest.mark.requirement("S-16")
@pytest.mark.parametrize("target", TARGETS)
@given(data=st.binary(max_size=200))
def test_a_target_holds_for_any_bytes(target: str, data: bytes) -> None:
    TARGETS[target](data)
