"""The options that a seed chooses; most seeds have few faults, because faults that are always there hide each other."""

import random
from dataclasses import dataclass, fields, replace

FAULT_SECONDS = 30.0
"""How long messages are published and faults happen."""
ACK_WAIT_SECONDS = 9.0
SHORT_ACK_WAIT_SECONDS, LONG_RUN_SECONDS = 2.5, 7.0
"""Patience with former batches ends while their runs go on."""
DEADLINE_SECONDS = 15.0
GRACE_SECONDS = 8.0

FAULTS = (
    "kill_engine",
    "kill_driver",
    "kill_spark",
    "kill_engine_and_driver",
    "kill_at_a_step",
    "kill_at_a_step",
    "cut",
    "freeze",
    "replace_frozen",
    "restart_server",
    "lose_newest",
    "transient_phase",
    "code_phase",
    "ledger_refuses",
    "letters_refused",
    "hang",
    "pause",
    "cancel",
    "terminate",
)
LEAVINGS = ("retire", "end_driver", "step_down", "lose_pull", "reset", "half_open", "half_open")
"""Chosen last, as is what is hostile or fickle, so that seeds without them are the same runs as before."""
HOSTILE_SHARE, FICKLE_SHARE, TELLING_SHARE, RECREATING_SHARE, LATE_SHARE, LONG_SHARE = 0.3, 0.2, 0.5, 0.05, 0.3, 0.15


@dataclass(frozen=True, kw_only=True)
class Options:
    """One run."""

    messages: int
    burst: int
    workers: int
    ledger: bool
    max_messages: int
    in_flight: int
    max_attempts: int
    max_ack_pending: int
    delay_seconds: float
    """Of each message over the network, up to twice this."""
    run_seconds: float
    """Of a run, up to twice this."""
    poison: frozenset[int]
    """Sequences that no code can process."""
    killers: frozenset[int]
    """Those that crash Spark each time."""
    rejected: frozenset[int]
    """Those that the code rejects."""
    hostile: frozenset[int]
    """Those with which each run takes too long, or fails for what might be a passing reason."""
    publishes: bool
    """Whether the code publishes something for each batch."""
    faults: tuple[str, ...]
    fickle: frozenset[int]
    """Those that the code rejects in some runs."""
    late: frozenset[int]
    """Those with which a run fails once the sink has its messages."""
    ack_wait_seconds: float
    tells: bool
    """Whether the sink looks for a batch's ancestors, and tells what the attempt rejected whose writing it kept.

    So do `batch.path` and `batch.jdbc`. One that does not is like Delta, and knows a batch by its id alone.
    """

    def describe(self) -> str:
        return "\n".join(f"    {field.name:<18}{getattr(self, field.name)}" for field in fields(self))


def choose(seed: int) -> Options:
    chance = random.Random(seed)  # noqa: S311 - chance that can be repeated
    messages = chance.choice([1, 5, 20, 40, 80])
    kinds = chance.sample(FAULTS, chance.randint(0, 4))
    options = Options(
        messages=messages,
        burst=chance.choice([1, 3, 10, 40]),
        workers=chance.choice([1, 1, 2, 3]),
        ledger=chance.random() < 0.7,
        max_messages=chance.choice([3, 10, 100]),
        in_flight=chance.choice([1, 2, 2, 3]),
        max_attempts=chance.choice([1, 2, 3]),
        max_ack_pending=chance.choice([10, 1000, 1000]),
        delay_seconds=chance.choice([0.001, 0.01, 0.2]),
        run_seconds=chance.choice([0.05, 0.5, 3.0]),
        poison=_some(chance, messages),
        killers=_some(chance, messages) if chance.random() < 0.3 else frozenset(),
        rejected=_some(chance, messages),
        hostile=frozenset(),
        publishes=chance.random() < 0.3,
        faults=tuple(chance.choices(kinds, k=chance.randint(1, 5)) if kinds else ()),
        fickle=frozenset(),
        late=frozenset(),
        ack_wait_seconds=ACK_WAIT_SECONDS,
        tells=True,
    )
    leavings = chance.choices(LEAVINGS, k=chance.choice([0, 0, 0, 1, 3]))
    hostile = _some(chance, messages) if chance.random() < HOSTILE_SHARE else frozenset()
    fickle = _some(chance, messages) if chance.random() < FICKLE_SHARE else frozenset()
    tells = chance.random() < TELLING_SHARE
    recreated = ("recreate",) if chance.random() < RECREATING_SHARE else ()
    late = _some(chance, messages) if not options.poison and chance.random() < LATE_SHARE else frozenset()
    faults = (*options.faults, *leavings, *recreated)
    if chance.random() < LONG_SHARE:
        options = replace(options, ack_wait_seconds=SHORT_ACK_WAIT_SECONDS, run_seconds=LONG_RUN_SECONDS)
    return replace(options, faults=faults, hostile=hostile, fickle=fickle, tells=tells, late=late)


def _some(chance: random.Random, messages: int) -> frozenset[int]:
    """Return none, one or a few sequences; never so many that the code counts as wrong."""
    count = chance.choice([0, 0, 1, 1, 2, 3])
    return frozenset(chance.randint(1, messages) for _ in range(min(count, messages // 4)))
