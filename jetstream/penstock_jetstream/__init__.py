"""JetStream for machines that move a lot of messages. Knows NATS; no Kubernetes, no Spark, no Arrow."""

from penstock_jetstream.client.consumer import Consumer
from penstock_jetstream.client.jetstream import JetStream
from penstock_jetstream.client.lane import Lane
from penstock_jetstream.client.message import Message
from penstock_jetstream.core.wire import Block
from penstock_jetstream.transport.connection import Connection

__all__ = [
    "Block",
    "Connection",
    "Consumer",
    "JetStream",
    "Lane",
    "Message",
]
