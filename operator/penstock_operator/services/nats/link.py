"""One JetStream account, asked about streams and consumers, and told what to make of them.

Knows which requests answer a question or carry out an action, and that an answer may be lost: whatever is done can be
done again. Does not decide anything (plan), or keep the connection alive (session.py).
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from typing_extensions import override

from penstock_jetstream import JetStream
from penstock_jetstream.config import CONSUMER, STREAM, Facts, Table, diff, validate
from penstock_jetstream.errors import ConflictError, ErrorCode, JetStreamError, MissingError
from penstock_operator.plan.decision import Action, Create, Delete, Failure, Pause, Recreate, Update
from penstock_operator.plan.message_loss import ConsumerPosition
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Missing, Observed, Place, Present, Unknown
from penstock_operator.services.links import Counters, Link, Wanted, WorkerStatus
from penstock_operator.services.nats import workers
from penstock_operator.services.nats.account import Account
from penstock_operator.services.nats.failures import failure, unseen
from penstock_operator.services.nats.notices import Deed, Notices
from penstock_operator.services.nats.presence import (
    consumer_position,
    consumer_present,
    is_of_deleted_stream,
    stream_present,
)
from penstock_operator.services.nats.reading import read_all

ALREADY_THERE = frozenset(
    {ErrorCode.STREAM_NAME_EXISTS, ErrorCode.CONSUMER_ALREADY_EXISTS, ErrorCode.CONSUMER_NAME_EXISTS}
)
OVER_DELETED = (
    "The server made the stream {stream} over files of one that it was still deleting, so it could have stored "
    "nothing. It was deleted, and is made again."
)


class JetStreamLink(Link):
    """A link that is connected; what it is asked while it is not waits for it, within a deadline."""

    def __init__(self, jetstream: JetStream, account: Account, notices: Notices) -> None:
        self._jetstream = jetstream
        self._notices = notices
        self.look = account
        """What the last look at the account told."""

    @property
    @override
    def account(self) -> str:
        return self.look.identity

    @property
    @override
    def facts(self) -> Facts:
        return self.look.config_facts

    @override
    async def observe(self, place: Place) -> Observed:
        try:
            return await self._present(place)
        except JetStreamError as problem:
            return unseen(problem, consumer=bool(place.consumer))

    @override
    def read_all(self, wanted: Wanted) -> AsyncIterator[tuple[Place, Observed]]:
        return read_all(self._jetstream, self.look, wanted)

    @override
    async def carry_out(self, place: Place, action: Action) -> Present | Failure | None:
        try:
            match action:
                case Delete():
                    await self._delete(place)
                    return None
                case Pause(until=until):
                    return await self._pause(place, until)
                case _:
                    return self._too_new(place, action.config) or await self._make(place, action)
        except JetStreamError as problem:
            return failure(problem)

    @override
    async def counters(self, place: Place) -> Counters | Unknown:
        try:
            info = await self._jetstream.consumers.info(place.stream, place.consumer)
        except JetStreamError as problem:
            return _unknown(place, unseen(problem, consumer=True))
        return Counters(
            info.num_pending, info.num_ack_pending, info.delivered.consumer_sequence, is_paused=info.pause.is_paused
        )

    @override
    async def position(self, place: Place) -> ConsumerPosition | Unknown:
        try:
            stream = await self._jetstream.streams.info(place.stream)
            consumer = await self._jetstream.consumers.info(place.stream, place.consumer)
            return consumer_position(stream, consumer, self._jetstream.connection.server.id)
        except JetStreamError as problem:
            return _unknown(place, unseen(problem, consumer=True))

    @override
    async def workers(self, group: str, expected: int) -> Sequence[WorkerStatus]:
        try:
            return await workers.statuses(self._jetstream.connection, group, expected=expected)
        except JetStreamError:
            return ()  # nobody can be heard

    @override
    async def tell_worker(self, group: str, worker: str, order: str) -> bool:
        try:
            return await workers.order_one(self._jetstream.connection, group, worker, order)
        except JetStreamError:
            return False

    async def _make(self, place: Place, action: Create | Update | Recreate) -> Present | Failure:
        if isinstance(action, Update):
            return await self._update(place, action.config)
        if isinstance(action, Recreate):
            await self._delete(place)  # if nothing more happens, it is missing, and will be made
        try:
            return await self._create(place, action.config)
        except ConflictError as problem:
            present = await self._present(place) if problem.err_code in ALREADY_THERE else None
            if present is None or diff(_table(place), action.config, present.config, self.facts):
                raise
            return present  # an answer was lost before

    async def _present(self, place: Place) -> Present:
        if place.consumer:
            return consumer_present(await self._jetstream.consumers.info(place.stream, place.consumer), self.look.alone)
        return stream_present(await self._jetstream.streams.info(place.stream), self.look.alone)

    async def _create(self, place: Place, config: Mapping[str, Any]) -> Present | Failure:
        with self._notices.expecting(Deed.CREATED, place):
            if place.consumer:
                return consumer_present(await self._jetstream.consumers.create(place.stream, config), self.look.alone)
            made = await self._jetstream.streams.create(config)
        if not is_of_deleted_stream(made):
            return stream_present(made, self.look.alone)
        await self._delete(place)
        return Failure(Reason.MISSING, OVER_DELETED.format(stream=place.stream), passing=True)

    async def _update(self, place: Place, config: Mapping[str, Any]) -> Present:
        """Change what is there: if it is gone meanwhile, that is an error, and it does not come back by itself."""
        if place.consumer:
            return consumer_present(await self._jetstream.consumers.update(place.stream, config), self.look.alone)
        with self._notices.expecting(Deed.UPDATED, place):
            return stream_present(await self._jetstream.streams.update(config), self.look.alone)

    async def _pause(self, place: Place, until: str | None) -> Present:
        with self._notices.expecting(Deed.PAUSE, place):
            if until is None:
                await self._jetstream.consumers.resume(place.stream, place.consumer)
            else:
                await self._jetstream.consumers.pause(place.stream, place.consumer, datetime.fromisoformat(until))
        return await self._present(place)

    async def _delete(self, place: Place) -> None:
        try:
            with self._notices.expecting(Deed.DELETED, place):
                if place.consumer:
                    await self._jetstream.consumers.delete(place.stream, place.consumer)
                else:
                    await self._jetstream.streams.delete(place.stream)
        except MissingError:
            return  # so it is as it shall be

    def _too_new(self, place: Place, config: Mapping[str, Any]) -> Failure | None:
        """Refuse what these servers do not know yet: older ones would take it, and forget it."""
        table, facts = _table(place), Facts(api_level=self.facts.api_level)
        anyway = set(validate(table, config, replace(facts, api_level=None)))
        problems = [problem for problem in validate(table, config, facts) if problem not in anyway]
        if not problems:
            return None
        return Failure(Reason.LEVEL_TOO_LOW, " ".join(map(str, problems)), passing=False)


def _table(place: Place) -> Table:
    return CONSUMER if place.consumer else STREAM


def _unknown(place: Place, seen: Missing | Unknown) -> Unknown:
    """Say why it is not known how far a consumer is: also one that is not there has no number."""
    if isinstance(seen, Unknown):
        return seen
    return Unknown(Reason.MISSING, f"There is no consumer {place.consumer} in stream {place.stream}.")
