"""From a kind to its CustomResourceDefinition, as an object and as the YAML file that people apply.

Knows apiextensions.k8s.io/v1. Does not know any particular kind, nor where files are. Called by the command line.
"""

from typing import Any

import yaml
from typing_extensions import override

from penstock_operator.constants import CATEGORY, GROUP, VERSION
from penstock_operator.resources.kind import Column, Kind
from penstock_operator.resources.part import VALIDATIONS, ChangeRule, Rule, validations
from penstock_operator.resources.schema import Schema, structural_schema

HEADER = "# Generated from penstock_operator.resources by `make crds`; edits are overwritten.\n"


def definition(kind: Kind) -> Schema:
    """Return the kind's CustomResourceDefinition."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.resource},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": _names(kind),
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": _subresources(kind),
                    "additionalPrinterColumns": [_column(column) for column in kind.columns],
                    **_selectable_fields(kind),
                    "schema": {"openAPIV3Schema": _object_schema(kind)},
                }
            ],
        },
    }


def to_yaml(kind: Kind) -> str:
    """Return the kind's CustomResourceDefinition as a YAML file."""
    return HEADER + yaml.dump(definition(kind), Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)


def file_name(kind: Kind) -> str:
    return f"{kind.resource}.yaml"


def _names(kind: Kind) -> Schema:
    return {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": kind.name.lower(),
        "shortNames": list(kind.short_names),
        "categories": [CATEGORY],
    }


def _subresources(kind: Kind) -> Schema:
    if kind.scale is None:
        return {"status": {}}
    scale = {
        "specReplicasPath": kind.scale.spec_replicas,
        "statusReplicasPath": kind.scale.status_replicas,
        "labelSelectorPath": kind.scale.label_selector,
    }
    return {"status": {}, "scale": scale}


def _selectable_fields(kind: Kind) -> Schema:
    """An API server older than Kubernetes 1.30 drops them, and refuses the selector; nothing else depends on them."""
    if not kind.selectable_fields:
        return {}
    return {"selectableFields": [{"jsonPath": path} for path in kind.selectable_fields]}


def _column(column: Column) -> Schema:
    shown = {"name": column.name, "type": column.type, "jsonPath": column.json_path}
    return {**shown, "priority": column.priority} if column.priority else shown


def _object_schema(kind: Kind) -> Schema:
    promises: list[Rule | ChangeRule] = [*kind.rules, *kind.change_rules]
    rules = {VALIDATIONS: validations(promises)} if promises else {}
    return {
        "type": "object",
        "description": kind.description,
        **rules,
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": "The version of this schema."},
            "kind": {"type": "string", "description": "The kind of this object."},
            "metadata": {"type": "object"},
            "spec": structural_schema(kind.spec),
            "status": structural_schema(kind.status),
        },
    }


class _Dumper(yaml.SafeDumper):
    """Writes equal values out in full instead of as anchors, which readers of CRDs do not expect."""

    @override
    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True
