"""The status that is written: complete, with correct transition times, and only if it has changed."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock_operator.plan.conditions import LONGEST_MESSAGE, is_news, status
from penstock_operator.plan.decision import ConditionType, Verdict
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.dependencies import Resolved
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Place
from penstock_operator.plan.verdicts import doubtful, in_sync, out_of_sync, unanswered, unasked
from penstock_operator.resources import StreamStatus
from tests.operator.plan.builders import consumer, stream

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)
HEALTHY = in_sync("The stream ORDERS is as declared.")
FACTS = {"messages": 5, "leader": "n1"}

sentences = st.text(max_size=20)
reasons = st.sampled_from(list(Reason))
verdicts = st.one_of(
    st.builds(in_sync, sentences, st.sampled_from([Reason.IN_SYNC, Reason.OBSERVED])),
    st.builds(out_of_sync, reasons, sentences, drifted=st.booleans()),
    st.builds(unanswered, reasons, sentences),
    st.builds(unasked, reasons, sentences),
    st.builds(lambda healthy, warnings: healthy + doubtful(warnings), st.just(HEALTHY), st.tuples(sentences)),
)
facts = st.dictionaries(st.sampled_from(["messages", "bytes"]), st.integers(0, 9))
AWAY = unanswered(Reason.UNREACHABLE, "No answer.")
moments = st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds it


def written(declared: Declared, said: dict[str, Any] | None) -> Declared:
    """Return the object as it is after the status was written."""
    return replace(declared, status=said) if said else declared


def times(said: dict[str, Any]) -> dict[str, str]:
    return {condition["type"]: condition["lastTransitionTime"] for condition in said["conditions"]}


def statuses(said: dict[str, Any]) -> dict[str, str]:
    return {condition["type"]: condition["status"] for condition in said["conditions"]}


@given(verdicts, facts, moments, moments)
def test_written_status_is_not_written_again(
    said: Sequence[Verdict], live: dict[str, int], at: datetime, later: datetime
) -> None:
    object_ = written(stream(), status(stream(), said, live, at))
    assert status(object_, said, live, later) is None
    assert not is_news(object_, said)


@given(verdicts, verdicts, moments, moments)
def test_transition_time_changes_exactly_when_the_status_does(
    first: Sequence[Verdict], second: Sequence[Verdict], at: datetime, later: datetime
) -> None:
    before = status(stream(), first, {}, at)
    assert before
    after = status(written(stream(), before), second, {}, later) or before
    for kind, state in statuses(after).items():
        kept = statuses(before).get(kind) == state
        assert times(after)[kind] == (times(before)[kind] if kept else f"{later:%Y-%m-%dT%H:%M:%SZ}")


@given(verdicts, facts)
def test_ready_is_true_only_if_all_is_well_and_the_status_fits_the_schema(
    said: Sequence[Verdict], live: dict[str, int]
) -> None:
    found = {verdict.type: verdict.status for verdict in said}
    well = found[ConditionType.SYNCED] == found[ConditionType.REACHABLE] == "True"
    assert (found[ConditionType.READY] == "True") is (well and found[ConditionType.DRIFTED] == "False")
    StreamStatus.model_validate(status(stream(), said, live, NOON))


@given(verdicts, verdicts)
def test_each_condition_appears_once_with_the_generation_it_is_about(
    first: Sequence[Verdict], second: Sequence[Verdict]
) -> None:
    object_ = written(stream(generation=3), status(stream(generation=3), first, {}, NOON))
    said = status(object_, second, {}, NOON) or object_.status
    kinds = [condition["type"] for condition in said["conditions"]]
    assert sorted(kinds) == sorted({verdict.type for verdict in second})
    assert {condition["observedGeneration"] for condition in said["conditions"]} == {3} == {said["observedGeneration"]}


def test_synced_generation_and_live_facts_are_kept_while_the_server_is_away() -> None:
    object_ = written(stream(generation=2), status(stream(generation=2), HEALTHY, FACTS, NOON))
    said = status(object_, AWAY, None, NOON + timedelta(minutes=1)) or {}
    assert (said["syncedGeneration"], said["messages"]) == (2, 5)
    gone = status(object_, AWAY, {}, NOON)
    assert gone
    assert "messages" not in gone
    observed = status(stream(), in_sync("It is as declared.", Reason.OBSERVED), {}, NOON)
    assert observed
    assert "syncedGeneration" not in observed, "observing syncs nothing"


def test_new_facts_alone_are_written_without_an_event_and_no_verdicts_write_nothing() -> None:
    object_ = written(stream(), status(stream(), HEALTHY, FACTS, NOON))
    assert status(object_, HEALTHY, {**FACTS, "messages": 6}, NOON)
    assert not is_news(object_, HEALTHY)
    assert status(stream(), (), {}, NOON) is None


def test_overlong_message_is_cut_and_causes_one_event() -> None:
    long = out_of_sync(Reason.DRIFTED, "x" * 100_000)
    said = status(stream(), long, {}, NOON)
    assert said
    assert len(said["conditions"][0]["message"]) == LONGEST_MESSAGE
    assert not is_news(written(stream(), said), long)


def test_location_of_an_object_is_kept_without_a_connection() -> None:
    at = Resolved(Place("account-1", "ORDERS", "etl"), Identity("Connection", "shop", "nats"))
    object_ = written(consumer(), status(consumer(), HEALTHY, FACTS, NOON, at))
    said = status(object_, unasked(Reason.CONNECTION_NOT_FOUND, "It is gone."), None, NOON)
    assert said
    assert (said["connection"], said["streamName"], said["consumerName"]) == ("shop/nats", "ORDERS", "etl")
