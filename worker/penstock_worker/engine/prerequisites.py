"""The ledger's bucket and the stream of dead letters: whether they exist, and keep what is stored in them.

The operator creates both, as `penstock up` does: an engine's NATS user needs no right to create a stream.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock_jetstream import JetStream
from penstock_jetstream.config import losses
from penstock_jetstream.core.keyvalue import stream_of
from penstock_jetstream.errors import JetStreamError, MissingError
from penstock_worker.engine.ledger_store import BUCKET
from penstock_worker.engine.publishing import CannotPublishError
from penstock_worker.engine.standing import Standing
from penstock_worker.policy.settings import EngineSettings

LOOK_AGAIN_SECONDS = 1.0
LEDGER_NEEDS = ("allow_direct", "allow_msg_ttl", "allow_rollup_hdrs")

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Prerequisites:
    """Of one engine. What is wrong stands in its status until it is repaired."""

    jetstream: JetStream
    settings: EngineSettings
    standing: Standing
    _wanted: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Look at the start and whenever `look_again` was called, until nothing is wrong."""
        while True:
            if await self._look():
                await asyncio.sleep(LOOK_AGAIN_SECONDS)
            else:
                await self._wanted.wait()
            self._wanted.clear()

    def look_again(self) -> None:
        """Something could not be stored: a stream may have been deleted or changed."""
        self._wanted.set()

    async def check_dead_letters(self) -> None:
        """Raise a CannotPublishError if dead letters would be lost now: a PubAck does not tell."""
        if fault := await self._dead_letter_fault():
            raise CannotPublishError(fault)

    async def _dead_letter_fault(self) -> str:
        name = self.settings.dead_letter_stream
        try:
            config = (await self.jetstream.streams.info(name)).config
        except MissingError:
            return f"Stream {name} for dead letters does not exist. The operator creates it."
        return " ".join(dead_letter_faults(name, config))

    async def _look(self) -> str:
        try:
            faults = [await self._dead_letter_fault(), await self._ledger_fault() if self.settings.ledger else ""]
        except JetStreamError as problem:  # neither is known to be wrong
            logger.warning("The ledger and the stream of dead letters cannot be read: %s", problem)
            return str(problem)
        found = " ".join(filter(None, faults))
        if found and found != self.standing.prerequisites:
            logger.error("%s", found)
        if self.standing.prerequisites and not found:
            logger.info("The ledger and the stream of dead letters are as they should be again.")
        self.standing.prerequisites = found
        return found

    async def _ledger_fault(self) -> str:
        name = stream_of(BUCKET)
        try:
            config = (await self.jetstream.streams.info(name)).config
        except MissingError:
            return f"Bucket {BUCKET} of the ledger (stream {name}) does not exist. The operator creates it."
        return " ".join(ledger_faults(name, config))


def dead_letter_faults(name: str, config: Mapping[str, Any]) -> Iterator[str]:
    """Yield what in its configuration has a stream lose dead letters at once."""
    for loss in losses(config, per_subject=True):
        if loss.at_once:
            yield f"Stream {name} would lose dead letters: {loss.sentence} Change it, or name another stream."


def ledger_faults(name: str, config: Mapping[str, Any]) -> Iterator[str]:
    """Yield what in its configuration has the bucket lose entries, or keeps it from being used."""
    for loss in losses(config):
        yield f"Stream {name} would lose entries of the ledger: {loss.sentence} {LEDGER_CURE}"
    for missing in (each for each in LEDGER_NEEDS if not config.get(each)):
        yield f"Stream {name} cannot be the ledger: {missing} is not set. {LEDGER_CURE}"


LEDGER_CURE = "Change it; or delete the stream while no batch is open, and the operator creates it again."
