"""Kafka and its reader, where they can be had: a broker, and a peer with a Spark that reads from it.

Knows what that takes of Maven Central, and says in a sentence when it is not there: then both are left out.
"""

from contextlib import ExitStack
from pathlib import Path

from bench.harness import report
from bench.running.asking import AskedPeer
from bench.running.broker import Broker, broker, jars
from tools.console import CannotContinueError

SPARK = "4.2"
"""For all who run beside each other: the newest that a Kafka source could be had for."""


def kafka_if_there(stack: ExitStack, python: Path) -> tuple[Broker, AskedPeer] | None:
    """Start both, to end with the stack; or None."""
    try:
        for_broker, for_source = jars("broker"), jars("source")
    except CannotContinueError as problem:
        report.progress(f"Kafka is left out: {str(problem).partition(chr(10))[0]}")
        return None
    there = stack.enter_context(broker(for_broker))
    peer = AskedPeer(python, "kafka", servers=there.servers, jars=list(map(str, for_source)))
    return there, stack.enter_context(peer)
