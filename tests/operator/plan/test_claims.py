"""Several objects, one place on a server: who has it."""

from penstock_operator.plan.claims import heir, holder
from tests.operator.plan.builders import declared, stream

EARLY, LATE = "2026-11-18T12:00:00Z", "2026-11-18T12:00:01Z"


def test_the_oldest_has_the_place() -> None:
    old, young = stream(name="z", created=EARLY), stream(name="a", created=LATE)
    assert holder([young, old]) == old.identity


def test_of_two_of_the_same_second_the_first_by_name_has_it() -> None:
    one, other = stream(name="a", namespace="b"), stream(name="b", namespace="a")
    assert holder([one, other]) == holder([other, one]) == other.identity


def test_who_is_being_deleted_has_it_until_it_is_gone() -> None:
    leaving, waiting = stream(name="a", deleting=True, created=EARLY), stream(name="b", created=LATE)
    assert holder([leaving, waiting]) == leaving.identity
    assert holder([waiting]) == waiting.identity


def test_who_only_observes_claims_nothing() -> None:
    observing, managing = stream({"policy": "Observe"}, name="a", created=EARLY), stream(name="b", created=LATE)
    assert holder([observing, managing]) == managing.identity
    assert holder([observing]) is None


def test_who_cannot_be_understood_claims_nothing() -> None:
    assert holder([declared("Stream", "a", {}, created=EARLY), stream(created=LATE)]) == stream().identity


def test_the_next_in_age_inherits_a_place() -> None:
    leaving, next_one = stream(name="a", deleting=True, created=EARLY), stream(name="b", created=LATE)
    youngest = stream(name="c", created="2026-11-18T12:00:02Z")
    assert heir([youngest, next_one, leaving], leaving.identity) == next_one.identity


def test_who_goes_itself_or_only_observes_inherits_nothing() -> None:
    leaving, going = stream(name="a", deleting=True, created=EARLY), stream(name="b", deleting=True, created=LATE)
    observing = stream({"policy": "Observe"}, name="c", created=LATE)
    assert heir([leaving, going, observing], leaving.identity) is None
