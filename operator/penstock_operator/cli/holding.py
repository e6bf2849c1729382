"""`penstock pause`, `resume`, `drain` and `restart`: whether a queue group's workers pull, and which.

Knows that a pause on this machine has two halves: workers are told at once, over NATS; and `penstock up` is told by a
file in its state folder, which holds for workers that start later, and for its next start. In a cluster, the object is
told (cluster_holding.py).
"""

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from penstock_operator.cli import human
from penstock_operator.cli.exit_codes import FAILED
from penstock_operator.cli.groups import Group, folder_of, the_one, with_groups
from penstock_operator.cli.naming import chosen, one_group_argument
from penstock_operator.cli.output import Doing, say
from penstock_operator.cli.sources import Sources, source_options
from penstock_operator.local.home import LocalHome
from penstock_operator.plan.open_batches import held_messages
from penstock_operator.services.nats import workers

if TYPE_CHECKING:
    from kubernetes.aio.client import ApiClient

LOOK_SECONDS = 0.5
CLEAN_LOOKS = 2
"""So many looks in a row must find nothing to do: a message may be on its way while one is taken."""

timeout_option = click.option(
    "--timeout",
    "seconds",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Give up after so long, with exit code 1; by default never.",
)


@click.command
@one_group_argument
@click.option("--wait", is_flag=True, help="Wait until its workers hold nothing any more.")
@timeout_option
@source_options(needs_files=False)
@click.pass_context
def pause(context: click.Context, *, group: str, wait: bool, seconds: float | None, sources: Sources) -> None:
    """Have a queue group pull no more. What it holds is finished; what waits in the stream waits.

    It stays paused when workers or `penstock up` start again, until `penstock resume`. Workers end meanwhile; batches
    that run have their grace period to finish, and what has not is processed after the pause.

    \b
    Examples:
      penstock pause orders
      penstock pause orders --wait
    """  # noqa: D301 - click wants the control character

    async def paused(groups: Sequence[Group]) -> bool:
        of = the_one(groups)
        await _pause(of)
        return await _in_time(_until_nothing_is_held(of), seconds) if wait else True

    async def paused_there(client: "ApiClient", namespace: str | None) -> bool:
        from penstock_operator.cli import cluster_holding  # noqa: PLC0415 - a second of imports

        identity = await cluster_holding.pause(client, namespace, group)
        return await _in_time(cluster_holding.until_nothing_is_held(client, identity), seconds) if wait else True

    if not (with_groups(sources, group, paused) if sources.is_local else sources.in_cluster(paused_there)):
        say("Its workers still hold messages.")
        context.exit(FAILED)


@click.command
@one_group_argument
@source_options(needs_files=False)
def resume(*, group: str, sources: Sources) -> None:
    """Take back a pause.

    \b
    Examples:
      penstock resume orders
    """  # noqa: D301 - click wants the control character

    async def resumed(groups: Sequence[Group]) -> None:
        of = the_one(groups)
        if of.folder is not None:
            of.folder.resume()
        await workers.order(of.connection, of.name, "resume")
        if of.spec.suspend:
            say(f"{of.identity} is declared with suspend: true, which only its manifest takes back.")
        else:
            say(f"{of.identity} goes on.")

    async def resumed_there(client: "ApiClient", namespace: str | None) -> None:
        from penstock_operator.cli import cluster_holding  # noqa: PLC0415 - a second of imports

        await cluster_holding.resume(client, namespace, group)

    if sources.is_local:
        with_groups(sources, group, resumed)
    else:
        sources.in_cluster(resumed_there)


@click.command
@one_group_argument
@timeout_option
@source_options(needs_files=False)
@click.pass_context
def drain(context: click.Context, *, group: str, seconds: float | None, sources: Sources) -> None:
    """Wait until a queue group has processed everything, then pause it.

    Everything is what the stream has for it: nothing pending, nothing unacknowledged, nothing held by a worker. Whoever
    still publishes prolongs it. To have it stop at once, finishing what it holds, is `penstock pause --wait`.

    \b
    Examples:
      penstock drain orders
      penstock drain orders --timeout 600 && penstock down
    """  # noqa: D301 - click wants the control character

    async def drained(groups: Sequence[Group]) -> bool:
        of = the_one(groups)
        if of.spec.suspend or (of.folder is not None and of.folder.is_suspended):
            raise click.ClickException(f"{of.identity} is paused, and processes nothing: penstock resume {group}")
        is_empty = await _in_time(_until_everything_is_processed(of), seconds)
        if is_empty and sources.is_local:
            await _pause(of)
        return is_empty

    async def paused_there(client: "ApiClient", namespace: str | None) -> None:
        from penstock_operator.cli import cluster_holding  # noqa: PLC0415 - a second of imports

        await cluster_holding.pause(client, namespace, group)

    if not with_groups(sources, group, drained):
        say("It is not drained, and goes on.")
        context.exit(FAILED)
    if not sources.is_local:
        sources.in_cluster(paused_there)


@click.command
@one_group_argument
@source_options(needs_files=False)
def restart(*, group: str, sources: Sources) -> None:
    """Start a queue group's workers anew, as after an edit of its code; what they hold is finished or given back.

    In a cluster a few at a time, as `kubectl rollout restart` does with a Deployment. Workers whose code had failed are
    tried again.

    \b
    Examples:
      penstock restart orders
    """  # noqa: D301 - click wants the control character

    async def restarted_here(home: LocalHome) -> None:
        [identity] = chosen(home.declared, group)
        folder = folder_of(sources, identity)
        if folder is None:
            raise click.ClickException(f"{identity} is not run by `penstock up` here: nobody would start its workers.")
        if not sources.state.is_taken():
            raise click.ClickException("`penstock up` does not run: there are no workers to start again.")
        folder.restart(datetime.now(UTC).isoformat())
        say(f"{identity}: its workers are started anew.")

    async def restarted_there(client: "ApiClient", namespace: str | None) -> None:
        from penstock_operator.cli import cluster_holding  # noqa: PLC0415 - a second of imports

        await cluster_holding.restart(client, namespace, group)

    if sources.is_local:
        sources.with_home(restarted_here)
    else:
        sources.in_cluster(restarted_there)


async def _pause(group: Group) -> None:
    if group.folder is not None:
        group.folder.suspend()
    heard = await workers.order(group.connection, group.name, "pause")
    told = f"{heard} {'worker has' if heard == 1 else 'workers have'} heard it" if heard else "no worker runs"
    say(f"{group.identity} is paused: {told}.")
    if group.folder is None:
        say("Workers that start later do not know of it: for those, declare the QueueGroup with suspend: true.")


async def _in_time(work: Awaitable[None], seconds: float | None) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await work
    except TimeoutError:
        return False
    return True


async def _until_nothing_is_held(group: Group) -> None:
    with closing(Doing()) as doing:
        while True:
            statuses = await workers.statuses(group.connection, group.name)
            held = held_messages(statuses)
            if not held:
                return
            doing.tell(f"{human.number(held)} messages are still held by {human.workers(len(statuses))} … ")
            await asyncio.sleep(LOOK_SECONDS)


async def _until_everything_is_processed(group: Group) -> None:
    clean = 0
    with closing(Doing()) as doing:
        while clean < CLEAN_LOOKS:
            info = await group.jetstream.consumers.info(group.place.stream, group.place.consumer)
            statuses = await workers.statuses(group.connection, group.name)
            held = held_messages(statuses)
            clean = 0 if info.num_pending or info.num_ack_pending or held else clean + 1
            doing.tell(
                f"{human.number(info.num_pending)} pending, {human.number(info.num_ack_pending)} unacknowledged, "
                f"{human.workers(len(statuses))} … "
            )
            await asyncio.sleep(LOOK_SECONDS)
