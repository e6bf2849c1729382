"""Reading what somebody declared: all that is JSON can be read, and what is wrong with it is said in words."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_operator.plan.declared import FIRST_GENERATION, Declared
from penstock_operator.plan.reconcile import plan
from penstock_operator.plan.surroundings import Surroundings
from penstock_operator.resources import KINDS, StreamSpec

json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
names = sorted({str(field.alias) for kind in KINDS for field in kind.spec.model_fields.values()})
specs = json | st.dictionaries(st.sampled_from(names), json, max_size=4)
metadata = st.fixed_dictionaries(
    {"name": json},
    optional=dict.fromkeys(
        ("namespace", "generation", "creationTimestamp", "annotations", "finalizers", "deletionTimestamp"), json
    ),
)
manifests = st.fixed_dictionaries(
    {"kind": st.sampled_from([kind.name for kind in KINDS]) | json, "metadata": metadata | json, "spec": specs},
    optional={"status": json},
)


@given(manifests)
def test_whatever_is_declared_can_be_read(manifest: dict[str, Any]) -> None:
    declared = Declared.read(manifest)
    assert (declared.spec is None) is bool(declared.fault)


@given(manifests)
def test_for_whatever_is_declared_there_is_a_plan(manifest: dict[str, Any]) -> None:
    declared = Declared.read({**manifest, "status": {}})
    if declared.spec is None or declared.management:
        plan(declared, Surroundings())


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "a field is missing": ({}, "spec.connectionRef: It is missing."),
    "a field that there is not": (
        {"connectionRef": {"name": "nats"}, "maxage": "1d"},
        "spec.maxage: There is no such field.",
    ),
    "none of the choices": (
        {"connectionRef": {"name": "nats"}, "retention": "Forever"},
        "spec.retention: It must be 'Limits', 'Interest' or 'WorkQueue', not 'Forever'.",
    ),
    "too many": ({"connectionRef": {"name": "nats"}, "replicas": 9}, "spec.replicas: It must be at most 5, not 9."),
    "the wrong type": (
        {"connectionRef": {"name": "nats"}, "subjects": ["a", 1]},
        "spec.subjects[1]: It should be a valid string.",
    ),
    "something within": (
        {"connectionRef": {"name": "nats"}, "management": {"policy": "Ignore"}},
        "spec.management.policy: It must be 'Manage' or 'Observe', not 'Ignore'.",
    ),
}


@pytest.mark.parametrize(("spec", "sentence"), FAULTS.values(), ids=FAULTS)
def test_what_is_wrong_is_said_with_the_field_as_in_the_manifest(spec: dict[str, Any], sentence: str) -> None:
    assert Declared.read({"kind": "Stream", "metadata": {"name": "orders"}, "spec": spec}).fault == sentence


def test_several_faults_are_told_together_and_no_more_than_people_read() -> None:
    spec = {"connectionRef": {"name": "nats"}, **{f"field{number}": 1 for number in range(7)}}
    fault = Declared.read({"kind": "Stream", "metadata": {"name": "orders"}, "spec": spec}).fault
    assert fault.count("There is no such field.") == 5
    assert fault.endswith("And 2 more.")


def test_a_password_in_a_url_is_not_repeated() -> None:
    spec = {"servers": ["nats://me:secret@nats:4222"]}
    declared = Declared.read({"kind": "Connection", "metadata": {"name": "nats"}, "spec": spec})
    assert declared.fault
    assert "secret" not in declared.fault


def test_another_kind_is_not_understood_and_those_that_are_are_named() -> None:
    assert "Stream" in Declared.read({"kind": "Topic", "metadata": {"name": "orders"}, "spec": {}}).fault


def test_an_object_of_the_api_server_is_read_whole() -> None:
    declared = Declared.read(
        {
            "kind": "Stream",
            "metadata": {
                "name": "orders",
                "namespace": "shop",
                "uid": "u",
                "generation": 3,
                "creationTimestamp": "2026-11-18T12:00:00Z",
                "deletionTimestamp": "2026-11-18T13:00:00Z",
                "annotations": {"a": "b"},
                "finalizers": ["f"],
                "resourceVersion": "7",
            },
            "spec": {"connectionRef": {"name": "nats"}},
            "status": {"messages": 1},
        }
    )
    assert isinstance(declared.spec, StreamSpec)
    assert str(declared.identity) == "Stream shop/orders"
    assert (declared.uid, declared.generation, declared.resource_version) == ("u", 3, "7")
    assert declared.created_at == datetime(2026, 11, 18, 12, tzinfo=UTC)
    assert declared.deleting
    assert (declared.annotations, declared.finalizers, declared.status) == ({"a": "b"}, ("f",), {"messages": 1})


def test_a_file_needs_no_more_than_kind_name_and_spec() -> None:
    declared = Declared.read({"kind": "Stream", "metadata": {"name": "a"}, "spec": {"connectionRef": {"name": "nats"}}})
    assert declared.generation == FIRST_GENERATION
    assert not declared.deleting
