"""Recreating is allowed by an annotation, or refused when it is applied, in words that name the annotation.

By the policies as they are shipped, on a real API server. Other tests share the server, and so do other processes that
run these: each puts policies of its own names in force, in a namespace of its own.
"""

import json
import re
import uuid
from collections.abc import Mapping

import pytest

from penstock_operator.resources import KINDS, Kind, has_policy, policy
from penstock_operator.resources.management import RECREATE_ANNOTATION
from tests.operator.resources.judge import Judge, RefusedError
from tests.operator.resources.test_rules import BY_NAME, ROWS, changes
from tests.testbed.kubernetes.access import Access
from tests.testbed.waiting import eventually

RECREATE = {"management": {"immutableChange": "Recreate"}}
IN_FORCE_SECONDS = 60
ROWS_OF_CHANGES = [
    pytest.param(BY_NAME[name], row, id=f"{name}-{row}")
    for name, module in ROWS.items()
    for row in module.CHANGES
    if row not in module.FOR_GOOD
]
every_change = pytest.mark.parametrize(("kind", "row"), ROWS_OF_CHANGES)


@pytest.fixture(scope="module")
def judge(penstock_plane: Access) -> Judge:
    namespace = f"recreating-{uuid.uuid4().hex[:8]}"
    penstock_plane.kubectl("create", "namespace", namespace)
    guarded = [kind for kind in KINDS if has_policy(kind)]
    for kind in guarded:
        shipped, binding = policy(kind)
        name = f"{shipped['metadata']['name']}.{namespace}"
        shipped["metadata"]["name"] = binding["metadata"]["name"] = binding["spec"]["policyName"] = name
        here = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
        binding["spec"]["matchResources"] = {"namespaceSelector": here}
        items = {"apiVersion": "v1", "kind": "List", "items": [shipped, binding]}
        penstock_plane.kubectl("apply", "--server-side", "--filename=-", stdin=json.dumps(items))
    judge = Judge(penstock_plane, namespace)
    for kind in guarded:
        wait_in_force(judge, kind)
    return judge


def wait_in_force(judge: Judge, kind: Kind) -> None:
    """An API server learns of a policy a moment after it has accepted it."""
    row = next(row for row in ROWS[kind.name].CHANGES if row not in ROWS[kind.name].FOR_GOOD)
    _, there, _, forbidden = changes(kind, row)
    judge.create(kind, there, "first")

    def is_refused() -> bool:
        try:
            judge.kept_after_change(kind, {**forbidden, **RECREATE}, "first")
        except RefusedError:
            return True
        return False

    eventually(is_refused, f"the policy of {kind.name} is in force", IN_FORCE_SECONDS)


def allowing(generation: int) -> Mapping[str, str]:
    return {RECREATE_ANNOTATION: str(generation)}


@every_change
def test_what_would_make_it_anew_is_refused_unless_the_annotation_names_the_generation(
    judge: Judge, kind: Kind, row: str
) -> None:
    name, there, allowed, forbidden = changes(kind, row)
    anew = {**forbidden, **RECREATE}
    judge.create(kind, there, name)
    judge.kept_after_change(kind, {**allowed, **RECREATE}, name)
    for annotations in ({}, allowing(1), allowing(3)):
        with pytest.raises(RefusedError, match=re.escape(row)) as refused:
            judge.kept_after_change(kind, anew, name, annotations)
        assert f'by the annotation {RECREATE_ANNOTATION}: "2".' in str(refused.value)
    judge.kept_after_change(kind, anew, name, allowing(2))


def test_every_kind_that_can_be_made_anew_has_a_policy() -> None:
    assert [kind.name for kind in KINDS if has_policy(kind)] == list(ROWS)
