"""A Kafka broker: one node that is its own controller, on loopback, from the jars that Maven Central has.

Knows its settings, and its tools that make a topic and publish at a steady rate. Its defaults stay: like nats-server's,
they write no message to disk before it is confirmed.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock_worker.spark import find_java
from tests.testbed import run
from tests.testbed.maven import Jar, paths
from tests.testbed.ports import LOOPBACK, answers, free_port
from tests.testbed.programs import Program

HERE = Path(__file__).parent
HEAP = ("-Xms1g", "-Xmx1g", "-XX:+UseG1GC")
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
READY_SECONDS = 60
PARTITIONS = 2

SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={data}
num.partitions={partitions}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=2
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


def jars(name: str) -> list[Path]:
    """Return the jars of one of the lists beside this file, fetched where they are not there yet."""
    lines = (HERE / f"kafka-{name}.jars").read_text().splitlines()
    return paths([Jar(*line.split()) for line in lines if not line.startswith("#")])


class Broker:
    """One that runs."""

    def __init__(self, folder: Path, jars: list[Path]) -> None:
        self.servers = f"{LOOPBACK}:{free_port()}"
        self._folder = folder
        java = find_java(folder / "java").home / "bin" / "java"
        self._java = [str(java), "-cp", ":".join(map(str, jars))]
        self._settings = folder / "kafka.properties"
        self._settings.write_text(
            SETTINGS.format(
                host=LOOPBACK,
                port=self._port,
                controller=free_port(),
                data=folder / "data",
                partitions=PARTITIONS,
            )
        )
        command = [self._java[0], *HEAP, *self._java[1:], "kafka.Kafka", str(self._settings)]
        self._program = Program("kafka", command, folder)

    @property
    def pid(self) -> int:
        return self._program.pid

    @property
    def _port(self) -> int:
        return int(self.servers.rpartition(":")[2])

    def start(self) -> None:
        self._run("kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(self._settings))
        self._program.start()
        self._program.wait_ready(lambda: answers(self._port), READY_SECONDS)

    def stop(self) -> None:
        self._program.stop()

    def make_topic(self, name: str) -> None:
        words = ["--create", "--topic", name, "--partitions", str(PARTITIONS)]
        self._run("org.apache.kafka.tools.TopicCommand", *words, "--bootstrap-server", self.servers)

    def publisher(self, topic: str, file: Path, messages: int, rate: int) -> Program:
        """Return a program that publishes lines of a file, picked by chance, at a steady rate."""
        words = ["--topic", topic, "--num-records", str(messages), "--throughput", str(rate)]
        words += ["--payload-file", str(file), "--producer-props", f"bootstrap.servers={self.servers}", "linger.ms=0"]
        command = [*self._java, "org.apache.kafka.tools.ProducerPerformance", *words]
        return Program(f"publisher-{topic}", command, self._folder)

    def _run(self, *words: str) -> None:
        ended = subprocess.run([*self._java, *words], check=False, capture_output=True, text=True)
        if ended.returncode:
            raise RuntimeError(f"{words[0]} failed: {ended.stdout}{ended.stderr}")


@contextmanager
def broker(jars: list[Path]) -> Iterator[Broker]:
    """Run one while the block runs."""
    kafka = Broker(run.current().new_folder("kafka"), jars)
    kafka.start()
    try:
        yield kafka
    finally:
        kafka.stop()
