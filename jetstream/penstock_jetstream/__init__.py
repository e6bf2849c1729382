"""JetStream for machines that move a lot of messages. Knows NATS; no Kubernetes, no Spark, no Arrow.

docs/jetstream.md shows how each of these names is used. Configurations are the matter of `penstock_jetstream.config`,
errors of `penstock_jetstream.errors`; all else is not for others, and may change.
"""

from penstock_jetstream.client.consumer import Consumer
from penstock_jetstream.client.jetstream import JetStream
from penstock_jetstream.client.lane import Lane
from penstock_jetstream.client.message import Message
from penstock_jetstream.core.acks import AckToken, parse_token
from penstock_jetstream.core.options import Wait
from penstock_jetstream.core.publishing import Draft, PubAck, Retry
from penstock_jetstream.core.wire import Block
from penstock_jetstream.transport.connection import Connection
from penstock_jetstream.transport.encryption import Tls
from penstock_jetstream.transport.events import Closed, Connected, Disconnected, Failed, LameDuck, ServerReported
from penstock_jetstream.transport.identity import Credentials, Jwt, Nkey, Token, UserPassword
from penstock_jetstream.transport.options import Options

__all__ = [
    "AckToken",
    "Block",
    "Closed",
    "Connected",
    "Connection",
    "Consumer",
    "Credentials",
    "Disconnected",
    "Draft",
    "Failed",
    "JetStream",
    "Jwt",
    "LameDuck",
    "Lane",
    "Message",
    "Nkey",
    "Options",
    "PubAck",
    "Retry",
    "ServerReported",
    "Tls",
    "Token",
    "UserPassword",
    "Wait",
    "parse_token",
]
