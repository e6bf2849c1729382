"""Reading declared objects: any JSON can be read, and faults name the field and the reason."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_operator.plan.declared import FIRST_GENERATION, Declared
from penstock_operator.plan.reconcile import plan
from penstock_operator.plan.surroundings import Surroundings
from penstock_operator.resources import KINDS, StreamSpec

pytestmark = pytest.mark.interpreter

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
def test_any_manifest_can_be_read_and_planned(manifest: dict[str, Any]) -> None:
    declared = Declared.read(manifest)
    assert (declared.spec is None) is bool(declared.fault)
    declared = Declared.read({**manifest, "status": {}})
    if declared.spec is None or declared.management:
        plan(declared, Surroundings())


NATS = {"connectionRef": {"name": "nats"}}
FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "a field is missing": ({}, "spec.connectionRef: It is missing."),
    "an unknown field": ({**NATS, "maxage": "1d"}, "spec.maxage: There is no such field."),
    "none of the choices": (
        {**NATS, "retention": "Forever"},
        "spec.retention: It must be 'Limits', 'Interest' or 'WorkQueue', not 'Forever'.",
    ),
    "too many": ({**NATS, "replicas": 9}, "spec.replicas: It must be at most 5, not 9."),
    "the wrong type": ({**NATS, "subjects": ["a", 1]}, "spec.subjects[1]: It should be a valid string."),
    "a nested field": (
        {**NATS, "management": {"policy": "Ignore"}},
        "spec.management.policy: It must be 'Manage' or 'Observe', not 'Ignore'.",
    ),
}


def read(spec: dict[str, Any], kind: str = "Stream") -> Declared:
    return Declared.read({"kind": kind, "metadata": {"name": "orders"}, "spec": spec})


def test_fault_names_the_field_as_in_the_manifest(subtests: pytest.Subtests) -> None:
    for name, (spec, sentence) in FAULTS.items():
        with subtests.test(name):
            assert read(spec).fault == sentence
    assert "Stream" in read({}, "Topic").fault, "an unknown kind: the known ones are named"


def test_several_faults_are_reported_together_up_to_five_and_without_passwords() -> None:
    fault = read({**NATS, **{f"field{number}": 1 for number in range(7)}}).fault
    assert fault.count("There is no such field.") == 5
    assert fault.endswith("And 2 more.")
    fault = read({"servers": ["nats://me:secret@nats:4222"]}, "Connection").fault
    assert fault
    assert "secret" not in fault


def test_object_from_the_api_server_is_read_completely() -> None:
    metadata = {
        "name": "orders",
        "namespace": "shop",
        "uid": "u",
        "generation": 3,
        "resourceVersion": "7",
        "creationTimestamp": "2026-11-18T12:00:00Z",
        "deletionTimestamp": "2026-11-18T13:00:00Z",
        "annotations": {"a": "b"},
        "finalizers": ["f"],
    }
    declared = Declared.read({"kind": "Stream", "metadata": metadata, "spec": NATS, "status": {"messages": 1}})
    assert isinstance(declared.spec, StreamSpec)
    assert str(declared.identity) == "Stream shop/orders"
    assert (declared.uid, declared.generation, declared.resource_version) == ("u", 3, "7")
    assert declared.created_at == datetime(2026, 11, 18, 12, tzinfo=UTC)
    assert declared.deleting
    assert (declared.annotations, declared.finalizers, declared.status) == ({"a": "b"}, ("f",), {"messages": 1})
    minimal = read(NATS)
    assert (minimal.generation, minimal.deleting) == (FIRST_GENERATION, False)
