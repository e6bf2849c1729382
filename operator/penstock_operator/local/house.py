"""`penstock up`: what manifests declare, run on this machine until somebody ends it.

    manifests ─ embedded servers ─ Streams and Consumers (the reconciler, as in a cluster) ─ groups of workers

Knows the order in which things start and end, and what follows from an edit. Level-based as everything here: an edit is
read as a whole, and each part compares what is declared with what there is. Does not print: it tells events, and shows
how everything stands when asked. Called by the command line.
"""

import asyncio
import os
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from penstock_operator.local import code_places, edits
from penstock_operator.local.children import Guard
from penstock_operator.local.code_places import CannotRunError
from penstock_operator.local.connections import Connections, Place
from penstock_operator.local.declaring import Declaring
from penstock_operator.local.embedded_nats import EmbeddedNatsError
from penstock_operator.local.group import Group
from penstock_operator.local.live_home import LiveHome
from penstock_operator.local.manifests import ManifestError, Manifests, read_manifests
from penstock_operator.local.snapshot import Event, Level, Snapshot
from penstock_operator.local.standing import connections_shown, streams_shown
from penstock_operator.local.state import ConnectionRecord, HomeRecord, StateError, StateFolder
from penstock_operator.local.worker import first_of
from penstock_operator.plan.decision import Next, Note
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.group_places import GroupPlace
from penstock_operator.plan.reasons import Reason
from penstock_operator.resources import CONNECTION, CONSUMER, QUEUE_GROUP, STREAM, QueueGroupSpec
from penstock_operator.services.leading import Leadership
from penstock_operator.services.nats.keeping import NatsLinks
from penstock_operator.services.reconciler import STEPS, Reconciler
from penstock_operator.services.workshop import Workshop

NAME = "penstock up"
READING_SECONDS = 3.0
"""How old what is shown of streams may be; a laptop has few."""
MOST_EVENTS = 200
LOOK_SECONDS = 0.2
PATIENCE_SECONDS = 20.0
"""With drain: how long what a group needs may not be there before that is a failure."""
SERVERS_PATIENCE_SECONDS = 5.0
"""The same where a server cannot be reached: it was tried several times by then."""
THERE_ALL_THE_SAME = frozenset({Reason.OBSERVED, Reason.DRIFTED})
"""Reasons of what is not as declared, and on the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line says."""

    files: tuple[str, ...]
    recursive: bool = False
    namespace: str
    secrets: Path | None = None
    state: Path
    port: int | None = None
    """Of embedded servers, whatever their Connections say."""
    drain: bool = False
    patience_seconds: float = 300
    """With drain: how long a group may get nowhere."""
    grace_seconds: float = 25


@dataclass(frozen=True, slots=True)
class Failure:
    """What was not processed, and why."""

    about: str
    sentence: str


@dataclass(slots=True)
class House:
    """One run of `up`."""

    options: Options
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    events: deque[Event] = field(default_factory=lambda: deque(maxlen=MOST_EVENTS))
    groups: dict[Identity, Group] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    """With drain, at the end."""
    _home: LiveHome = field(init=False)
    _state: StateFolder = field(init=False)
    _manifests: Manifests = field(default_factory=Manifests)
    _connections: Connections = field(init=False)
    _declaring: Declaring = field(init=False)
    _reconciler: Reconciler = field(init=False)
    _guard: Guard = field(init=False)
    _tasks: asyncio.TaskGroup = field(init=False)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _read_print: edits.Print = field(default_factory=dict)
    _stopping: str = ""
    _is_ready: bool = False
    _cannot_go_on: EmbeddedNatsError | StateError | None = None

    def __post_init__(self) -> None:
        self._state = StateFolder(self.options.state)
        self._home = LiveHome(self._tell_note, self.options.secrets)

    async def run(self) -> None:
        """Run until told to stop, or with drain until everything is processed.

        Raises what keeps it from beginning, ManifestError, StateError, EmbeddedNatsError, or from going on, StateError.
        """
        manifests = self._read()
        with ExitStack() as left:
            taken = self._state.taken(lambda sentence: self.tell(Level.INFO, "", sentence))
            lock = await asyncio.to_thread(left.enter_context, taken)  # what it waits for is shown meanwhile
            self._guard = left.enter_context(Guard(lock, self._state.hurry))
            try:
                await self._run(manifests)
            except* StateError as problems:  # the disk is full, say
                self._cannot_go_on = _first(problems)
        if self._cannot_go_on is not None:  # a task group would put it into a group of its own
            raise self._cannot_go_on

    async def _run(self, manifests: Manifests) -> None:
        async with NatsLinks(NAME) as links, asyncio.TaskGroup() as self._tasks:
            self._connections = Connections(self._place(), self._home, self._tasks, self.tell)
            self._declaring = Declaring(self._state, self._home, self._connections, self.options.grace_seconds)
            steps = {**STEPS, QUEUE_GROUP.name: _left_to_groups}
            self._reconciler = Reconciler(
                self._home,
                links,
                Leadership.alone(),
                asyncio.get_running_loop().time,
                period_seconds=READING_SECONDS,
                steps=steps,
            )
            try:
                await self._live(manifests)
            finally:
                await self._connections.end()

    def stop(self) -> None:
        """Have everything end; a second time, at once."""
        if self._stop.is_set():
            for group in self.groups.values():
                group.kill()
            return
        self._stopping = "Stopping: workers finish what they hold. Ctrl-C once more ends all at once."
        self._stop.set()

    def hang_up(self) -> None:
        """Have everything end, in order however often it is said: a terminal that is closed may say it twice."""
        if not self._stop.is_set():
            self.stop()

    def tell(self, level: Level, about: str, message: str) -> None:
        self.events.append(Event(datetime.now(UTC), level, about, message))

    # Its life

    async def _live(self, manifests: Manifests) -> None:
        try:
            await self._connections.serve(manifests.declared)
        except EmbeddedNatsError as problem:
            self._cannot_go_on = problem
            return
        self._is_ready = True
        await self._take(manifests)
        background = [self._tasks.create_task(each) for each in (self._reconciler.run(), self._heed_edits())]
        try:
            finished = self._until_drained() if self.options.drain else asyncio.Event().wait()
            await first_of(*background, self._watch(), finished, self._stop.wait())
            await self._end_groups()
        finally:
            for task in background:
                task.cancel()

    async def _end_groups(self) -> None:
        for group in self.groups.values():
            group.end()
        await asyncio.gather(*(group.ended.wait() for group in self.groups.values()))

    # What is declared

    def _read(self) -> Manifests:
        options = self.options
        self._read_print = self._manifests_print()  # before it is read: an edit meanwhile is one more
        found = read_manifests(options.files, options.namespace, self.started, recursive=options.recursive)
        if not found.declared:
            raise ManifestError([f"Nothing of Penstock's is declared in {', '.join(options.files)}."])
        return found

    async def _heed_edits(self) -> None:
        """Look for edits since what was read was read, and take them in."""
        manifests = edits.Edits()
        while True:
            await asyncio.sleep(edits.LOOK_SECONDS)
            if manifests.are_over(self._read_print, self._manifests_print()):
                await self._take_edit()
            elif any(group.code_was_edited for group in self.groups.values()):
                self._declare_groups()

    def _manifests_print(self) -> edits.Print:
        return edits.manifests_print(self.options.files, recursive=self.options.recursive)

    async def _take_edit(self) -> None:
        try:
            manifests = self._read()
            await self._connections.serve(manifests.declared)
        except (ManifestError, EmbeddedNatsError) as problem:
            self.tell(Level.ERROR, "", f"{problem}\nWhat was declared before goes on.")
            return
        self.tell(Level.INFO, "", "The manifests were edited, and are taken as they are now.")
        await self._take(manifests)

    async def _take(self, manifests: Manifests) -> None:
        self._manifests = manifests
        changed, gone = self._home.lay(self._connections.as_reached(manifests))
        await self._connections.contact(manifests.declared)
        for manifest in changed:
            self._reconciler.shown(manifest)
        for declared in gone:
            self._reconciler.gone(declared.identity, declared.uid)
            if declared.identity.kind in (STREAM.name, CONSUMER.name):
                self.tell(Level.INFO, str(declared.identity), "It is not declared any more; on the server it stays.")
        self._declare_groups()
        self._state.write(self._record())

    # Groups

    def _declare_groups(self) -> None:
        declared = {
            identity: each.spec
            for identity, each in self._manifests.declared.items()
            if isinstance(each.spec, QueueGroupSpec)
        }
        for identity in [each for each in self.groups if each not in declared]:
            self.groups[identity].declare(None, "It is not declared any more.")
        for identity, spec in declared.items():
            if identity not in self.groups:
                self.groups[identity] = group = self._new_group(identity)
                for sentence in code_places.means_nothing(
                    spec, code_places.folder_of(self._manifests.places[identity])
                ):
                    self.tell(Level.INFO, str(identity), sentence)
                self._tasks.create_task(group.run())
            self._declare_group(self.groups[identity], spec)

    def _place(self) -> Place:
        return Place(self._state, self._guard, self.options.port)

    def _new_group(self, identity: Identity) -> Group:
        return Group(
            identity=identity,
            folder=self._state.group(identity.namespace, identity.name),
            guard=self._guard,
            spawn=self._tasks.create_task,
            tell=lambda level, message: self.tell(level, str(identity), message),
            link=self._reconciler.shop.links.link,
            quota=lambda: self._quota(identity),
            is_to_drain=self.options.drain,
        )

    def _declare_group(self, group: Group, spec: QueueGroupSpec) -> None:
        try:
            group.declare(self._declaring.wanted(group.identity, spec, self._manifests))
        except CannotRunError as problem:
            before, sentence = group.obstacle, f"{self._manifests.places[group.identity]}: {problem}"
            group.declare(None, sentence)
            if before != sentence:
                self.tell(Level.ERROR, str(group.identity), sentence)

    def _quota(self, identity: Identity) -> int:
        """Return how many workers a group may have: one for each core of the machine, all groups together."""
        cores = os.cpu_count() or 1
        others = sum(len(group.workers) for each, group in self.groups.items() if each != identity)
        return max(1, cores - others)

    # What becomes of it

    async def _watch(self) -> None:
        """Tell groups when there is something to pull from."""
        while True:
            for group in self.groups.values():
                if group.wanted is not None and not group.ground.is_set():
                    self._look_at_ground(group, group.wanted.place)
            await asyncio.sleep(LOOK_SECONDS)

    def _look_at_ground(self, group: Group, place: GroupPlace) -> None:
        needed = [place.consumer_identity, *([place.dead_letter_identity] if place.dead_letter_identity else [])]
        for identity in needed:
            ready = self._home.ready(identity)
            if ready is None or (ready["status"] != "True" and ready["reason"] not in THERE_ALL_THE_SAME):
                group.not_ready = f"{identity}: {ready['message']}" if ready else ""
                return
        group.not_ready = ""
        group.ground.set()

    async def _until_drained(self) -> None:
        """Return once all groups have processed everything, or cannot."""
        began = asyncio.get_running_loop().time()
        while True:
            is_late = asyncio.get_running_loop().time() - began > self._patience_seconds()
            are_over = all(group.is_drained or self._why_not(group, is_late=is_late) for group in self.groups.values())
            if are_over and (is_late or self._was_looked_at()):
                break
            await asyncio.sleep(LOOK_SECONDS)
        for identity, group in self.groups.items():
            if not group.is_drained:
                self.failures.append(Failure(str(identity), self._why_not(group, is_late=True)))
            elif group.new_dead_letters:
                messages = f"{group.new_dead_letters:,} message{'s' if group.new_dead_letters > 1 else ''}"
                self.failures.append(Failure(str(identity), f"{messages} could not be processed: dead letters."))
            self.failures += [Failure(str(identity), sentence) for sentence in group.new_losses]
        self.failures += [Failure(about, sentence) for about, sentence in self._unready()]

    def _why_not(self, group: Group, *, is_late: bool) -> str:
        """Tell why a group will not process everything, as far as is known."""
        if known := group.failure or group.obstacle or group.why_stuck(self.options.patience_seconds):
            return known
        return (group.not_ready or "Its consumer is not there.") if is_late and not group.ground.is_set() else ""

    def _was_looked_at(self) -> bool:
        """Tell whether it is known of all that is declared how it stands: there may be no group to wait for."""
        kinds = (CONNECTION.name, STREAM.name, CONSUMER.name)
        return all(self._home.ready(identity) for identity in self._home.declared if identity.kind in kinds)

    def _patience_seconds(self) -> float:
        """Return how long to wait for streams and consumers: less where there is not even a server."""
        unready = {about.partition(" ")[0] for about, _ in self._unready()}
        return PATIENCE_SECONDS if CONNECTION.name not in unready else SERVERS_PATIENCE_SECONDS

    def _unready(self) -> Iterator[tuple[str, str]]:
        """Yield what is not as declared, and nobody's ground: groups speak for themselves."""
        for identity, declared in self._home.declared.items():
            if identity.kind in (CONNECTION.name, STREAM.name, CONSUMER.name):
                ready = self._home.ready(identity)
                if ready and ready["status"] == "False" and ready["reason"] not in THERE_ALL_THE_SAME:
                    yield str(declared.identity), str(ready["message"])

    def _tell_note(self, declared: Declared, note: Note) -> None:
        level = Level.WARNING if note.is_warning else Level.INFO
        self.tell(level, str(declared.identity), note.message)

    # What is shown

    def _record(self) -> HomeRecord:
        options = self.options
        return HomeRecord(
            pid=os.getpid(),
            started=self.started,
            files=tuple(path if path == "-" else str(Path(path).absolute()) for path in options.files),
            recursive=options.recursive,
            secrets=str(options.secrets.absolute()) if options.secrets else None,
            default_namespace=options.namespace,
            connections=self._connections.records(self._manifests.declared),
            groups=tuple(group.wanted.record for group in self.groups.values() if group.wanted),
        )

    def _connections_known(self) -> tuple[ConnectionRecord, ...]:
        return self._connections.records(self._manifests.declared) if self._is_ready else ()

    def snapshot(self) -> Snapshot:
        """Return how everything stands."""
        return Snapshot(
            at=datetime.now(UTC),
            started=self.started,
            connections=tuple(connections_shown(self._connections_known(), self._home)),
            streams=tuple(streams_shown(self._home)),
            groups=tuple(group.shown() for group in self.groups.values()),
            events=tuple(self.events),
            state=self._stopping,
        )


async def _left_to_groups(shop: Workshop, declared: Declared) -> Next:
    """Do nothing about a QueueGroup: here it is not the reconciler that serves it."""
    del shop, declared
    return Next.WHEN_IT_CHANGES


def _first(problems: BaseExceptionGroup[StateError]) -> StateError:
    """Return the first of them, in whichever group of groups it is."""
    first = problems.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
