"""What happens to a queue group, in each trace: when messages come, what the job is, and what goes wrong.

A trace is drawn from a seed. All are made up; each is there for one thing that autoscalers are known to do badly.
Each ends with a quiet time, so that what stays up for nothing is on the bill. Knows traces. Does not know scalers.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

from bench.autoscaling import chance
from bench.autoscaling.jobs import Job
from bench.autoscaling.messages import Lot, Lots

MINUTE = 60.0
HOUR = 3600.0
FEW = 5
"""So few messages of a second come at times of their own."""

Between = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What goes wrong, and when. Between two times, each."""

    silent: tuple[Between, ...] = ()
    """Nobody can read the consumer's counters, nor hear the workers."""
    stale: tuple[Between, ...] = ()
    """The consumer's counters are those of the beginning of that time."""
    leaderless: tuple[Between, ...] = ()
    """The consumer's leader is being elected: nothing is delivered, and the JetStream API does not answer."""
    node_gone: tuple[Between, ...] = ()
    """The server is away that led the consumer. The monitoring endpoint that KEDA keeps asking is its."""
    failing: tuple[tuple[float, float, float], ...] = ()
    """A share of batches fails, for a reason that passes."""


def during(times: tuple[Between, ...], now: float) -> Between | None:
    return next((time for time in times if time[0] <= now < time[1]), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One."""

    name: str
    about: str
    seconds: float
    rate: Callable[[float], float]
    """Messages a second, at a time."""
    bad_share: Callable[[float], float] = lambda _: 0.0
    """Which share of them cannot be processed."""
    job: Job = field(default_factory=Job)
    trouble: Trouble = field(default_factory=Trouble)

    def arrivals(self, chance_: Random) -> Iterator[tuple[float, Lots]]:
        """Return what comes when: by the second, or each at its own time where it is few."""
        for second in range(int(self.seconds)):
            number = chance.events(chance_, self.rate(second))
            if number > FEW:
                at = second + 0.5
                yield at, _mixed(chance_, at, number, self.bad_share(second))
                continue
            for at in sorted(second + chance_.random() for _ in range(number)):
                yield at, _mixed(chance_, at, 1, self.bad_share(second))


def _mixed(chance_: Random, at: float, number: int, bad_share: float) -> Lots:
    """Put the bad ones in between, evenly."""
    bad = min(number, chance.events(chance_, number * bad_share))
    if not bad:
        return (Lot(at, number),)
    lots: list[Lot] = []
    for part in range(bad):
        size = (number - bad) * (part + 1) // bad - (number - bad) * part // bad
        lots += [Lot(at, size)] if size else []
        lots.append(Lot(at, 1, is_bad=True))
    return tuple(lots)


def _until(end: float, rate: Callable[[float], float]) -> Callable[[float], float]:
    return lambda now: rate(now) if now < end else 0.0


def _ramp(now: float) -> float:
    """Up for 45 minutes, down for 30."""
    most, up, down = 30_000, 45 * MINUTE, 30 * MINUTE
    return max(0.0, most * min(now / up, (up + down - now) / down))


def _spike(now: float) -> float:
    """Nothing, a spike, a larger one, a small one."""
    spikes = ((10 * MINUTE, 10, 60_000), (40 * MINUTE, 60, 30_000), (65 * MINUTE, 2, 1_000))
    return sum(rate for at, lasts, rate in spikes if at <= now < at + lasts)


def _day(now: float) -> float:
    """A day in four hours: nobody at night, most in the afternoon."""
    return max(0.0, -0.25 + 1.25 * math.sin(math.pi * now / (4 * HOUR)) ** 2) * 22_000


def _trickle(now: float) -> float:
    """An hour with a message each five seconds, an hour with hardly any, the same again, and one burst."""
    burst = 40_000 if 2.5 * HOUR <= now < 2.5 * HOUR + 5 else 0
    return burst + (0.2 if now % (2 * HOUR) < HOUR else 1 / 900)


def _bursts(now: float) -> float:
    """Each 25 minutes somebody asks for a thousand reports."""
    lasts = 20
    return 50.0 if now % (25 * MINUTE) < lasts else 0.2


def _rising_and_falling(now: float) -> float:
    """Nothing for ten minutes, then much and little by turns."""
    if now < 10 * MINUTE:
        return 0.0
    return 12_000 if now % (30 * MINUTE) < 15 * MINUTE else 3_000


QUIET = 15 * MINUTE

STEADY = Trace(
    name="steady",
    about="8 000 a second for 90 minutes",
    seconds=90 * MINUTE + QUIET,
    rate=_until(90 * MINUTE, lambda _: 8_000),
)
RAMP = Trace(name="ramp", about="from nothing to 30 000 a second and back", seconds=75 * MINUTE + QUIET, rate=_ramp)
SPIKE = Trace(
    name="spike", about="600 000, 1.8 million, then 2 000, from zero each time", seconds=90 * MINUTE, rate=_spike
)
DIURNAL = Trace(name="diurnal", about="a day in four hours, with a night", seconds=4 * HOUR, rate=_day)
SLOW = Trace(
    name="slow jobs",
    about="batches of 200 take three minutes",
    seconds=100 * MINUTE + 2 * QUIET,
    rate=_until(100 * MINUTE, _bursts),
    job=Job(batch_messages=200, fixed_seconds=60, each_seconds=0.6, deadline=1800, together=1.8),
)
POISON = Trace(
    name="poison storm",
    about="for half an hour 40 % of batches fail, and some messages are bad",
    seconds=90 * MINUTE,
    rate=_until(75 * MINUTE, lambda _: 6_000),
    bad_share=lambda now: 2e-5 if 20 * MINUTE <= now < 50 * MINUTE else 0.0,
    job=Job(max_ack_pending=300_000),
    trouble=Trouble(failing=((20 * MINUTE, 50 * MINUTE, 0.4),)),
)
LEADER = Trace(
    name="leader loss",
    about="the consumer's leader is lost twice; then counters are stale for a minute, its server gone for four",
    seconds=75 * MINUTE,
    rate=_until(60 * MINUTE, lambda now: 6_000 if now % (20 * MINUTE) < 8 * MINUTE else 14_000),
    trouble=Trouble(
        leaderless=((10 * MINUTE, 10 * MINUTE + 8), (39 * MINUTE, 39 * MINUTE + 8)),
        stale=((10 * MINUTE + 8, 11 * MINUTE), (39 * MINUTE + 8, 40 * MINUTE)),
        node_gone=((10 * MINUTE, 14 * MINUTE), (39 * MINUTE, 43 * MINUTE)),
    ),
)
GAPS = Trace(
    name="metric gaps",
    about="nobody can read anything for minutes: at zero, while full, and while it grows",
    seconds=100 * MINUTE,
    rate=_until(85 * MINUTE, _rising_and_falling),
    trouble=Trouble(
        silent=(
            (8 * MINUTE, 12 * MINUTE),
            (36 * MINUTE, 41 * MINUTE),
            (59 * MINUTE, 63 * MINUTE),
            (86 * MINUTE, 90 * MINUTE),
        )
    ),
)
TRICKLE = Trace(
    name="trickle",
    about="a message now and then, hours with hardly any, and 200 000 at once",
    seconds=4 * HOUR,
    rate=_trickle,
)
TINY = Trace(
    name="tiny messages",
    about="60 000 a second that cost next to nothing, in waves of five minutes",
    seconds=75 * MINUTE,
    rate=_until(60 * MINUTE, lambda now: 60_000 * (1 + 0.8 * math.sin(now * 2 * math.pi / 300))),
    job=Job(batch_messages=100_000, fixed_seconds=0.8, each_seconds=0.000_02),
)
WALL = Trace(
    name="shared wall",
    about="the sink takes 9 000 a second from all workers, and for 40 minutes 11 000 come",
    seconds=90 * MINUTE,
    rate=_until(60 * MINUTE, lambda now: 11_000 if 10 * MINUTE <= now < 50 * MINUTE else 3_000),
    job=Job(sink_per_second=9_000),
)

TRACES = {
    trace.name: trace for trace in (STEADY, RAMP, SPIKE, DIURNAL, SLOW, POISON, LEADER, GAPS, TRICKLE, TINY, WALL)
}
