"""An object is kept without what nobody asks for, and says the same."""

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


def test_its_status_says_the_same() -> None:
    assert compact(Declared.read(MANIFEST)).status == MANIFEST["status"]


def test_of_annotations_only_ours_are_kept() -> None:
    assert compact(Declared.read(MANIFEST)).annotations == {"penstock.dev/reconcile": "paused"}


def test_the_same_generation_of_a_spec_is_understood_once() -> None:
    before = Declared.read(MANIFEST)
    assert Declared.read({**MANIFEST, "status": {}}, before).spec is before.spec


def test_specs_that_give_the_same_fields_share_the_note_of_it_and_say_the_same() -> None:
    first, second = (compact(Declared.read({**MANIFEST, "status": {}})).spec for _ in range(2))
    assert first
    assert second
    assert first == second == Declared.read(MANIFEST).spec
    assert first.model_fields_set == {"connection_ref"}
    assert first.model_fields_set is second.model_fields_set
    assert first.model_dump(exclude_unset=True) == {"connection_ref": {"name": "nats"}}
