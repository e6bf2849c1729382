"""The kinds that users declare: one pydantic model each, from which everything else about the kind is made.

Pure: values in, values out. The models validate manifests; schema.py turns them into what the API server wants;
definition.py puts that into a CustomResourceDefinition. Called by the command line, and later by both homes.
"""

from penstock_operator.resources.connection import CONNECTION, ConnectionSpec, ConnectionStatus
from penstock_operator.resources.definition import definition, file_name, to_yaml
from penstock_operator.resources.kind import Kind

KINDS = (CONNECTION,)
"""Every kind there is, in the order in which people read about them."""

__all__ = ["CONNECTION", "KINDS", "ConnectionSpec", "ConnectionStatus", "Kind", "definition", "file_name", "to_yaml"]
