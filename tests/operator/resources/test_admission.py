"""Policies as they are shipped, on a real API server: recreating is refused unless an annotation allows it."""

import pytest

from penstock_operator.resources import KINDS, Kind, has_policy, policy
from penstock_operator.resources.management import RECREATE_ANNOTATION
from tests.operator.resources.judging import Judge
from tests.operator.resources.test_rules import ON_SERVER, RECREATE, changes
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.client import RefusedError
from tests.testbed.waiting import eventually


def recreated_by(kind: Kind) -> list[str]:
    rows = ON_SERVER[kind.name]
    return [row for row in rows.CHANGES if row not in rows.FOR_GOOD]


def put_in_force(namespace: Namespace, kind: Kind) -> None:
    """Create the policy for one namespace, by a name of its own: other tests share the API server."""
    shipped, binding = policy(kind)
    name = f"{shipped['metadata']['name']}.{namespace.name}"
    shipped["metadata"]["name"] = binding["metadata"]["name"] = binding["spec"]["policyName"] = name
    here = {"matchLabels": {"kubernetes.io/metadata.name": namespace.name}}
    binding["spec"]["matchResources"] = {"namespaceSelector": here}
    namespace.client.create(shipped, binding)
    _, before, _, forbidden = changes(kind, recreated_by(kind)[0])
    judge = Judge(namespace.client)
    judge.create(kind, before, "first")

    def is_in_force() -> bool:  # an API server learns of a policy a moment after it has accepted it
        try:
            judge.kept_after_change(kind, {**forbidden, **RECREATE}, "first")
        except RefusedError:
            return True
        return False

    eventually(is_in_force, f"the policy of {kind.name} is in force")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if has_policy(kind)], ids=lambda kind: kind.name)
def test_recreating_is_refused_unless_the_annotation_names_the_generation(
    penstock_namespace: Namespace, kind: Kind, subtests: pytest.Subtests
) -> None:
    put_in_force(penstock_namespace, kind)
    judge = Judge(penstock_namespace.client)
    for row in recreated_by(kind):
        with subtests.test(row):
            name, before, allowed, forbidden = changes(kind, row)
            recreating = {**forbidden, **RECREATE}
            judge.create(kind, before, name)
            judge.kept_after_change(kind, {**allowed, **RECREATE}, name)
            for annotations in ({}, {RECREATE_ANNOTATION: "1"}, {RECREATE_ANNOTATION: "3"}):
                with pytest.raises(RefusedError) as refused:
                    judge.kept_after_change(kind, recreating, name, annotations)
                assert row in str(refused.value)
                assert f'by the annotation {RECREATE_ANNOTATION}: "2".' in str(refused.value)
            judge.kept_after_change(kind, recreating, name, {RECREATE_ANNOTATION: "2"})


def test_every_kind_that_can_be_recreated_has_a_policy() -> None:
    assert [kind.name for kind in KINDS if has_policy(kind)] == list(ON_SERVER)
