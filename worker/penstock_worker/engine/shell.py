"""The engine around its machine: tells it what happens, and carries out what it asks for, in its order.

Knows which part carries out which action. Decides nothing: what follows from what stands in policy.machine. All runs
in one event loop; what takes time is a task of one group, so that a fault in any of them ends the process, and the
server delivers again what it had.
"""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from penstock_jetstream import Block, Connected, Connection, ConsumerInfo, Disconnected, Failed
from penstock_jetstream.core.session import ServerInfo
from penstock_jetstream.errors import (
    JetStreamError,
    LinkError,
    MissingError,
    NoRespondersError,
    RequestTimeoutError,
    RetryableError,
)
from penstock_jetstream.transport.events import LinkEvent
from penstock_worker.engine.errands import Errands
from penstock_worker.engine.ground import Ground, NotThereError, UnfitError, consumer_fault, look
from penstock_worker.engine.intake import Intake
from penstock_worker.engine.reports import Reporter
from penstock_worker.engine.rows import Rows, table
from penstock_worker.exchange.records import Handed, RunName
from penstock_worker.policy.machine import actions, events
from penstock_worker.policy.machine.arriving import NOTICE_SECONDS
from penstock_worker.policy.machine.machine import Machine

LOOK_SECONDS = 1.0
"""So often it is tried to look at the consumer over a new link."""
COUNT_SECONDS = 3.0
"""So often the consumer's info is read: that it is another, or that another server keeps it, is noticed within 5 s."""
LOOK_AGAIN = (LinkError, RequestTimeoutError, NoRespondersError, RetryableError)
"""What passes: a server that has just started has no JetStream yet, and a cluster no leader."""
LAST_ANSWERS_SECONDS = 2.0
"""At the end, for answers to be sent; messages whose answer is not sent are delivered again after their ack wait."""

logger = logging.getLogger(__name__)
Keeper = tuple[str, datetime | None, str]
"""A leader's name, since when it leads, and the process, if it is the server that we are connected to."""


@dataclass(slots=True)
class Shell:
    """One engine at work. Errands and intake are given once they are made: they tell it what comes of them."""

    machine: Machine
    connection: Connection
    ground: Ground
    tasks: asyncio.TaskGroup
    reporter: Reporter
    errands: Errands = field(init=False)
    intake: Intake = field(init=False)
    stopped: asyncio.Future[actions.Stop] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    _events: deque[events.Event] = field(default_factory=deque)
    _is_handling: bool = False
    _carry_out: dict[type[actions.Action], Callable[[Any], object]] = field(default_factory=dict)
    _wake: asyncio.TimerHandle | None = None
    _is_counting: bool = False
    _keeper: Keeper | None = None
    """Who kept the consumer's state when we last looked."""
    _stop_listening: Callable[[], None] = lambda: None
    _looking: asyncio.Task[None] | None = None
    _running: set[asyncio.Task[None]] = field(default_factory=set)

    # What happens

    def begin(self) -> None:
        """Tell the machine that it may begin, and pull when it says so."""
        self._carry_out = self._work()
        self._stop_listening = self.connection.listen(self._link_changed)
        for work in (
            self.intake.run(),
            self.errands.answers.run(),
            self.errands.prerequisites.run(),
            self._counting(),
        ):
            self._running.add(self.spawn(work))
        self.tell(events.Started())
        self._look_at_keeper(self.ground.consumer)
        if _is_new(self.ground.consumer):
            self.tell(events.ServerChanged())

    def tell(self, event: events.Event) -> None:
        """Have the machine told: now, or after what it is told at the moment."""
        self._events.append(event)
        if self._is_handling:
            return
        self._is_handling = True
        try:
            while self._events:
                told = self._events.popleft()
                for action in self.machine.handle(told, now=_now(), chance=random.random()):  # noqa: S311 - of delays
                    self._carry_out[type(action)](action)
        except Exception as problem:
            # The machine takes its actions for carried out, so that no later event makes up for those that were not.
            if not self.stopped.done():
                self.stopped.set_exception(problem)
            raise
        finally:
            self._is_handling = False

    def take(self, block: Block) -> None:
        """Take a block off the lane."""
        rows = Rows.of(block)
        if self.stopped.done():
            self.errands.answers.nak(rows.replies, 0)
            return
        for arrived in self.errands.shelf.put(rows):
            self.tell(arrived)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Have something done beside."""
        task = self.tasks.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def ended(self) -> actions.Stop:
        """Return what the machine ended with, once its last answers have been sent or the server takes none."""
        stop = await self.stopped
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_ANSWERS_SECONDS):
                await self.errands.answers.sent()
        return stop

    def end(self) -> None:
        """Have nothing done any more."""
        self._stop_listening()
        if self._wake is not None:
            self._wake.cancel()
        for task in tuple(self._running):
            task.cancel()

    # What is to be done

    def _work(self) -> dict[type[actions.Action], Callable[[Any], object]]:
        """Return who carries out which action. All return at once; what is to be answered is answered by an event.

        Messages are taken off the shelf at once, too: they may be let go while something is done with them.
        """
        errands, driver = self.errands, self.errands.driver
        return {
            actions.HandOver: self._hand_over,
            actions.Settle: lambda asked: self.spawn(errands.settle(asked, errands.replies(asked))),
            actions.ReadLedger: lambda _: self.spawn(errands.read_ledger()),
            actions.WriteLedger: lambda asked: self.spawn(errands.write_ledger(asked)),
            actions.DeleteLedger: lambda asked: self.spawn(errands.delete_ledger(asked)),
            actions.PublishLetters: lambda asked: self.spawn(errands.publish_letters(asked, errands.messages(asked))),
            actions.PublishOutgoing: lambda asked: self.spawn(errands.publish_outgoing(asked)),
            actions.Acknowledge: lambda asked: errands.acknowledge(asked.pieces),
            actions.GiveBack: lambda asked: errands.give_back(asked.pieces, asked.delay_seconds),
            actions.LetGo: lambda asked: errands.forget("let-go", asked.pieces),
            actions.Renew: lambda asked: errands.renew(asked.pieces),
            actions.AwaitDriver: lambda _: driver.await_ready(),
            actions.CancelRun: lambda asked: driver.cancel(RunName(asked.batch_id, asked.run)),
            actions.ForgetRun: lambda asked: driver.forget(RunName(asked.batch_id, asked.run)),
            actions.AbandonDriver: lambda asked: driver.abandon(asked.why),
            actions.HoldPull: lambda asked: self._hold(asked.reasons),
            actions.ReleasePull: lambda asked: self._release(asked.messages),
            actions.RestartPull: lambda _: self.intake.restart(),
            actions.Count: lambda _: self._count(),
            actions.WakeAt: lambda asked: self._wake_at(asked.time),
            actions.Stop: self._stop,
            actions.Report: self.reporter.report,
        }

    def _hold(self, reasons: tuple[actions.HoldReason, ...]) -> None:
        self.reporter.standing.holds = reasons
        if reasons == (actions.HoldReason.FULL,):
            self.intake.rest()
        else:
            self.intake.hold()

    def _release(self, messages: int) -> None:
        self.reporter.standing.holds = ()
        self.intake.release(messages)

    def _stop(self, asked: actions.Stop) -> None:
        if not self.stopped.done():
            self.stopped.set_result(asked)

    def _hand_over(self, asked: actions.HandOver) -> None:
        rows = self.errands.shelf.rows(asked.pieces)
        settings = self.errands.settings
        handed = Handed(
            name=RunName(asked.batch_id, asked.run),
            stream=settings.stream,
            incarnation=self.ground.life,
            consumer=settings.consumer,
            ranges=asked.ranges,
            ancestors=asked.ancestors,
            count=asked.count,
            bytes=asked.bytes,
            attempt=asked.attempt,
            redelivered=asked.redelivered,
            deadline_seconds=asked.deadline_seconds,
        )
        self.reporter.began(asked)
        self.errands.driver.run(handed, lambda: table(rows, settings.stream))

    def _wake_at(self, time: float) -> None:
        if self._wake is not None:
            self._wake.cancel()
        self._wake = asyncio.get_running_loop().call_at(time, self.tell, events.Tick())

    def _count(self) -> None:
        if not self._is_counting:
            self._is_counting = True
            self._running.add(self.spawn(self._read_info()))

    async def _read_info(self) -> None:
        settings = self.errands.settings
        try:
            info = await self.errands.jetstream.consumers.info(settings.stream, settings.consumer)
        except MissingError as problem:
            self.consumer_gone(str(problem))
        except JetStreamError as problem:
            logger.warning("The consumer's info cannot be read: %s", problem)
        else:
            self._counted(info)
        finally:
            self._is_counting = False

    def _counted(self, info: ConsumerInfo) -> None:
        if info.created != self.ground.consumer.created:
            self.consumer_gone("The consumer was made anew.")
            return
        if (fault := consumer_fault(info)) and fault != self.reporter.standing.trouble:
            self.reporter.standing.trouble = fault
            logger.error("%s The worker finishes the batches that run, and ends.", fault)
            self.tell(events.Terminate(self.errands.settings.grace_seconds))
        if self._look_at_keeper(info):
            self.tell(events.ServerChanged())
        self.reporter.standing.counted(info)
        floor = info.ack_floor.stream_sequence
        self.tell(events.Counted(info.num_pending, info.num_ack_pending, floor, self.intake.is_asking))

    async def _counting(self) -> None:
        while True:
            self._count()
            await asyncio.sleep(COUNT_SECONDS)

    # The link, and the ground that we stand on

    def _link_changed(self, event: LinkEvent) -> None:
        match event:
            case Disconnected(reason):
                logger.warning("The link to NATS is lost: %s", reason)
                self._lose_ground()
                self.reporter.standing.is_linked, self.reporter.standing.link_trouble = False, str(reason)
                self.tell(events.LinkLost())
            case Failed(_, problem):
                self.reporter.standing.link_trouble = str(problem)
            case Connected():
                self.reporter.standing.is_linked, self.reporter.standing.link_trouble = True, ""
                self._look_again()
            case _:
                pass

    def _look_at_keeper(self, info: ConsumerInfo) -> bool:
        """Note who keeps the consumer's state; tell whether that is another server, or another process, than before."""
        former, keeper = self._keeper, _keeper(info, self.connection.server)
        if keeper is None or keeper == former:
            return False
        self._keeper = keeper
        return former is not None

    def consumer_gone(self, why: str) -> None:
        """Nothing that is held can be answered any more."""
        self._lose_ground()
        self.tell(events.Reborn(why))

    def _lose_ground(self) -> None:
        self.errands.answers.is_open = False
        self.intake.shut()

    def _look_again(self) -> None:
        if self._looking is not None and not self._looking.done():
            self._looking.cancel()
        self._looking = self.spawn(self._until_ground())

    async def _until_ground(self) -> None:
        """Go on if stream and consumer are those that we know; what is held says nothing of others."""
        while True:
            try:
                ground = await look(self.errands.jetstream, self.errands.settings)
            except LOOK_AGAIN as problem:
                self.reporter.standing.trouble = f"The consumer cannot be looked at: {problem}"
                logger.warning("%s", self.reporter.standing.trouble)
                await asyncio.sleep(LOOK_SECONDS)
            except (JetStreamError, NotThereError, UnfitError) as problem:
                self.tell(events.Reborn(str(problem)))
                return
            else:
                self._stand_on(ground)
                return

    def _stand_on(self, ground: Ground) -> None:
        if ground.birth != self.ground.birth:
            self.tell(events.Reborn("The stream or the consumer was made anew."))
            return
        self.reporter.standing.trouble = ""
        self.errands.answers.is_open = True
        self.tell(events.LinkBack())
        if self._look_at_keeper(ground.consumer):
            self.tell(events.ServerChanged())
        self.intake.open()


def _keeper(info: ConsumerInfo, server: ServerInfo) -> Keeper | None:
    """Return what is different once another server keeps the consumer, or the same one was restarted.

    None during an election. A restart of a single replica on another server than ours is not seen.
    """
    cluster = info.cluster
    if cluster is None or cluster.leader is None:
        return None
    return cluster.leader, cluster.leader_since, server.id if server.name == cluster.leader else ""


def _is_new(info: ConsumerInfo) -> bool:
    """Tell whether the leader is so new that other workers may not have noticed it."""
    since = info.cluster and info.cluster.leader_since
    return bool(since and info.time and (info.time - since).total_seconds() < NOTICE_SECONDS)


def _now() -> float:
    return asyncio.get_running_loop().time()
