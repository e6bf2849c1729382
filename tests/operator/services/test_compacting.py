"""A compacted object has the same meaning without what the operator never reads."""

from penstock_operator.plan.declared import Declared
from penstock_operator.services.compacting import compact

SAID = {"status": "True", "reason": "InSync", "message": "The stream is as declared."}
MANIFEST = {
    "kind": "Stream",
    "metadata": {
        "name": "orders",
        "namespace": "shop",
        "uid": "1",
        "generation": 1,
        "annotations": {"penstock.dev/reconcile": "paused", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
    },
    "spec": {"connectionRef": {"name": "nats"}},
    "status": {"messages": 7, "conditions": [{"type": "Ready", **SAID}, {"type": "Synced", **SAID}]},
}


def test_compacting_keeps_the_status_and_only_our_annotations() -> None:
    compacted = compact(Declared.read(MANIFEST))
    assert compacted.status == MANIFEST["status"]
    assert compacted.annotations == {"penstock.dev/reconcile": "paused"}


def test_equal_specs_share_their_field_sets_and_an_unchanged_generation_its_spec() -> None:
    before = Declared.read(MANIFEST)
    assert Declared.read({**MANIFEST, "status": {}}, before).spec is before.spec
    first, second = (compact(Declared.read({**MANIFEST, "status": {}})).spec for _ in range(2))
    assert first
    assert second
    assert first == second == Declared.read(MANIFEST).spec
    assert first.model_fields_set == {"connection_ref"}
    assert first.model_fields_set is second.model_fields_set
    assert first.model_dump(exclude_unset=True) == {"connection_ref": {"name": "nats"}}
