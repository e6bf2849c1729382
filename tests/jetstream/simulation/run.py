"""One run: a world made of what a seed chooses, forty seconds of faults, and then calm in which all must be done."""

from penstock_jetstream.core.consume import Consume
from penstock_jetstream.core.options import ConsumeOptions
from tests.jetstream.simulation.checks import LOOK_SECONDS, Checks
from tests.jetstream.simulation.client import Client
from tests.jetstream.simulation.consume_client import ConsumeClient, MachineFactory
from tests.jetstream.simulation.faults import Faults
from tests.jetstream.simulation.fetch_client import FetchClient
from tests.jetstream.simulation.options import FAULT_SECONDS, Options, choose
from tests.jetstream.simulation.outcome import Outcome, play
from tests.jetstream.simulation.server import Server
from tests.jetstream.simulation.world import World

PEACE_SECONDS = 400.0
"""A run that is not done by then never will be; most need a few seconds."""
DRAIN_SECONDS = 30.0


def plain(options: ConsumeOptions) -> Consume:
    return Consume(options, stream="S", consumer="c")


def run(seed: int, *, make: MachineFactory = plain, options: Options | None = None, traced: bool = False) -> Outcome:
    """Run one seed; `make` may make machines that are not right, to see whether that is noticed."""
    options = options or choose(seed)
    world = World(seed, traced=traced)
    return play(seed, options, world, lambda: _live(world, options, make), module="tests.jetstream.simulation")


def _live(world: World, options: Options, make: MachineFactory) -> None:
    server = Server(world, options)
    checks = Checks(world, server, options)
    clients = [_client(world, server, checks, make, number=number) for number in range(len(options.clients))]
    faults = Faults(world, server, clients)
    _plan(world, options, server, faults)
    for client in clients:
        client.start()
    world.after(LOOK_SECONDS, checks.look)
    world.run(FAULT_SECONDS)
    faults.heal()
    world.run(FAULT_SECONDS + PEACE_SECONDS, unless=checks.finished)
    checks.check_all_done(*(client.processed for client in clients if isinstance(client, FetchClient)))
    for client in clients:
        client.drain()
    world.run(world.now + DRAIN_SECONDS, unless=checks.all_ended)
    checks.check_drained()


def _client(world: World, server: Server, checks: Checks, make: MachineFactory, *, number: int) -> Client:
    options, name = server.options.clients[number], f"client {number + 1}"
    if options.kind == "fetch":
        return FetchClient(world, server, options, name=name)
    client = ConsumeClient(world, server, options, watcher=checks, make=make, name=name)
    checks.watch(client)
    return client


def _plan(world: World, options: Options, server: Server, faults: Faults) -> None:
    """Put what will happen into the future: bursts of messages, and faults."""
    chance = world.random
    for _ in range(0, options.messages, options.burst):
        world.at(chance.random() * FAULT_SECONDS, _publish, world, options, server)
    for name in options.faults:
        world.at(chance.random() * FAULT_SECONDS * 0.8, faults.happen, name)


def _publish(world: World, options: Options, server: Server) -> None:
    for _ in range(options.burst):
        server.publish(world.random.choice(options.sizes))
