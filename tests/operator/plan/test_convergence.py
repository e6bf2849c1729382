"""From any spec to any other: few requests get there or the status says why not, then sends nothing."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from penstock_operator.plan.conditions import status
from penstock_operator.plan.decision import Create, Delete, Recreate
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.reconcile import plan
from penstock_operator.plan.surroundings import Missing, Place, Present, Surroundings
from penstock_operator.resources.management import RECREATE_ANNOTATION
from tests.operator.plan.builders import consumer, stream
from tests.operator.simulation.server import Server

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
STREAM, CONSUMER = Place("account", "ORDERS"), Place("account", "ORDERS", "etl")
MOST_REQUESTS = 2
"""An update, and a pause after it."""

durations = st.sampled_from(["1s", "90s", "1h", "1d"])
counts = st.integers(1, 9)
stream_specs = st.fixed_dictionaries(
    {},
    optional={
        "description": st.sampled_from(["one", "two"]),
        "subjects": st.sampled_from([["a"], ["b.>", "c"], ["c", "b.>"]]),
        "retention": st.sampled_from(["Limits", "Interest", "WorkQueue"]),
        "storage": st.sampled_from(["File", "Memory"]),
        "discard": st.sampled_from(["Old", "New"]),
        "maxAge": durations,
        "maxMessages": counts,
        "maxBytes": st.sampled_from(["1Ki", "1Mi"]),
        "maxMessagesPerSubject": counts,
        "metadata": st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["1", "2"])),
        "denyDelete": st.booleans(),
        "allowRollup": st.booleans(),
        "allowDirect": st.booleans(),
        "compression": st.sampled_from(["None", "S2"]),
        "allowMessageTtl": st.booleans(),
    },
)
consumer_specs = st.fixed_dictionaries(
    {},
    optional={
        "description": st.sampled_from(["one", "two"]),
        "ackPolicy": st.sampled_from(["Explicit", "All", "None"]),
        "ackWait": durations,
        "backoff": st.lists(durations, max_size=2),
        "maxDeliver": st.integers(2, 9),
        "maxAckPending": st.integers(-1, 9),
        "filterSubjects": st.sampled_from([["a"], ["b.>", "c"], ["c", "b.>"]]),
        "headersOnly": st.booleans(),
        "maxWaiting": counts,
        "pauseUntil": st.sampled_from(["2036-01-31T12:00:00Z", "2036-01-31T13:00:00+01:00", "2037-01-31T12:00:00Z"]),
        "inactiveThreshold": durations,
    },
)
managements = st.fixed_dictionaries(
    {}, optional={"deletion": st.sampled_from(["Retain", "Delete"]), "immutableChange": st.just("Recreate")}
)


def bring(declared: Declared, server: Server, place: Place) -> Declared:
    """Carry out plans until one has no action, and return the object with its last status."""
    for _ in range(MOST_REQUESTS + 1):
        observed = server.observe(place)
        assert isinstance(observed, Present | Missing)
        decided = plan(declared, Surroundings(observed=observed))
        if decided.action:
            carry_out(server, place, decided.action)
        said = status(declared, decided.verdicts, {}, NOW)
        declared = replace(declared, status=said or declared.status)
        if decided.action is None:
            return declared
    raise AssertionError(f"It is not done after {MOST_REQUESTS} requests.")


def carry_out(server: Server, place: Place, action: Any) -> None:  # noqa: ANN401 - any action
    if isinstance(action, Recreate):
        assert server.do(place, Delete()) is None
        action = Create(action.config)
    assert server.do(place, action) is None


def is_ready(declared: Declared) -> bool:
    return bool(declared.status["conditions"][0]["status"] == "True")


def go(first: Declared, second: Declared, place: Place) -> None:
    """Bring the server to the first object, then to the second, which may be recreated."""
    assume(first.spec and second.spec)
    server = Server()
    if place.consumer:
        server.put(STREAM, {"name": "ORDERS"})
    made = bring(first, server, place)
    assume(is_ready(made))  # else the server refuses it by itself, and it never exists
    allowed = replace(second, generation=2, annotations={RECREATE_ANNOTATION: "2"}, status=made.status)
    changed = bring(allowed, server, place)
    reason = changed.status["conditions"][0]["reason"]
    assert is_ready(changed) or reason in ("Immutable", "Invalid", "Refused")
    if is_ready(changed):
        assert changed.status["syncedGeneration"] == 2


@given(stream_specs, stream_specs, managements)
def test_stream_gets_from_any_spec_to_any_other(
    first: Mapping[str, Any], second: Mapping[str, Any], management: Mapping[str, str]
) -> None:
    go(stream(spec=first), stream(management, second), STREAM)


@given(consumer_specs, consumer_specs, managements)
def test_consumer_gets_from_any_spec_to_any_other(
    first: Mapping[str, Any], second: Mapping[str, Any], management: Mapping[str, str]
) -> None:
    go(consumer(spec=first), consumer(management, second), CONSUMER)
