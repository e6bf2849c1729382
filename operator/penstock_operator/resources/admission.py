"""From a kind to the policy that asks, when it is applied, whether somebody has allowed that all there is may be lost.

With management.immutableChange: Recreate, a change that the server cannot make has it made anew, if an annotation names
the generation. A rule of a CustomResourceDefinition cannot see annotations, and a ValidatingAdmissionPolicy can
(Kubernetes 1.30): so `kubectl apply` says which annotation is missing, and not only the condition a moment later.
Knows admissionregistration.k8s.io/v1. Where there is no such policy, the planner alone asks (plan.alteration).
"""

import json
import re
from collections.abc import Iterator

import yaml

from penstock_operator.constants import GROUP, VERSION
from penstock_operator.resources.definition import HEADER
from penstock_operator.resources.kind import Kind
from penstock_operator.resources.management import RECREATE_ANNOTATION, ImmutableChange
from penstock_operator.resources.part import ChangeRule
from penstock_operator.resources.schema import Schema

API_VERSION = "admissionregistration.k8s.io/v1"
_ALLOWED = (
    f"has(object.metadata.annotations) && '{RECREATE_ANNOTATION}' in object.metadata.annotations"
    f" && object.metadata.annotations['{RECREATE_ANNOTATION}'] == string(object.metadata.generation)"
)


def has_policy(kind: Kind) -> bool:
    """Tell whether anything of the kind can be made anew."""
    return any(_rules(kind))


def policy_file_name(kind: Kind) -> str:
    return f"recreate.{kind.resource}.yaml"


def policy_to_yaml(kind: Kind) -> str:
    """Return the kind's policy, and what puts it in force, as a YAML file."""
    return HEADER + yaml.safe_dump_all(policy(kind), sort_keys=False, width=120, allow_unicode=True)


def policy(kind: Kind) -> list[Schema]:
    """Return the kind's policy, and what puts it in force."""
    name = f"recreate.{kind.resource}"
    updates = {"apiGroups": [GROUP], "apiVersions": [VERSION], "operations": ["UPDATE"], "resources": [kind.plural]}
    return [
        {
            "apiVersion": API_VERSION,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [updates]},
                "matchConditions": [
                    {
                        "name": "would-be-made-anew",
                        "expression": f"object.spec.management.immutableChange == '{ImmutableChange.RECREATE}'",
                    },
                    {"name": "nobody-allows-it", "expression": f"!({_ALLOWED})"},
                ],
                "validations": [_validation(rule) for rule in _rules(kind)],
            },
        },
        {
            "apiVersion": API_VERSION,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        },
    ]


def _rules(kind: Kind) -> Iterator[ChangeRule]:
    for rule in kind.spec.CHANGE_RULES:
        if rule.unless_recreated:
            yield rule.unless_recreated


def _validation(rule: ChangeRule) -> Schema:
    before = f"{rule.sentence}; or allow that it is made anew, without what it holds, by the annotation "
    said = [json.dumps(f'{before}{RECREATE_ANNOTATION}: "', ensure_ascii=False), "string(object.metadata.generation)"]
    return {"expression": _of_objects(rule.cel), "messageExpression": " + ".join([*said, json.dumps('".')])}


def _of_objects(cel: str) -> str:
    """Say of the object what a rule of a definition says of its spec."""
    return re.sub(r"\bself\b", "object.spec", re.sub(r"\boldSelf\b", "oldObject.spec", cel))
