"""The dead letters of one queue group on their server: read, sent again, removed.

Knows the requests, and the order that loses nothing: a letter is removed only after a stream has said that it has the
message again. Does not know which letters are meant, nor how they are shown (plan.dead_letters, cli).
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock_jetstream import JetStream, PubAck, Publisher, StoredMessage
from penstock_jetstream.config.subjects import overlap
from penstock_jetstream.errors import JetStreamError, MissingError, NoRespondersError
from penstock_operator.plan.dead_letters import DeadLetter, dead_letter, replay_id, stand_in
from penstock_operator.plan.group_places import GroupPlace
from penstock_operator.services.nats.workers import PREFIX as WORKERS

if TYPE_CHECKING:
    from penstock_jetstream.core.publishing import PublishOptions

AT_ONCE = 256
"""So many letters are sent, and then removed, at once: after a crash no more than these are to be sent again."""
REMOVED_AT_ONCE = 32
FIRST_WINDOW = 256
WINDOW_GROWTH = 4
"""The newest letters are looked for in so many sequences first, and then in more and more before them."""
PUBLISH_SECONDS = 30.0
RESERVED = ("$", "_INBOX", f"{WORKERS}.")
"""No messages of a stream that anybody processes, but requests to servers and workers."""

Chosen = Callable[[DeadLetter], bool]


@dataclass(frozen=True, slots=True)
class Found:
    """A letter with its message's data."""

    letter: DeadLetter
    data: bytes
    subject: str
    """What follows the group's prefix in the letter's own subject: the server has checked who may publish there."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A letter that stays where it is."""

    sequence: int
    sentence: str


@dataclass(slots=True)
class Outcome:
    """What became of letters that were sent again."""

    replayed: int = 0
    already_there: int = 0
    """How many of these a stream had from an earlier attempt, which ended before they were removed."""
    streams: dict[str, int] = field(default_factory=dict)
    """Which stream took how many."""
    failed: list[Failed] = field(default_factory=list)


class DeadLetters:
    """Those of one group."""

    def __init__(self, jetstream: JetStream, place: GroupPlace) -> None:
        self._jetstream = jetstream
        self.stream = place.dead_letter_stream
        self._source = place.stream
        self._prefix = f"{place.dead_letter_subject}."
        self._subjects = f"{self._prefix}>"

    async def count(self) -> int:
        """Return how many there are."""
        try:
            info = await self._jetstream.streams.info(self.stream, subjects=self._subjects)
        except MissingError:
            return 0
        return sum((info.state.subjects or {}).values())

    async def newest(self, limit: int, chosen: Chosen) -> list[Found]:
        """Return the newest of those that are chosen, the newest first."""
        try:
            state = (await self._jetstream.streams.info(self.stream)).state
        except MissingError:
            return []
        found: list[Found] = []
        first = max(1, state.first_sequence)  # 0 where there never was a message
        before, window = state.last_sequence + 1, FIRST_WINDOW
        while before > first and len(found) < limit:
            start = max(first, before - window)
            some = [each async for each in self.all(chosen, start, before - 1)]
            found += reversed(some)
            before, window = start, window * WINDOW_GROWTH
        return found[:limit]

    async def all(self, chosen: Chosen, start: int = 1, end: int | None = None) -> AsyncIterator[Found]:
        """Go through all that are chosen, the oldest first: up to a sequence, or to what is the last one now."""
        try:
            info = await self._jetstream.streams.info(self.stream)
        except MissingError:
            return
        end = info.state.last_sequence if end is None else end
        if start > end:
            return
        read = self._directly if info.config.get("allow_direct") else self._one_by_one
        async for message in read(start, end):
            found = self._found(message)
            if chosen(found.letter):
                yield found

    async def get(self, sequence: int) -> Found | None:
        """Return one letter; None if there is none, or it is of another group."""
        try:
            message = await self._jetstream.streams.get_message(
                self.stream, sequence=sequence, next_by_subject=self._subjects
            )
        except MissingError:
            return None
        if message.sequence != sequence:
            return None
        return self._found(message)

    def _found(self, message: StoredMessage) -> Found:
        letter = dead_letter(message.sequence, message.time, message.headers)
        return Found(letter, message.data, message.subject.removeprefix(self._prefix))

    def _directly(self, start: int, end: int) -> AsyncIterator[StoredMessage]:
        return self._jetstream.direct.read(
            self.stream, subject=self._subjects, start_sequence=start, up_to_sequence=end
        )

    async def _one_by_one(self, start: int, end: int) -> AsyncIterator[StoredMessage]:
        """Ask the leader for each: a stream that somebody declared may not allow more, such as consumers beside one."""
        while start <= end:
            try:
                message = await self._jetstream.streams.get_message(
                    self.stream, sequence=start, next_by_subject=self._subjects
                )
            except MissingError:
                return
            if message.sequence > end:
                return
            yield message
            start = message.sequence + 1

    async def replay(self, letters: AsyncIterator[Found], told: Callable[[int], None]) -> Outcome:
        """Send messages again, each on its own subject, and remove the letters of those that a stream has taken.

        `told` is called with how many there were so far.
        """
        await self._check_removal()
        takes = await self._taking()
        outcome = Outcome()
        async with self._jetstream.publisher(max_in_flight=AT_ONCE, timeout_seconds=PUBLISH_SECONDS) as publisher:
            async for some in _in_bunches(letters, AT_ONCE):
                taken = await self._publish(publisher, some, outcome, takes)
                await self.remove(taken, erase=False)
                outcome.replayed += len(taken)
                told(outcome.replayed + len(outcome.failed))
        return outcome

    async def _publish(
        self, publisher: Publisher, letters: Sequence[Found], outcome: Outcome, takes: "_Taking | None"
    ) -> list[int]:
        """Publish messages, and return the sequences of the letters of those that were taken."""
        sent: list[tuple[Found, asyncio.Future[PubAck]]] = []
        for found in letters:
            try:
                sent.append((found, await self._submit(publisher, found, takes)))
            except (JetStreamError, CannotReplayError) as problem:
                outcome.failed.append(Failed(found.letter.sequence, str(problem)))
        taken = []
        for found, waiting in sent:
            try:
                ack = await waiting
            except JetStreamError as problem:
                outcome.failed.append(Failed(found.letter.sequence, _why(found.letter, problem)))
                continue
            taken.append(found.letter.sequence)
            outcome.already_there += ack.duplicate
            outcome.streams[ack.stream] = outcome.streams.get(ack.stream, 0) + 1
        return taken

    async def _submit(self, publisher: Publisher, found: Found, takes: "_Taking | None") -> "asyncio.Future[PubAck]":
        letter = found.letter
        if fault := self.cannot_replay(found):
            raise CannotReplayError(fault)
        options: PublishOptions = {"headers": letter.headers, "message_id": replay_id(self.stream, letter)}
        if takes is not None:
            if not any(overlap(subject, letter.subject) for subject in takes.subjects):
                raise CannotReplayError(_not_taken(letter))
            options["expected_stream"] = takes.stream
        return await publisher.submit(letter.subject, found.data, **options)

    async def _taking(self) -> "_Taking | None":
        """Return what the group's stream takes; None if it has messages from other streams, which take them."""
        config = (await self._jetstream.streams.info(self._source)).config
        if config.get("mirror") or config.get("sources"):
            return None
        return _Taking(self._source, tuple(config.get("subjects", ())))

    def cannot_replay(self, found: Found) -> str | None:
        """Tell why a message cannot be sent as it was, as far as its letter tells."""
        return cannot_replay(found.letter, found.subject, self._source)

    async def _check_removal(self) -> None:
        """Refuse to send what would stay a dead letter as well."""
        try:
            config = (await self._jetstream.streams.info(self.stream)).config
        except MissingError:
            return
        if config.get("deny_delete") or config.get("sealed"):
            raise CannotReplayError(
                f"Stream {self.stream} lets nobody remove messages (denyDelete, sealed): each would stay dead, "
                "and might be replayed again and again."
            )

    async def remove(self, sequences: Sequence[int], *, erase: bool = True) -> None:
        """Remove letters; those that are gone already are as good."""
        gate = asyncio.Semaphore(REMOVED_AT_ONCE)

        async def remove(sequence: int) -> None:
            async with gate:
                with suppress(MissingError):
                    await self._jetstream.streams.delete_message(self.stream, sequence, erase=erase)

        await asyncio.gather(*map(remove, sequences))


@dataclass(frozen=True, slots=True)
class _Taking:
    """A stream that replayed messages go to, and no other."""

    stream: str
    subjects: Sequence[str]


class CannotReplayError(Exception):
    """Messages cannot be sent as they were, or not without being there twice then. The text says why."""


def cannot_replay(letter: DeadLetter, subject: str, stream: str) -> str | None:
    """Tell why a message cannot be sent as it was: it was on this subject of this stream, if a worker wrote the letter.

    Whoever may publish dead letters of a group must not have a person publish anywhere else.
    """
    faults = (
        (not letter.subject, "It does not say on which subject it was: no worker of Penstock wrote it."),
        (
            subject not in (letter.subject, stand_in(letter.subject)),
            (
                f"It says that its message was on {letter.subject}, "
                f"and it was published as the letter of one on {subject}."
            ),
        ),
        (
            letter.stream != stream,
            f"It says that its message was in stream {letter.stream}, and the group's messages are in {stream}.",
        ),
        (subject.startswith(RESERVED), f"Its subject {subject} is reserved for NATS itself."),
        (
            letter.fact("Cut"),
            "Its message was too large for a dead letter, and was cut: what is left of it is not the message.",
        ),
        (
            letter.has_raw_headers,
            "The headers of its message were not made as headers are, and cannot be sent again as they were.",
        ),
    )
    return next((sentence for is_so, sentence in faults if is_so), None)


def _why(letter: DeadLetter, problem: JetStreamError) -> str:
    return _not_taken(letter) if isinstance(problem, NoRespondersError) else str(problem)


def _not_taken(letter: DeadLetter) -> str:
    return f"No stream takes its subject {letter.subject} any more: declare one that does, and replay it then."


async def _in_bunches(letters: AsyncIterator[Found], most: int) -> AsyncIterator[list[Found]]:
    some: list[Found] = []
    async for each in letters:
        some.append(each)
        if len(some) == most:
            yield some
            some = []
    if some:
        yield some
