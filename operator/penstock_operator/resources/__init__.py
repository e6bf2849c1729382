"""The kinds that users declare: one pydantic model each, from which everything else about the kind is made.

Pure: values in, values out. The models validate manifests; schema.py turns them into what the API server wants;
definition.py puts that into a CustomResourceDefinition. Called by the command line, and by both homes.
"""

from penstock_operator.resources.admission import has_policy, policy, policy_file_name, policy_to_yaml
from penstock_operator.resources.conditions import fact_names
from penstock_operator.resources.connection import CONNECTION, ConnectionSpec, ConnectionStatus
from penstock_operator.resources.consumer import CONSUMER, ConsumerSpec
from penstock_operator.resources.consumer_status import ConsumerStatus
from penstock_operator.resources.definition import definition, file_name, to_yaml
from penstock_operator.resources.kind import Kind
from penstock_operator.resources.queue_group import QUEUE_GROUP, QueueGroupSpec, QueueGroupStatus
from penstock_operator.resources.stream import STREAM, StreamSpec
from penstock_operator.resources.stream_status import StreamStatus

KINDS = (CONNECTION, STREAM, CONSUMER, QUEUE_GROUP)
"""Every kind there is, in the order in which people read about them."""

__all__ = [
    "CONNECTION",
    "CONSUMER",
    "KINDS",
    "QUEUE_GROUP",
    "STREAM",
    "ConnectionSpec",
    "ConnectionStatus",
    "ConsumerSpec",
    "ConsumerStatus",
    "Kind",
    "QueueGroupSpec",
    "QueueGroupStatus",
    "StreamSpec",
    "StreamStatus",
    "definition",
    "fact_names",
    "file_name",
    "has_policy",
    "policy",
    "policy_file_name",
    "policy_to_yaml",
    "to_yaml",
]
