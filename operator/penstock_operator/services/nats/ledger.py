"""The ledger of open batches, as workers keep it in a bucket of their server (penstock_worker.engine.ledger_store).

Knows the bucket, and its keys: the stream, the consumer, and what of a batch's id is its own. Only reads.
"""

from datetime import datetime

from penstock_jetstream import JetStream
from penstock_jetstream.core.tokens import as_token
from penstock_jetstream.errors import MissingError
from penstock_operator.plan.group_places import GroupPlace
from penstock_operator.plan.group_streams import LEDGER_BUCKET
from penstock_operator.plan.open_batches import Consumed


async def entries(jetstream: JetStream, place: GroupPlace) -> dict[str, tuple[bytes, datetime]]:
    """Return what is written of a consumer's batches, and when, by the ids of batches."""
    prefix = f"{as_token(place.stream)}.{as_token(place.consumer)}."
    try:
        bucket = await jetstream.key_value.open(LEDGER_BUCKET)
    except MissingError:
        return {}
    found = await bucket.entries(f"{prefix}>")
    own = f"{place.stream}.{place.consumer}."
    return {f"{own}{entry.key.removeprefix(prefix)}": (entry.value, entry.created) for entry in found}


async def consumed(jetstream: JetStream, place: GroupPlace) -> Consumed | None:
    """Return what the consumer says about the entries, or None if it doesn't exist."""
    try:
        stream = await jetstream.streams.info(place.stream)
        consumer = await jetstream.consumers.info(place.stream, place.consumer)
    except MissingError:
        return None
    life = " ".join("" if made is None else made.isoformat() for made in (stream.created, consumer.created))
    return Consumed(life, consumer.ack_floor.stream_sequence)
