"""Keeps Spark and the user's code ready: starts both, watches Spark, and starts both anew when it is lost.

Knows when the driver is ready, and why it is not. Does not know the runs but for one thing: before Spark is started
anew, those that lost it have to have ended.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from penstock_worker.driver.entrypoint import Code, EntrypointError, unload
from penstock_worker.policy.trouble import Trouble
from penstock_worker.spark.contract import END_SECONDS, Seat, Spark
from penstock_worker.spark.problems import CannotStartError, LostError

log = logging.getLogger(__name__)

WATCH_SECONDS = 1.0
"""Between two looks at a Spark that nobody complains of."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 30.0
"""Between two attempts to start a Spark that does not start at present; each pause is twice the one before."""


class Users(Protocol):
    """Who uses Spark meanwhile."""

    def let_go(self, why: str) -> None:
        """Have all runs end that are at work; return once they have."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether a batch can be run."""

    is_ready: bool = False
    why_not: str = "Spark is being started."
    trouble: Trouble = Trouble.STARTING
    is_permanent: bool = False


class Keeper:
    """A thread that owns Spark."""

    def __init__(
        self, spark: Callable[[], Spark], load: Callable[[Spark], Code], users: Users, give_up: Callable[[str], None]
    ) -> None:
        self._make, self._load, self._users, self._give_up = spark, load, users, give_up
        self._spark: Spark | None = None
        self._code: Code | None = None
        self._complaint: str | None = None
        self._woken = threading.Event()
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="keeper", daemon=True)
        self._readiness = Readiness()
        self._changed = threading.Condition()

    @property
    def readiness(self) -> Readiness:
        return self._readiness

    @readiness.setter
    def readiness(self, readiness: Readiness) -> None:
        with self._changed:
            self._readiness = readiness
            self._changed.notify_all()

    def wait_ready(self, seconds: float) -> bool:
        """Wait until a batch can be run; tell whether that came true in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._readiness.is_ready, seconds)

    @property
    def code(self) -> Code:
        if self._code is None:
            raise LostError("The code is not imported.")
        return self._code

    def start(self) -> None:
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether somebody keeps Spark, or knows that starting it is of no use."""
        return self._thread.is_alive() or self._readiness.is_permanent

    def seat(self, slot: int) -> Seat:
        """Return a slot's seat, in its thread."""
        if self._spark is None:
            raise LostError("Spark is not started.")
        return self._spark.seat(slot)

    def complaint(self) -> str | None:
        """Return why Spark is lost, or None."""
        return self._spark.complaint() if self._spark is not None else "Spark is not started."

    def lost(self, complaint: str) -> None:
        """Note that Spark is lost, and have it started anew."""
        self._complaint = complaint
        self.readiness = Readiness(why_not=f"Spark is being started anew. {complaint}", trouble=Trouble.SPARK)
        self._woken.set()

    def kill(self) -> None:
        """End Spark's processes this instant, as ours ends."""
        if self._spark is not None:
            self._spark.kill()

    def close(self) -> None:
        """End Spark."""
        self._is_closed.set()
        self._woken.set()
        self._thread.join(END_SECONDS if self._spark is None else self._spark.end_seconds)
        if self._thread.is_alive():  # it starts a JVM, or the user's module does not come to an end
            self.kill()

    def _keep(self) -> None:
        try:
            while not self._is_closed.is_set() and self._become_ready():
                self._watch()
                self._users.let_go(self._complaint or "The driver ends.")
        except Exception:
            log.exception("The driver has a fault. Please report it")
            self._give_up("Nobody keeps Spark any more.")
        finally:
            if self._spark is not None:
                self._spark.close()

    def _become_ready(self) -> bool:
        """Start everything, however often it takes; False if that is of no use."""
        pause = FIRST_PAUSE_SECONDS
        while not self._is_closed.is_set():
            problem = self._start()
            if problem is None:
                return True
            log.log(logging.ERROR if problem.is_permanent else logging.WARNING, "Not ready: %s", problem.why_not)
            self.readiness = problem
            if problem.is_permanent:
                return False
            self._is_closed.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        return False

    def _start(self) -> Readiness | None:
        was_ready = self._code is not None
        try:
            if self._spark is None:
                self._spark = self._make()
            self._woken.clear()
            self._complaint = None
            self._spark.start()
            if self._code is not None:
                unload(self._code)
            self._code = self._load(self._spark)
        except CannotStartError as problem:
            is_permanent = problem.is_permanent and not was_ready
            return Readiness(why_not=str(problem), trouble=Trouble.SPARK, is_permanent=is_permanent)
        except OSError as problem:
            return Readiness(why_not=f"Spark cannot be started at present: {problem}", trouble=Trouble.SPARK)
        except EntrypointError as problem:
            complaint = self.complaint()  # a module may use Spark while it is imported
            if complaint is not None:
                return Readiness(why_not=complaint, trouble=Trouble.SPARK)
            return Readiness(why_not=str(problem), trouble=Trouble.CODE, is_permanent=True)
        log.info("Ready: Spark runs on %s", self._spark.name)
        self.readiness = Readiness(is_ready=True, why_not="", trouble=Trouble.NONE)
        return None

    def _watch(self) -> None:
        """Return once Spark is lost, or the driver ends."""
        while not self._woken.wait(WATCH_SECONDS):
            complaint = self.complaint()
            if complaint is not None:
                self.lost(complaint)
        if not self._is_closed.is_set():
            log.warning("Spark is lost: %s", self._complaint)
