"""The checks that hold in every run.

answers     a message is acknowledged only after a run of it ended with OK, or its dead letter was published;
            terminated only after the latter; each row of each block gets one final answer (engine.py)
accounting  at each step, every message of an engine is waiting, in a batch or answered (engine.py)
membership  no message is in two batches of an engine; a batch's id always stands for the same ones (driver.py)
slots       an engine runs no more batches at a time than its settings allow
leases      no lease lapses of an engine that is awake and connected
letters     exactly the messages that cannot be processed, crash Spark, are hostile or rejected become dead letters,
            besides some that failed as often as they are tried, while fewer batches failed than open the circuit
parts       no two parts of a batch that the ledger names have a message in common (server.py)
sink        it has each other message at least once; once with the ledger, but for what docs/reliability.md excuses
rejections  a message that is rejected in some runs only is either in the sink or a dead letter; the ledger has what a
            run rejected before that is published, and a batch of which it has that is not run again
modesty     an engine with long runs pulls nothing beyond them, unless the rest of a former batch may come
diligence   an engine that holds nothing and has no reason to wait asks for messages
leaving     an engine that is leaving pulls nothing, and holds only messages of runs that have begun
no stop     an engine stops only for its user, for wrong code, or if the stream has lost messages that it holds, or the
            consumer was created again; then the sink gets each message once more
no rush     time passes
all done    after the last fault all messages are answered, and a drain ends
"""

from collections.abc import Iterator

from penstock_worker.policy.machine.actions import Note
from penstock_worker.policy.machine.batch import BEFORE_A_RUN, Stage
from penstock_worker.policy.machine.books import Books
from penstock_worker.policy.machine.collecting import SHORT_SECONDS
from tests.jetstream.simulation.violation import Violation
from tests.worker.simulation.driver import Sink
from tests.worker.simulation.engine import Engine
from tests.worker.simulation.options import Options
from tests.worker.simulation.server import Delivery, Server


class Checks:
    """Watches the server and the engines."""

    def __init__(self, server: Server, sink: Sink, options: Options) -> None:
        self.server, self.sink, self.options = server, sink, options
        self.engines: list[Engine] = []
        self.code_was_wrong = False
        self.lost_leases: set[int] = set()
        """Messages that lapsed while their engine lived: it was frozen or cut off for longer than the ack wait."""
        server.on_ack, server.on_term, server.on_lapse = self._acked, self._terminated, self._lapsed
        server.on_loss = sink.lose

    def watch(self, engine: Engine) -> None:
        self.engines.append(engine)
        engine.on_step = self._stepped

    # At every step

    def _stepped(self, engine: Engine) -> None:
        batches = engine.machine.books.batches.values()
        running = sum(batch.stage is Stage.RUNNING for batch in batches)
        if running > self.options.in_flight:
            raise Violation(f"{engine.name} runs {running} batches at a time")
        self._check_stop(engine)
        books = engine.machine.books
        if engine.pulls and self._is_busy_for_long(engine) and not books.recall.is_expecting:
            raise Violation(f"{engine.name} pulls what others could have, though all its runs take long")
        if self._could_work(engine) and not engine.on_the_way and not engine.asks_for:
            raise Violation(f"{engine.name} asks for no messages, though it holds none and could work")
        if books.is_leaving and not engine.ended and (engine.pulls or not _is_with_the_driver(books)):
            raise Violation(f"{engine.name} holds what others could have, or pulls, though it is to leave it to them")

    def _is_busy_for_long(self, engine: Engine) -> bool:
        began = [batch.began_at for batch in engine.machine.books.running()]
        return len(began) == self.options.in_flight and max(began) + SHORT_SECONDS < engine.world.now

    def _could_work(self, engine: Engine) -> bool:
        """Tell whether an engine holds no message and has no reason to pause pulling."""
        books = engine.machine.books
        waits = (
            engine.ended,
            not engine.link_is_up,
            not books.recall.has_read,
            not books.driver.is_ready or books.driver.is_ending,
            books.circuit.is_open,
            books.is_paused,
            books.is_leaving,
            books.ending,
        )
        return not books.blocks.messages and not any(waits)

    def look(self) -> None:
        for engine in self.engines:
            if engine.is_alive:
                sequences = engine.sequences_of(tuple(engine.machine.books.held_pieces()))
                if len(sequences) != len(set(sequences)):
                    raise Violation(f"{engine.name} has some message twice: {sorted(sequences)}")

    def _acked(self, sequence: int) -> None:
        if sequence not in self.sink.ran_well and not self.server.letters[sequence]:
            raise Violation(f"message {sequence} is acknowledged, but no run of it ended well")

    def _terminated(self, sequence: int) -> None:
        if not self.server.letters[sequence]:
            raise Violation(f"message {sequence} is terminated before its dead letter is published")

    def _lapsed(self, sequence: int, held: Delivery) -> None:
        engine = held.holder
        assert isinstance(engine, Engine)
        is_well = engine.is_alive and engine.link_is_up
        is_well = is_well and engine.world.now >= max(engine.frozen_until, engine.stuck_until)
        is_well = (
            is_well and engine.world.now - max(engine.unwell_at, self.server.began_at) > self.options.ack_wait_seconds
        )
        if engine.is_alive:
            self.lost_leases.add(sequence)
        if is_well and sequence in engine.sequences_of(tuple(engine.machine.books.unsettled_pieces())):
            raise Violation(f"{engine.name} let the lease of message {sequence} lapse")

    # At the end

    @property
    def is_done(self) -> bool:
        return self.server.is_done and not any(
            engine.machine.books.blocks.messages for engine in self.engines if engine.is_alive
        )

    def at_the_end(self) -> None:
        if not self.is_done:
            missing = sorted(set(range(1, self.server.last + 1)) - self.server.acked - self.server.terminated)
            raise Violation(f"not everything is answered: messages {missing} are not")
        bad = self.options.poison | self.options.killers | self.options.rejected | self.options.hostile
        bad |= self.options.late
        bad = frozenset(sequence for sequence in bad if sequence <= self.server.last)
        dead = frozenset(self.server.letters)
        tried = frozenset(each for each, tries in self.sink.failures.items() if tries >= self.options.max_attempts)
        if not bad <= dead or not dead <= bad | tried | self.options.fickle:
            raise Violation(f"dead letters are {sorted(dead)}, and not {sorted(bad)}")
        for sequence in range(1, self.server.last + 1):
            if sequence not in dead or sequence in self.options.fickle - bad - tried:
                self._in_sink(sequence)

    def _in_sink(self, sequence: int) -> None:
        batches = self.sink.batches_of[sequence]
        is_dead = sequence in self.server.letters
        is_unrecorded = sequence in self.sink.unrecorded
        if not batches and not is_dead and not is_unrecorded:
            raise Violation(f"message {sequence} is neither in the sink nor a dead letter")
        promises_once = self.options.ledger and not self.server.was_reset
        if batches and is_dead and not is_unrecorded and promises_once and not self._is_excused(sequence):
            raise Violation(f"message {sequence} is in the sink, and a dead letter as well")
        if len(batches) > 1 and promises_once and not self._is_excused(sequence):
            raise Violation(f"message {sequence} is in the sink {len(batches)} times: {sorted(batches)}")

    def _is_excused(self, sequence: int) -> bool:
        """Tell whether a message may be in several batches, each of which has another id."""
        is_unaware = any(sequence in engine.unaware for engine in self.engines)
        return is_unaware or self._is_cut(sequence)

    def _is_cut(self, sequence: int) -> bool:
        """Tell whether a message was in a batch that was cut, of which a sink without ancestors knows nothing."""
        if self.options.tells:
            return False
        if sequence in self.lost_leases:
            return True
        notes = [report for engine in self.engines for report in engine.notes]
        cut = {report.batch_id for report in notes if report.note is Note.SPLIT} | set(self._waited_for())
        return any(
            batch_id in cut or not all(map(self.server.has, members))
            for batch_id, members in self.sink.members.items()
            if any(member == sequence for member, _ in members)
        )

    def _waited_for(self) -> Iterator[str]:
        """Return the batches that were replaced after the rest of them had been waited for in vain."""
        may_be_held = self.server.life > 1 or "lose_pull" in self.options.faults
        for engine in self.engines:
            for report in engine.notes:
                former = report.detail.rpartition(" ")[2]
                if report.note is Note.REPLACED and (may_be_held or former in engine.passed_on):
                    yield former

    def drained(self) -> None:
        for engine in self.engines:
            if engine.is_alive:
                raise Violation(f"{engine.name} does not end, though everything is processed")
            self._check_stop(engine)

    def _check_stop(self, engine: Engine) -> None:
        is_excused = self.code_was_wrong or self.server.has_lost or self.server.consumers > 1
        if engine.ended and engine.ended.code and not is_excused:
            raise Violation(f"{engine.name} stops with {engine.ended.code}: {engine.ended.sentence}")


def _is_with_the_driver(books: Books) -> bool:
    """Tell whether all held messages have begun to run."""
    in_batches = sum(batch.count for batch in books.batches.values() if batch.stage not in BEFORE_A_RUN)
    return in_batches == books.blocks.messages
