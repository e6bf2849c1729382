"""The faults of the simulation, each of which ends by itself; processes that end are started again."""

from dataclasses import dataclass

from penstock_worker.policy.machine import actions as wants
from penstock_worker.policy.machine import events as told
from tests.jetstream.simulation.world import World
from tests.worker.simulation.checks import Checks
from tests.worker.simulation.driver import Driver, Mood
from tests.worker.simulation.engine import NOTICE_SECONDS, Engine
from tests.worker.simulation.options import GRACE_SECONDS, Options
from tests.worker.simulation.server import Server

LOOK_SECONDS = 1.0
STEPS = (
    wants.HandOver,
    wants.WriteLedger,
    wants.PublishLetters,
    wants.PublishOutgoing,
    wants.Settle,
    wants.Settle,
    wants.DeleteLedger,
    wants.GiveBack,
    wants.Acknowledge,
    wants.ReadLedger,
)
LONG_FROZEN_SECONDS = 25.0


@dataclass(eq=False)
class Worker:
    """A driver, and its engine at the moment."""

    driver: Driver
    engine: Engine


class Faults:
    """Carries out the faults."""

    def __init__(self, world: World, options: Options, server: Server, checks: Checks) -> None:
        self.world, self.options, self.server, self.checks = world, options, server, checks
        self.mood = Mood()
        self.workers: list[Worker] = []

    def hire(self) -> None:
        number = len(self.workers) + 1
        driver = Driver(self.world, self.options, self.server, self.checks.sink, self.mood, name=f"driver {number}")
        self.workers.append(Worker(driver, self._start(f"worker {number}", driver)))

    def _start(self, name: str, driver: Driver) -> Engine:
        engine = Engine(self.world, self.options, self.server, driver, name=name)
        self.checks.watch(engine)
        engine.start()
        return engine

    def look(self) -> None:
        """Start again what ended, as a kubelet does."""
        self.server.lapse()
        self.checks.look()
        for worker in self.workers:
            if not worker.engine.is_alive:
                self.world.say(worker.engine.name, "starts again")
                worker.engine = self._start(worker.engine.name, worker.driver)
        self.world.after(LOOK_SECONDS, self.look)

    def happen(self, name: str) -> None:
        self.world.say("fault", name)
        getattr(self, f"_{name}")()

    def heal(self) -> None:
        """End all faults that still last."""
        self.world.say("faults", "are over")
        self.mood.transient_until = self.mood.code_until = self.mood.hangs = 0
        self.server.refuses_ledger_until = self.server.refuses_letters_until = 0.0
        for engine in self.checks.engines:
            engine.mend()
            engine.tell(told.Resume())
            engine.tell(told.Reinstate())

    def _worker(self) -> Worker:
        return self.world.random.choice(self.workers)

    def _duration(self) -> float:
        return self.world.random.choice([0.05, 1.0, 4.0, 12.0])

    def _until(self) -> float:
        return self.world.now + self._duration()

    # Processes

    def _kill_engine(self) -> None:
        self._worker().engine.kill()

    def _kill_driver(self) -> None:
        self._worker().driver.kill()

    def _kill_spark(self) -> None:
        self._worker().driver.kill_spark()

    def _kill_engine_and_driver(self) -> None:
        worker = self._worker()
        worker.engine.kill()
        worker.driver.kill()

    def _kill_at_a_step(self) -> None:
        """Kill an engine just after its next action of some kind."""
        self._worker().engine.dies_after = self.world.random.choice(STEPS)

    def _freeze(self) -> None:
        self._worker().engine.freeze(self._duration())

    def _replace_frozen(self) -> None:
        """Start another worker for one that is frozen, and that continues later."""
        self._worker().engine.freeze(LONG_FROZEN_SECONDS)
        self.hire()

    def _terminate(self) -> None:
        self._worker().engine.tell(told.Terminate(GRACE_SECONDS))

    # The network and the server

    def _cut(self) -> None:
        self._cut_off(self._worker().engine)

    def _cut_off(self, engine: Engine) -> None:
        engine.cut()
        self.world.after(self._duration(), engine.mend)

    def _half_open(self) -> None:
        self._worker().engine.stick(self._duration())

    def _step_down(self) -> None:
        """Have another leader elected; links stay, and each engine notices when it next asks about its consumer."""
        self.server.step_down()
        for worker in self.workers:
            self.world.after(self.world.random.random() * NOTICE_SECONDS, worker.engine.notice)

    def _restart_server(self) -> None:
        for worker in self.workers:
            self._cut_off(worker.engine)
        self.server.forget()

    def _lose_newest(self) -> None:
        """Have the server restart without the newest messages, and publish others in their place."""
        self._restart_server()
        lost = self.server.lose_newest(self.world.random.choice([1, 3, 10]))
        self.world.after(self._duration(), self.server.publish, lost)

    def _ledger_refuses(self) -> None:
        self.server.refuses_ledger_until = self._until()

    def _letters_refused(self) -> None:
        self.server.refuses_letters_until = self._until()

    def _reset(self) -> None:
        """Have somebody reset the consumer to the first message."""
        self.server.reset()

    def _recreate(self) -> None:
        """Have somebody delete the consumer and create it again, so that everything is processed once more."""
        self.server.recreate()
        self.checks.sink.begin_again()

    def _lose_pull(self) -> None:
        """Have an engine ask for no messages, without knowing it."""
        self._worker().engine.has_lost_pull = True

    # User code, and users

    def _transient_phase(self) -> None:
        self.mood.transient_until = self.world.now + self.world.random.choice([1.0, 5.0, 25.0])

    def _code_phase(self) -> None:
        self.checks.code_was_wrong = True
        self.mood.code_until = self._until()

    def _hang(self) -> None:
        self.mood.hangs += 1

    def _pause(self) -> None:
        self._for_a_while(told.Pause(), told.Resume())

    def _retire(self) -> None:
        self._for_a_while(told.Retire(), told.Reinstate())

    def _for_a_while(self, begin: told.Event, end: told.Event) -> None:
        engine = self._worker().engine
        engine.tell(begin)
        self.world.after(self._duration(), engine.tell, end)

    def _end_driver(self) -> None:
        """Have a driver end as after SIGTERM, and another one replace it."""
        self._worker().driver.end()

    def _cancel(self) -> None:
        engine = self._worker().engine
        for batch_id in list(engine.machine.books.batches):
            engine.tell(told.CancelBatch(batch_id))
