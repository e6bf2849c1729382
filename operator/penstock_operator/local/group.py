"""A queue group on this machine: as many workers as it needs, all of them as it is declared now.

Level-based: each look compares what runs with what is wanted, whatever happened in between. A worker that runs
something else than what is declared finishes what it holds while another takes its place. Knows what a group does.
Decides neither how many workers there are (plan.scaling), nor what they are told (plan.worker_settings).
"""

import asyncio
import math
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from penstock_jetstream import ConsumerInfo
from penstock_jetstream.core.consumer_info import Pause
from penstock_operator.local import edits, hindrance
from penstock_operator.local.children import Guard
from penstock_operator.local.code_places import CannotRunError, Code
from penstock_operator.local.contact import Contact
from penstock_operator.local.hindrance import Standstill
from penstock_operator.local.snapshot import GroupShown, Level, Phase, WorkersShown
from penstock_operator.local.standing import group_status
from penstock_operator.local.state import GroupFolder, GroupRecord, StateError
from penstock_operator.local.worker import Worker, removal_order
from penstock_operator.plan.declared import Identity
from penstock_operator.plan.group_limits import group_limits
from penstock_operator.plan.group_places import GroupPlace
from penstock_operator.plan.message_loss import ConsumerPosition, count_losses, loss_notes, new_losses, written_loss
from penstock_operator.plan.scaling import NOTHING_YET, Limits, Memory, Observation, Reading, scale
from penstock_operator.plan.scaling.tally import Tally
from penstock_operator.plan.worker_settings import group_name
from penstock_operator.resources import ConsumerSpec, QueueGroupSpec
from penstock_operator.resources.message_loss import MessageLoss
from penstock_operator.services.group_streams import GroupStreams
from penstock_operator.services.links import Link

TICK_SECONDS = 0.5
"""Between two looks at a group."""
STREAMS_SECONDS = 2.0
"""Between two looks at the streams that it keeps on the server."""
CLEAN_LOOKS = 2
"""So many looks in a row must find nothing to do before a group is drained."""

START_SECONDS = 180.0
"""What a worker gets for its start, however impatient somebody is."""

CIRCUIT = "circuit"
"""A worker's word for why it pulls nothing."""

Tell = Callable[[Level, str], None]
Spawn = Callable[[Coroutine[Any, Any, None]], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a group is to be, as it is declared now."""

    spec: QueueGroupSpec
    consumer: ConsumerSpec
    place: GroupPlace
    code: Code
    contact: Contact
    make: Callable[[str], Coroutine[Any, Any, "Orders"]]
    """Returns what the worker of a name is told; CannotRunError if that cannot be put together."""
    code_print: edits.Print
    """Of the code, when this was put together."""
    print: str
    """Equal exactly as long as workers need not be started anew."""
    record: GroupRecord


@dataclass(frozen=True, slots=True)
class Orders:
    """What a worker is told."""

    settings: Mapping[str, Any]
    environment: Mapping[str, str]


@dataclass(slots=True)
class _Running:
    worker: Worker
    print: str


@dataclass(frozen=True, slots=True)
class _Answers:
    """What the server and the workers say at one look; None where nobody answered."""

    consumer: tuple[ConsumerInfo, ConsumerPosition] | None
    dead_letters: int | None
    statuses: Sequence[tuple[Worker, Mapping[str, Any] | None]]


@dataclass(slots=True, kw_only=True)
class Group:
    """One group. `declare` what it is to be as often as that changes; `run` it once."""

    identity: Identity
    folder: GroupFolder
    guard: Guard
    spawn: Spawn
    tell: Tell
    link: Callable[[Identity], Link | None]
    """Leads to the server of a Connection, while there is one."""
    quota: Callable[[], int]
    """How many workers the machine has room for, beside those of others."""
    wanted: Wanted | None = None
    obstacle: str = ""
    """Why it cannot work as it is declared."""
    ground: asyncio.Event = field(default_factory=asyncio.Event)
    """Whether stream and consumer are on the server."""
    not_ready: str = ""
    """Why they are not."""
    failure: str = ""
    """Why its workers stopped until somebody changes something."""
    tally: Tally = field(default_factory=Tally)
    reading: Reading | None = None
    pause: Pause | None = None
    """Of the consumer, on the server."""
    standstill: Standstill = field(default_factory=Standstill)
    dead_letters: int | None = None
    dead_letters_before: int | None = None
    loss: MessageLoss | None = None
    """Messages that were never processed, as far as known; None before stream and consumer were read."""
    loss_before: MessageLoss | None = None
    """The same as the `up` before this one left it."""
    desired: int = 0
    scaling: str = ""
    clean_looks: int = 0
    """How many looks in a row have found nothing to do."""
    is_to_drain: bool = False
    was_ready: bool = False
    """Whether a worker could have worked, with the code as it is declared now."""
    is_ending: bool = False
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    _failed_print: str = ""
    _running: dict[str, _Running] = field(default_factory=dict)
    _memory: Memory = NOTHING_YET
    _was_started: bool = False
    _is_suspended: bool = False
    _restarted: str | None = None
    """When somebody wanted its workers started anew, as far as is known; None before the first look."""
    _ticked_at: float = 0.0
    _streams: GroupStreams = field(default_factory=GroupStreams)
    _streams_looked_at: float = -math.inf
    _streams_trouble: str = ""
    _written: Mapping[str, Any] | None = None
    _cannot_write: bool = False

    def __post_init__(self) -> None:
        self.loss = self.loss_before = written_loss(self.folder.status)

    @property
    def code_was_edited(self) -> bool:
        """Whether the code is another than was declared last."""
        return self.wanted is not None and edits.code_print(self.wanted.code.folder) != self.wanted.code_print

    def declare(self, wanted: Wanted | None, obstacle: str = "") -> None:
        """Take in what it is to be now."""
        self.wanted, self.obstacle = wanted, obstacle
        self.clean_looks, self.was_ready = 0, False
        if self.failure and self._print() != self._failed_print:  # another declaration, or none that can be run
            self._try_again()

    async def run(self) -> None:
        """Look after it until it is told to end and all its workers have ended."""
        try:
            while not (self.is_ending and not self._running):
                self.write_status()
                await self.look(asyncio.get_running_loop().time())
                await asyncio.sleep(TICK_SECONDS)
        finally:
            self.ended.set()

    def end(self) -> None:
        """Have all its workers finish what they hold, and end."""
        self.is_ending = True
        for running in self._running.values():
            running.worker.end()

    def kill(self) -> None:
        self.is_ending = True
        for running in self._running.values():
            running.worker.kill()

    @property
    def workers(self) -> list[Worker]:
        """Those that are to stay, in the order in which they were started."""
        return [running.worker for running in self._running.values() if not running.worker.is_ending]

    @property
    def all_workers(self) -> list[Worker]:
        return [running.worker for running in self._running.values()]

    @property
    def is_drained(self) -> bool:
        """Whether nothing is left to do, and it is known that something could be done, or is not to be."""
        return self.is_to_drain and (self.was_ready or self.is_suspended) and self.clean_looks >= CLEAN_LOOKS

    @property
    def new_dead_letters(self) -> int:
        """Those that came since we began."""
        return max(0, (self.dead_letters or 0) - (self.dead_letters_before or 0))

    @property
    def new_losses(self) -> tuple[str, ...]:
        """What was lost since the `up` before this one ended."""
        return tuple(note.message for note in new_losses(self.loss_before, self.loss))

    async def look(self, now: float) -> None:
        """Compare what runs with what is wanted, and do something about it."""
        self._heed_suspension()
        self._heed_restart()
        wanted = self.wanted
        if wanted is not None:
            answers = await self._ask(wanted, now)
            if self.wanted is not wanted:  # it was edited meanwhile: these answers are about what was declared before
                return
            self._observe(wanted, answers, now)
        self._collect()
        target = 0 if wanted is None else self._target(wanted, now)
        self._retire(target)
        if wanted is not None and not self.is_ending:
            await self._fill(wanted, target)

    # What is the case

    async def _ask(self, wanted: Wanted, now: float) -> _Answers:
        contact, place = wanted.contact, wanted.place
        consumer = dead_letters = None
        if self.ground.is_set():
            await self._keep_streams(wanted, now)
            consumer = await contact.consumer(place)
            dead_letters = await contact.dead_letters(place)
        asked = [worker for worker in self.all_workers if worker.is_pulling]
        told = await asyncio.gather(*(contact.status(group_name(self.identity), worker.name) for worker in asked))
        return _Answers(consumer, dead_letters, list(zip(asked, told, strict=True)))

    def _observe(self, wanted: Wanted, answers: _Answers, now: float) -> None:
        if self.ground.is_set():
            info, position = answers.consumer or (None, None)
            self.reading = _reading(info, now) if info else None
            self.pause = info.pause if info else None
            if position:
                self._count_losses(position)
            self._count_dead_letters(wanted, answers.dead_letters)
        for worker, status in answers.statuses:
            worker.hear_status(status)
            if status is not None:
                self.tally.hear(worker.name, status)
        seconds = now - self._ticked_at if self._ticked_at else 0.0
        self.tally.tick(now, seconds)
        self._ticked_at = now
        is_ready = any(worker.is_ready for worker in self.workers)
        has_begun, self.was_ready = is_ready and not self.was_ready, self.was_ready or is_ready
        is_clean = self.reading is not None and self.reading.is_empty and not self._held()
        self.clean_looks = self.clean_looks + 1 if is_clean else 0
        if self.ground.is_set():
            self.standstill.tick(
                seconds,
                settled=self.tally.settled,
                is_running=bool(self._in_flight()),
                is_done=has_begun or (is_clean and self.was_ready),
            )

    async def _keep_streams(self, wanted: Wanted, now: float) -> None:
        """Have the streams on the server that the group needs and nobody declares."""
        link = self.link(wanted.place.connection)
        if link is None or now - self._streams_looked_at < STREAMS_SECONDS:
            return
        kept = await self._streams.keep(link, wanted.place, now, nullcontext)
        self._streams_looked_at = now if kept.is_over else -math.inf
        for note in kept.notes:
            self.tell(Level.WARNING if note.is_warning else Level.INFO, note.message)
        trouble = kept.trouble.message if kept.trouble else ""
        if trouble and trouble != self._streams_trouble:
            self.tell(Level.ERROR, trouble)
        self._streams_trouble = trouble

    def _count_dead_letters(self, wanted: Wanted, number: int | None) -> None:
        if number is None:
            return
        if self.dead_letters_before is None:
            self.dead_letters_before = number
        more = number - (self.dead_letters if self.dead_letters is not None else self.dead_letters_before)
        self.dead_letters = number
        if more > 0:
            messages = "1 message became a dead letter" if more == 1 else f"{more:,} messages became dead letters"
            self.tell(Level.WARNING, f"{messages}, in stream {wanted.place.dead_letter_stream}.")

    def _count_losses(self, position: ConsumerPosition) -> None:
        """Take in how far the consumer is."""
        before, self.loss = self.loss, count_losses(self.loss, position)
        for note in loss_notes(before, self.loss):
            self.tell(Level.WARNING, note.message)

    def _in_flight(self) -> int:
        return sum(len((worker.status or {}).get("batches", ())) for worker in self.all_workers)

    def _held(self) -> int:
        return sum((worker.status or {}).get("heldMessages", 0) for worker in self.all_workers)

    def _heed_suspension(self) -> None:
        is_suspended = self.is_suspended
        if is_suspended != self._is_suspended:
            self._is_suspended = is_suspended
            self.tell(Level.INFO, f"It is paused. {self._resumed_by()}" if is_suspended else "It goes on.")
            if not is_suspended:
                self._try_again()

    def _heed_restart(self) -> None:
        """Have its workers started anew if somebody wanted that since we began."""
        restarted = self.folder.restarted
        if self._restarted is None:
            self._restarted = restarted
        elif restarted != self._restarted:
            self._restarted = restarted
            self.tell(Level.INFO, "Its workers are started anew.")
            self.was_ready = False
            if self.failure:
                self._try_again()

    def _collect(self) -> None:
        """Take note of workers that have ended."""
        for name, running in list(self._running.items()):
            worker = running.worker
            if worker.failure and not self.failure and not self.is_ending and running.print == self._print():
                self.failure, self._failed_print = worker.failure, running.print
                self.tell(Level.ERROR, worker.failure)
            if worker.account is not None:
                self.tally.hear(name, worker.account)
                worker.account = None
            if worker.has_ended:
                del self._running[name]

    def _print(self) -> str:
        """Return what is equal exactly as long as workers need not be started anew."""
        return f"{self.wanted.print} {self._restarted or ''}" if self.wanted else ""

    def _try_again(self) -> None:
        self.failure = self._failed_print = ""

    # How many there are to be

    def _target(self, wanted: Wanted, now: float) -> int:
        if self.is_ending or self._is_suspended or self.failure or self.obstacle:
            self.desired, self.scaling, self._was_started = 0, "", False
            return 0
        limits = group_limits(wanted.spec, wanted.consumer, quota=self.quota())
        if self.is_to_drain and not limits.max_workers:  # nobody else would ever change the number
            limits = replace(limits, max_workers=1)
        if not self._was_started:  # its JVM starts while streams are made, and before anybody waits for it
            self._memory = NOTHING_YET
            self.desired = min(max(1, limits.min_workers), max(1, limits.max_workers))
            return self.desired
        return self._decide(limits, now)

    def _decide(self, limits: Limits, now: float) -> int:
        workers = self.workers
        answering = [worker for worker in workers if worker.status is not None]
        seen = Observation(
            now=now,
            reading=self.reading,
            workers=len(workers),
            ready=sum(worker.is_ready for worker in workers),
            held=self._held(),
            unheard=sum(worker.is_silent for worker in workers),
            work=self.tally.work,
            settled_per_second=self.tally.per_second if answering else 0.0,
        )
        decision = scale(limits, seen, self._memory)
        self._memory = decision.memory
        if decision.workers != self.desired:
            self.tell(Level.INFO, f"{decision.words[0].upper()}{decision.words[1:]}.")
        self.desired, self.scaling = decision.workers, decision.words
        return decision.workers

    def _retire(self, target: int) -> None:
        """Have those end that run something else, and those that are too many."""
        current = self._print()
        for running in self._running.values():
            if running.print != current:
                running.worker.end()
        surplus = max(0, len(self.workers) - target)
        for worker in removal_order(self.workers)[:surplus]:
            worker.end()

    async def _fill(self, wanted: Wanted, target: int) -> None:
        for _ in range(target - len(self.workers)):
            names = (f"{self.identity.name}-{number}" for number in count())
            name = next(each for each in names if each not in self._running)
            try:
                orders = await wanted.make(name)
            except CannotRunError as problem:
                if self.wanted is wanted:
                    self.obstacle = str(problem)
                    self.tell(Level.ERROR, str(problem))
                return
            if self.wanted is not wanted:  # edited meanwhile: a worker with these orders would count as up to date
                return
            worker = Worker(
                name=name,
                folder=self.folder.worker(name),
                settings=orders.settings,
                environment=orders.environment,
                guard=self.guard,
                hear=lambda sentence: self.tell(Level.WARNING, sentence),
                begins=self.tally.began,
            )
            self._was_started = True
            self._running[name] = _Running(worker, self._print())
            self.spawn(worker.run(self.ground))

    # What keeps it from getting on

    @property
    def is_suspended(self) -> bool:
        """Whether somebody has paused it."""
        return self.folder.is_suspended or (self.wanted is not None and self.wanted.spec.suspend)

    def why_stuck(self, patience_seconds: float) -> str:
        """Tell why nothing more will come of it, as far as can be known; nothing while there is hope."""
        if self.reading is not None and not self.clean_looks:
            if self.is_suspended:
                return f"It is paused{self._left()}. {self._resumed_by()}"
            if self.pause and self.pause.remaining_seconds > patience_seconds:
                return f"Nothing is delivered to it{self._left()}. {self._pause()}"
        seconds = patience_seconds if self.was_ready else max(patience_seconds, START_SECONDS)
        if self.standstill.seconds < seconds:
            return ""
        why = self._pause() or hindrance.complaint(self._statuses())
        return f"Nothing was settled for {seconds:g} s{self._left()}. {why}"

    def _pause(self) -> str:
        """Say who paused it, if that is neither its folder nor its manifest."""
        consumer = self.wanted.place.consumer if self.wanted else ""
        return hindrance.pause_of_consumer(consumer, self.pause) or hindrance.pause_of_workers(
            self.identity, self._statuses()
        )

    def _resumed_by(self) -> str:
        return hindrance.resumed_by(self.identity, is_declared=not self.folder.is_suspended)

    def _statuses(self) -> list[Mapping[str, Any]]:
        return [worker.status for worker in self.workers if worker.status is not None]

    def _left(self) -> str:
        if self.reading is None:
            return ""
        left = self.reading.pending + self.reading.ack_pending
        return f", and {left:,} message{' is' if left == 1 else 's are'} left"

    # What is shown

    def shown(self) -> GroupShown:
        """Return what people see of it."""
        phase, message = self._phase()
        place, reading = self.wanted.place if self.wanted else None, self.reading
        workers = self.workers
        return GroupShown(
            namespace=self.identity.namespace,
            name=self.identity.name,
            stream=place.stream if place else "",
            consumer=place.consumer if place else "",
            phase=phase,
            message=message,
            pending=reading.pending if reading else None,
            ack_pending=reading.ack_pending if reading else None,
            in_flight=self._in_flight(),
            verdicts=dict(self.tally.verdicts),
            messages_per_second=self.tally.per_second,
            settled=self.tally.settled,
            held=self._held(),
            workers=WorkersShown(
                ready=sum(worker.is_ready for worker in workers),
                running=len(workers),
                desired=self.desired,
                busy=sum(bool((worker.status or {}).get("heldMessages")) for worker in workers),
            ),
            dead_letters=self.dead_letters,
            loss=self.loss,
            scaling=self.scaling,
        )

    def write_status(self) -> None:
        """Have other commands know how it stands, if that has changed."""
        status = group_status(self.shown(), is_invalid=bool(self.obstacle))
        if status == self._written:
            return
        try:
            self.folder.write_status(status)
        except StateError as problem:  # the disk is full, say: that keeps no batch from being done
            if not self._cannot_write:
                self.tell(Level.WARNING, str(problem))
            self._cannot_write = True
        else:
            self._written, self._cannot_write = status, False

    def _phase(self) -> tuple[Phase, str]:
        """Return what it does, and why: what hinders it comes first."""
        if self.failure or self.obstacle:
            return Phase.FAILED, self.failure or self.obstacle
        if self.is_ending and self.is_drained:
            return Phase.FINISHED, ""
        if self.is_ending and not self._running:
            return Phase.STOPPED, ""
        if self.is_ending or (self._is_suspended and self._running):
            return Phase.STOPPING, ""
        if self._is_suspended:
            return Phase.PAUSED, self._resumed_by()
        return self._phase_at_work() if self.ground.is_set() else (Phase.WAITING, self.not_ready)

    def _phase_at_work(self) -> tuple[Phase, str]:
        statuses = self._statuses()
        if pause := self._pause():
            return Phase.PAUSED, pause
        broken = next((status for status in statuses if CIRCUIT in status.get("holds", ())), None)
        if broken is not None:
            return Phase.CIRCUIT_OPEN, str(broken.get("sentence", ""))
        is_empty = self.reading is not None and self.reading.is_empty
        if any(worker.is_ready for worker in self.workers):
            return (Phase.IDLE if is_empty else Phase.WORKING), ""
        if is_empty and not self.workers:
            return Phase.IDLE, ""
        return Phase.STARTING, next((str(status.get("sentence", "")) for status in statuses), "")


def _reading(info: ConsumerInfo, now: float) -> Reading:
    return Reading(
        at=now,
        pending=info.num_pending,
        ack_pending=info.num_ack_pending,
        delivered=info.delivered.consumer_sequence,
    )
