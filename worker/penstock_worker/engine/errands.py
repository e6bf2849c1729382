"""What the machine has done by others, each with one event as its answer: ledger, dead letters, outgoing, settling.

Knows whom to ask and how to tell what came of it; every failure is an event, as the machine tries again. Does not know
why anything is done.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from penstock_jetstream import JetStream
from penstock_jetstream.errors import JetStreamError
from penstock_worker.engine import outgoing
from penstock_worker.engine.answers import Answers, Settlement
from penstock_worker.engine.driver_link import DriverLink
from penstock_worker.engine.ledger_store import LedgerStore
from penstock_worker.engine.letters import Desk
from penstock_worker.engine.metrics import Metrics
from penstock_worker.engine.prerequisites import Prerequisites
from penstock_worker.engine.publishing import CannotPublishError, publish, publish_each
from penstock_worker.engine.rows import Rows
from penstock_worker.engine.shelf import Shelf
from penstock_worker.engine.standing import Standing
from penstock_worker.exchange.client import DriverFaultError, DriverLostError
from penstock_worker.exchange.records import RunName
from penstock_worker.policy.machine import actions, events
from penstock_worker.policy.machine.pieces import Pieces, count
from penstock_worker.policy.settings import EngineSettings

logger = logging.getLogger(__name__)
Tell = Callable[[events.Event], None]


@dataclass(slots=True)
class Errands:
    """All of one engine. Each method runs until its answer is told."""

    jetstream: JetStream
    settings: EngineSettings
    shelf: Shelf
    answers: Answers
    driver: DriverLink
    desk: Desk
    metrics: Metrics
    standing: Standing
    tell: Tell
    ledger: LedgerStore | None
    prerequisites: Prerequisites

    async def read_ledger(self) -> None:
        try:
            entries = await self.ledger.entries() if self.ledger is not None else ()
        except JetStreamError as problem:
            self.prerequisites.look_again()
            self.tell(events.LedgerUnread(str(problem)))
        else:
            self.tell(events.LedgerRead(entries))

    async def write_ledger(self, asked: actions.WriteLedger) -> None:
        batch_id = asked.entry.batch_id
        try:
            is_written = self.ledger is None or await self.ledger.write(asked.entry)
        except JetStreamError as problem:
            self.prerequisites.look_again()
            self.tell(events.LedgerFailed(batch_id, str(problem)))
        else:
            self.tell(events.LedgerWritten(batch_id) if is_written else events.LedgerCut(batch_id))

    async def delete_ledger(self, asked: actions.DeleteLedger) -> None:
        for batch_id in asked.batch_ids:
            try:
                if self.ledger is not None:
                    await self.ledger.delete(batch_id)
            except JetStreamError as problem:
                logger.warning(
                    "A batch that is over stays in the ledger: %s", problem, extra={"facts": {"batch": batch_id}}
                )

    def messages(self, asked: actions.PublishLetters) -> list[Rows]:
        """Return what letters are about."""
        return [self.shelf.rows([letter.piece]) for letter in asked.letters]

    async def publish_letters(self, asked: actions.PublishLetters, messages: list[Rows]) -> None:
        most = self.jetstream.connection.server.max_payload_bytes
        drafts = [
            self.desk.draft(letter, asked.batch_id, message, max_payload_bytes=most)
            for letter, message in zip(asked.letters, messages, strict=True)
        ]
        try:
            await self.prerequisites.check_dead_letters()
            problems = await publish_each(self.jetstream, drafts, stream=self.settings.dead_letter_stream)
        except (CannotPublishError, JetStreamError) as problem:
            problems = [CannotPublishError(str(problem))] * len(drafts)
        failed = {
            letter.sequence: problem
            for letter, problem in zip(asked.letters, problems, strict=True)
            if problem is not None
        }
        if failed:
            self.prerequisites.look_again()
            why = str(next(iter(failed.values())))
            self.tell(events.LettersFailed(asked.batch_id, why, frozenset(failed)))
        else:
            self.tell(events.LettersPublished(asked.batch_id))

    async def publish_outgoing(self, asked: actions.PublishOutgoing) -> None:
        name = RunName(asked.batch_id, asked.run)
        try:
            table = await self.driver.outgoing(name)
        except (DriverLostError, DriverFaultError) as problem:
            self.tell(events.OutgoingFailed(asked.batch_id, asked.run, str(problem), gone=True))
            return
        if table.num_rows != asked.count:
            why = f"The driver has {table.num_rows} messages to publish, and not {asked.count} as it said."
            self.tell(events.OutgoingFailed(asked.batch_id, asked.run, why, gone=True))
            return
        try:
            await publish(self.jetstream, outgoing.drafts(table))
        except (CannotPublishError, JetStreamError) as problem:
            self.tell(events.OutgoingFailed(asked.batch_id, asked.run, str(problem), gone=False))
        else:
            self.metrics.published(table.num_rows)
            self.tell(events.OutgoingPublished(asked.batch_id, asked.run))

    def replies(self, asked: actions.Settle) -> Settlement:
        """Return where the answers of a batch go."""
        return Settlement(self.shelf.replies(asked.acknowledged), self.shelf.replies(asked.terminated))

    async def settle(self, asked: actions.Settle, settlement: Settlement) -> None:
        try:
            await self.answers.settle(settlement)
        except JetStreamError as problem:
            self.tell(events.NotSettled(asked.batch_id, str(problem)))
            return
        self.forget("acked", asked.acknowledged)
        if asked.terminated:
            self.forget("dead-lettered", asked.terminated)
        self.tell(events.Settled(asked.batch_id))

    def acknowledge(self, pieces: Pieces) -> None:
        """Acknowledge what was settled before."""
        self.answers.ack(self.shelf.replies(pieces))
        self.forget("acked-again", pieces)

    def give_back(self, pieces: Pieces, delay_seconds: float) -> None:
        self.answers.nak(self.shelf.replies(pieces), delay_seconds)
        self.forget("given-back", pieces)

    def renew(self, pieces: Pieces) -> None:
        self.answers.in_progress(self.shelf.replies(pieces))
        self.metrics.renewed(count(pieces))

    def forget(self, outcome: str, pieces: Pieces) -> None:
        """Count messages that have their final answer, and keep them no longer."""
        messages, size_bytes = self.shelf.answered(pieces)
        self.metrics.answered(outcome, messages, size_bytes)
        self.standing.answered[outcome] += messages
