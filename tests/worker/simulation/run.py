"""One run: a world of a seed's options, half a minute of faults, and then time without faults to finish everything."""

from penstock_worker.policy.machine import events as told
from tests.jetstream.simulation.outcome import Outcome, play
from tests.jetstream.simulation.world import World
from tests.worker.simulation.checks import Checks
from tests.worker.simulation.driver import Sink
from tests.worker.simulation.faults import LOOK_SECONDS, Faults
from tests.worker.simulation.options import FAULT_SECONDS, Options, choose
from tests.worker.simulation.server import Server

PEACE_SECONDS = 1500.0
"""Most runs need a few seconds."""
DRAIN_SECONDS = 60.0
GOOD_SECONDS = 20.0
"""So often a good message comes beside hostile ones."""


def run(seed: int, *, traced: bool = False) -> Outcome:
    options, world = choose(seed), World(seed, traced=traced)
    return play(seed, options, world, lambda: _live(world, options), module="tests.worker.simulation")


def _live(world: World, options: Options) -> None:
    server, sink = Server(world, options), Sink()
    checks = Checks(server, sink, options)
    faults = Faults(world, options, server, checks)
    for first in range(0, options.messages, options.burst):
        count = min(options.burst, options.messages - first)
        world.at(world.random.random() * FAULT_SECONDS * 0.8, server.publish, count)
    for name in options.faults:
        world.at(world.random.random() * FAULT_SECONDS * 0.8, faults.happen, name)
    for _ in range(options.workers):
        faults.hire()
    world.after(LOOK_SECONDS, faults.look)
    world.run(FAULT_SECONDS)
    faults.heal()
    if options.hostile:  # their circuit closes only if something else succeeds
        for number in range(int(PEACE_SECONDS / GOOD_SECONDS)):
            world.after(number * GOOD_SECONDS, _publish_good, server, checks)
    world.run(FAULT_SECONDS + PEACE_SECONDS, unless=lambda: checks.is_done)
    checks.at_the_end()
    for worker in faults.workers:
        worker.engine.tell(told.Drain())
    faults.workers.clear()
    world.run(world.now + DRAIN_SECONDS, unless=lambda: not any(engine.is_alive for engine in checks.engines))
    checks.drained()


def _publish_good(server: Server, checks: Checks) -> None:
    if not checks.is_done:
        server.publish(1)
