"""JetStream for machines that move a lot of messages. Knows NATS; no Kubernetes, no Spark, no Arrow.

docs/jetstream.md shows how each of these names is used. Configurations are the matter of `penstock_jetstream.config`,
errors of `penstock_jetstream.errors`; all else is not for others, and may change.
"""

from penstock_jetstream.client.bucket import Bucket
from penstock_jetstream.client.consumer import Consumer
from penstock_jetstream.client.consuming import Consuming
from penstock_jetstream.client.jetstream import JetStream
from penstock_jetstream.client.lane import Lane
from penstock_jetstream.client.message import Message
from penstock_jetstream.client.ordering import Ordering
from penstock_jetstream.client.publisher import Publisher
from penstock_jetstream.client.pushing import Pushing
from penstock_jetstream.core.acks import AckToken, parse_token
from penstock_jetstream.core.consumer_info import ConsumerInfo
from penstock_jetstream.core.keyvalue import Entry
from penstock_jetstream.core.options import Wait
from penstock_jetstream.core.publishing import Draft, PubAck, Retry
from penstock_jetstream.core.stored_message import StoredMessage
from penstock_jetstream.core.stream_info import StreamInfo
from penstock_jetstream.core.wire import Block
from penstock_jetstream.transport.connection import Connection
from penstock_jetstream.transport.encryption import Tls
from penstock_jetstream.transport.events import Closed, Connected, Disconnected, Failed, LameDuck, ServerReported
from penstock_jetstream.transport.identity import Credentials, Jwt, Nkey, Token, UserPassword
from penstock_jetstream.transport.options import Options, Reach

__all__ = [
    "AckToken",
    "Block",
    "Bucket",
    "Closed",
    "Connected",
    "Connection",
    "Consumer",
    "ConsumerInfo",
    "Consuming",
    "Credentials",
    "Disconnected",
    "Draft",
    "Entry",
    "Failed",
    "JetStream",
    "Jwt",
    "LameDuck",
    "Lane",
    "Message",
    "Nkey",
    "Options",
    "Ordering",
    "PubAck",
    "Publisher",
    "Pushing",
    "Reach",
    "Retry",
    "ServerReported",
    "StoredMessage",
    "StreamInfo",
    "Tls",
    "Token",
    "UserPassword",
    "Wait",
    "parse_token",
]
