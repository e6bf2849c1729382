"""Several objects that declare the same stream or consumer: which one manages it, and which one takes over."""

import pytest

from penstock_operator.plan.claims import heir, holder
from penstock_operator.plan.declared import Declared
from tests.operator.plan.builders import declared, stream

EARLY, LATE, LATEST = (f"2026-11-18T12:00:0{second}Z" for second in range(3))
OBSERVE = {"policy": "Observe"}
OLD, YOUNG = stream(name="z", created=EARLY), stream(name="a", created=LATE)
LEAVING = stream(name="a", deleting=True, created=EARLY)
OBSERVER = stream(OBSERVE, name="c", created=EARLY)

HOLDERS: dict[str, tuple[list[Declared], Declared | None]] = {
    "the oldest": ([YOUNG, OLD], OLD),
    "of the same second, the first by name": (
        [stream(name="b", namespace="a"), stream(name="a", namespace="b")],
        stream(name="b", namespace="a"),
    ),
    "one that is being deleted, until it is gone": ([LEAVING, YOUNG], LEAVING),
    "not one that only observes": ([OBSERVER, YOUNG], YOUNG),
    "none where all only observe": ([OBSERVER], None),
    "not one with an invalid spec": ([declared("Stream", "a", {}, created=EARLY), YOUNG], YOUNG),
}
HEIRS: dict[str, tuple[list[Declared], Declared | None]] = {
    "the next in age": ([stream(name="c", created=LATEST), OLD, YOUNG, LEAVING], OLD),
    "neither one that is being deleted nor one that only observes": (
        [LEAVING, stream(name="b", deleting=True, created=LATE), OBSERVER],
        None,
    ),
}


def test_oldest_object_that_manages_is_the_holder_and_the_next_its_heir(subtests: pytest.Subtests) -> None:
    for name, (objects, expected) in HOLDERS.items():
        for order in (objects, objects[::-1]):
            with subtests.test(name):
                assert holder(order) == (expected and expected.identity)
    for name, (objects, expected) in HEIRS.items():
        with subtests.test(name):
            assert heir(objects, LEAVING.identity) == (expected and expected.identity)
