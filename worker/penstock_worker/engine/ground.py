"""What the engine stands on: its consumer, looked at before anything is pulled.

Knows what a consumer must be so that every message can be answered one by one, and how large batches may be with it.
Says in one sentence what does not fit. Does not change the consumer.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from penstock_jetstream import ConsumerInfo, JetStream, StreamInfo
from penstock_jetstream.client.consumer import shortest_ack_wait_seconds
from penstock_jetstream.errors import MissingError
from penstock_worker.container import memory_limit
from penstock_worker.policy.machine.collecting import BESIDE
from penstock_worker.policy.settings import BatchSettings, EngineSettings

EMPTY_MESSAGE_BYTES = 1024
"""What a message is taken to have before the stream has any."""
MESSAGE_BYTES = 400
"""What a message that is held takes besides its own bytes: Python objects and the reply subject. Measured: 373."""
MEMORY_SHARE = 0.4
"""Of the container's limit, for messages: batches that are handed over are copied, and the process takes 100 MiB."""


class UnfitError(Exception):
    """What is declared cannot work, whatever happens: a person has to change it."""


class NotThereError(Exception):
    """What is declared is not there, or not yet."""


@dataclass(frozen=True, slots=True)
class Ground:
    """A stream and a consumer that batches can be pulled from."""

    stream: StreamInfo
    consumer: ConsumerInfo
    batch: BatchSettings
    """As they were asked for, or smaller, so that the consumer can give a whole batch."""
    ack_wait_seconds: float
    warnings: tuple[str, ...]

    @property
    def birth(self) -> tuple[datetime | None, datetime | None]:
        """When stream and consumer were made: others of the same names are others."""
        return self.stream.created, self.consumer.created

    @property
    def life(self) -> str:
        """That of stream and consumer, as batches, letters, messages that are sent and the ledger's entries have it.

        A consumer made anew is to give everything once more, and whoever has it from the former one is to take it.
        """
        return " ".join("" if made is None else made.isoformat() for made in self.birth)

    @property
    def replicas(self) -> int:
        replicas = self.stream.config.get("num_replicas", 1)
        return replicas if isinstance(replicas, int) else 1

    @property
    def usual_bytes(self) -> int:
        """How large a message of the stream is on average."""
        state = self.stream.state
        return max(1, state.size_bytes // state.messages) if state.messages else EMPTY_MESSAGE_BYTES


async def look(jetstream: JetStream, settings: EngineSettings) -> Ground:
    """Return what is there, or raise what does not fit."""
    if settings.dead_letter_stream == settings.stream:
        raise UnfitError(
            f"Stream {settings.stream} is to take its own dead letters, which would come again and again. "
            "Name another stream for them."
        )
    try:
        stream = await jetstream.streams.info(settings.stream)
        consumer = await jetstream.consumers.info(settings.stream, settings.consumer)
    except MissingError as problem:
        raise NotThereError(f"There is nothing to pull from: {problem}") from problem
    if fault := consumer_fault(consumer):
        raise UnfitError(fault)
    batch, warnings = fitted(settings.batch, consumer)
    batch, more = within_memory(batch, memory_limit())
    return Ground(stream, consumer, batch, shortest_ack_wait_seconds(consumer) or 0, (*warnings, *more))


def consumer_fault(consumer: ConsumerInfo) -> str:
    """Return why a queue group cannot process a consumer's messages; an empty text if it can."""
    name, config = f"Consumer {consumer.name} of stream {consumer.stream}", consumer.config
    if config.get("deliver_subject"):
        return f"{name} is a push consumer. Use a pull consumer: one without deliver_subject."
    if (policy := config.get("ack_policy")) != "explicit":
        return (
            f"{name} has ack policy {policy}, with which single messages of a batch cannot be put aside. "
            "Make it explicit."
        )
    if config.get("priority_policy") not in {None, "", "none"}:
        return f"{name} has a priority policy, which queue groups do not have. Use a consumer without one."
    if (deliveries := config.get("max_deliver", -1)) > 0:
        return (
            f"{name} has max_deliver {deliveries}. The server stops delivering a message after that many attempts, "
            "even if it was never processed. Remove max_deliver: messages that fail become dead letters."
        )
    return ""


def fitted(batch: BatchSettings, consumer: ConsumerInfo) -> tuple[BatchSettings, tuple[str, ...]]:
    """Return batches that the consumer can give: all that are in flight, and at least one that is being collected."""
    warnings = []
    most = consumer.config.get("max_ack_pending", 0)
    batches = batch.in_flight + 1
    if 0 < most < batches * batch.max_messages:
        smaller = max(1, most // batches)
        warnings.append(
            f"Batches have {smaller} messages at most, not {batch.max_messages}: consumer {consumer.name} has "
            f"max_ack_pending {most} for {batches} batches. Raise it to {batches * batch.max_messages} per worker."
        )
        batch = replace(batch, max_messages=smaller)
    return batch, tuple(warnings)


def within_memory(batch: BatchSettings, limit_bytes: int | None) -> tuple[BatchSettings, tuple[str, ...]]:
    """Return batches of which as many as are held at once fit into the memory of this container."""
    places = batch.in_flight + BESIDE
    needed = batch.max_bytes + batch.max_messages * MESSAGE_BYTES
    if limit_bytes is None or needed * places <= limit_bytes * MEMORY_SHARE:
        return batch, ()
    most = int(limit_bytes * MEMORY_SHARE) // places
    max_bytes = min(batch.max_bytes, most // 2)
    fitting = replace(
        batch, max_bytes=max_bytes, max_messages=max(1, min(batch.max_messages, (most - max_bytes) // MESSAGE_BYTES))
    )
    enough_mib = (int(needed * places / MEMORY_SHARE) >> 20) + 1
    warning = (
        f"Batches have {fitting.max_messages} messages and {fitting.max_bytes} bytes at most, not "
        f"{batch.max_messages} and {batch.max_bytes}: the engine may use {limit_bytes >> 20} MiB of memory, and holds "
        f"{places} batches. Raise its limit to {enough_mib} MiB, or lower batch.maxBytes and batch.maxMessages."
    )
    return fitting, (warning,)
