"""All queue groups of a cluster: one step for each when something is to be done, and the looks in between.

    ground → code → streams → objects → workers that come and go → status

Any of these may be the last that this process does: whoever comes next begins anew, from what is there. Knows the
order. Decides nothing (plan does). Called by the reconciler, and run beside it.
"""

import asyncio
from collections.abc import Callable, Sequence

from penstock_operator.plan.conditions import is_news
from penstock_operator.plan.decision import Next, Note
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.dependencies import depends_on
from penstock_operator.plan.fleet import Situation, shrink, standing, stopped_by
from penstock_operator.plan.group_limits import group_limits
from penstock_operator.plan.group_streams import LEDGER_STREAM
from penstock_operator.plan.message_loss import written_loss
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Place, Waiting
from penstock_operator.plan.workload import Equipment, Workload, workload
from penstock_operator.resources.queue_group_scaling import ScalingMode
from penstock_operator.resources.scalars import seconds
from penstock_operator.services.group_streams import DELETED_SECONDS
from penstock_operator.services.reading import PERIOD_SECONDS
from penstock_operator.services.workforce.codes import Codes
from penstock_operator.services.workforce.crew import Crew, Crews, Post
from penstock_operator.services.workforce.fleets import ConfigMapName, Fleets, Label
from penstock_operator.services.workforce.grounds import Ground, ground
from penstock_operator.services.workforce.looking import Lookout
from penstock_operator.services.workforce.making import Maker
from penstock_operator.services.workforce.moving import Mover
from penstock_operator.services.workforce.roster import Roster, label
from penstock_operator.services.workforce.watches import watch_all
from penstock_operator.services.workshop import Workshop
from penstock_operator.storage.children import Children

UNTIL_LISTED_SECONDS = 0.5
"""Until a group is looked at again of which it is not known yet what there is."""
LOOK_AGAIN_SECONDS = 5.0
"""Until a group is looked at again that met something which passes by itself."""
BEING_MADE = frozenset({Reason.CONSUMER_NOT_READY, Reason.STREAM_NOT_READY})
TIMES_A_BATCH = 2
"""So many deadlines of a batch a worker that is to go may take: for what runs, and what waits behind it."""


class Workforce:
    """Used from one event loop, as everything here."""

    def __init__(
        self,
        children: Children,
        equipment: Equipment,
        clock: Callable[[], float],
        *,
        period_seconds: float = PERIOD_SECONDS,
    ) -> None:
        self._children = children
        self._equipment = equipment
        self._clock = clock
        self._fleets = Fleets()
        self._roster = Roster(self._fleets)
        self._codes = Codes(children, self._fleets)
        self._crews: Crews = {}
        self._groups: dict[Label, Identity] = {}
        """Whom a label means, of all that a step was taken for."""
        self._lookout = Lookout(self._crews, self._roster, clock, period_seconds)

    @property
    def obstacle(self) -> str:
        """Why workers could never be watched; nothing if they could, or were not tried to be."""
        return self._fleets.obstacle

    async def run(self, shop: Workshop, namespaces: Sequence[str]) -> None:
        """Watch, and look, until cancelled."""
        shop.noticed.append(lambda place: self._noticed(shop, place))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(watch_all(namespaces, self._fleets, lambda whom: self._wake(shop, whom)))
            tasks.create_task(self._lookout.run(shop))

    async def look_after(self, shop: Workshop, declared: Declared) -> Next:
        """Take one step for a group, and tell when to take the next."""
        group = declared.identity
        if declared.deleting:  # its objects go with it, and its workers finish what they hold
            self._forget(group)
            return Next.WHEN_IT_CHANGES
        self._groups[label(group)] = group
        if self._fleets.is_filling:
            shop.queue.add_later(group, UNTIL_LISTED_SECONDS)
            return Next.WHEN_IT_CHANGES
        if self._fleets.trouble and not self._fleets.obstacle:  # which passes
            shop.queue.add_later(group, LOOK_AGAIN_SECONDS)
            return Next.WHEN_IT_CHANGES
        found = await self._found(shop, declared)
        if isinstance(found, Waiting):  # its workers stay as they are until it is clear what they are to be
            self._crews.pop(group, None)
            if _passes_soon(shop, declared, found):
                shop.queue.add_later(group, LOOK_AGAIN_SECONDS)
            else:
                await self._say(shop, declared, found, None)
            return Next.WHEN_IT_CHANGES
        base, wanted = found
        crew = self._crew(declared, base, wanted)
        notes, trouble = await self._keep_streams(shop, group, crew)
        if trouble is not None:  # no worker could do anything, and those that there are say so
            await self._say(shop, declared, trouble, crew, notes)
            return Next.AFTER_BACKOFF
        refused = await self._maker(shop).make(declared, wanted, self._fleets.fleet(label(group)), crew.desired or 0)
        if refused is None:
            crew.stepped(self._clock())
            await self._move(shop, group, crew, wanted)
        await self._say(shop, declared, refused or wanted, crew, notes)
        return Next.WHEN_IT_CHANGES if refused is None else Next.AFTER_BACKOFF

    async def _found(self, shop: Workshop, declared: Declared) -> tuple[Ground, Workload] | Waiting:
        """Find what a group stands on, and what is to be made for it."""
        if self._fleets.obstacle:
            return Waiting(Reason.REFUSED, self._fleets.obstacle)
        base = ground(declared, shop.world.objects)
        if isinstance(base, Waiting):
            return base
        reference = base.spec.handler.config_map_ref
        code = await self._codes.code(declared.identity, reference.name if reference else None)
        wanted = workload(declared, base.place, base.connection, code, self._equipment)
        return wanted if isinstance(wanted, Waiting) else (base, wanted)

    def _crew(self, declared: Declared, base: Ground, wanted: Workload) -> Crew:
        """Have its crew know what it is to be now."""
        spec, group = base.spec, declared.identity
        is_stopped = bool(stopped_by(wanted.print, self._roster.pods(label(group)), declared.status))
        is_at_rest = spec.suspend or is_stopped
        is_decided = is_at_rest or spec.scaling.mode is ScalingMode.EXTERNAL
        post = Post(
            place=base.place,
            label=label(group),
            limits=None if is_decided else group_limits(spec, base.consumer),
            workers=0 if is_at_rest else spec.replicas or 0,
            patience=TIMES_A_BATCH * seconds(spec.batch.deadline),
        )
        crew = self._crews.setdefault(group, Crew(post, loss=written_loss(declared.status)))
        crew.post = post
        return crew

    async def _keep_streams(
        self, shop: Workshop, group: Identity, crew: Crew
    ) -> tuple[tuple[Note, ...], Waiting | None]:
        """Have the streams on the server that the group needs and nobody declares."""
        link = shop.links.link(crew.post.place.connection)
        if link is None or not crew.needs_look_at_streams(self._clock()):
            return (), None
        kept = await crew.streams.keep(link, crew.post.place, self._clock(), shop.leadership.held)
        crew.streams_looked_at = self._clock() if kept.is_over else None
        if not kept.is_over and kept.trouble is None:
            shop.queue.add_later(group, DELETED_SECONDS)
        return kept.notes, kept.trouble

    def _noticed(self, shop: Workshop, place: Place) -> None:
        """Have those groups look that need a stream which somebody else has changed."""
        if place.consumer:
            return
        for group, crew in self._crews.items():
            if place.stream in (LEDGER_STREAM, crew.post.place.dead_letter_stream):
                crew.streams_looked_at = None
                shop.queue.add(group)

    async def _move(self, shop: Workshop, group: Identity, crew: Crew, wanted: Workload) -> None:
        """Have workers come and go, once it is known how many there are to be."""
        deployment = self._fleets.fleet(crew.post.label).deployment(group.name)
        if deployment is None or crew.desired is None:
            return
        now = self._clock()
        moves = shrink(
            int(deployment["spec"]["replicas"]),
            crew.desired,
            self._roster.pods(crew.post.label),
            crew.statuses,
            revision=wanted.print,
            late=crew.late(now),
        )
        crew.told_to_retire(moves.retire, now)
        link = shop.links.link(crew.post.place.connection)
        await Mover(self._children, self._maker(shop), shop.leadership).move(group, link, deployment, moves)

    async def _say(
        self,
        shop: Workshop,
        declared: Declared,
        made: Workload | Waiting,
        crew: Crew | None,
        of_streams: Sequence[Note] = (),
    ) -> None:
        group, reading = declared.identity, crew.reading if crew else None
        stands = standing(
            Situation(
                declared=declared,
                obstacle=made if isinstance(made, Waiting) else None,
                deployment=self._fleets.fleet(label(group)).deployment(group.name),
                pods=self._roster.pods(label(group)),
                statuses=crew.statuses if crew else {},
                is_looked_at=crew is not None and crew.looked_at is not None,
                pending=reading.pending if reading else None,
                ack_pending=reading.ack_pending if reading else None,
                loss=crew.loss if crew else written_loss(declared.status),
                decision=crew.decision if crew else None,
                desired=crew.desired if crew else None,
                selector=made.selector if isinstance(made, Workload) else "",
                revision=made.print if isinstance(made, Workload) else "",
            )
        )
        notes = stands.notes if is_news(declared, stands.verdicts) else ()
        await shop.say(declared, stands.verdicts, stands.facts, (*of_streams, *notes))

    def _maker(self, shop: Workshop) -> Maker:
        return Maker(self._children, self._fleets, shop.leadership)

    def _wake(self, shop: Workshop, whom: Label | ConfigMapName) -> None:
        """Have those groups looked at of which a watch tells something new."""
        if isinstance(whom, ConfigMapName):
            for user in self._codes.users(whom):
                shop.queue.add(user)
        elif whom in self._groups:
            shop.queue.add(self._groups[whom])

    def _forget(self, group: Identity) -> None:
        self._crews.pop(group, None)
        self._codes.forget(group)
        self._groups.pop(label(group), None)


def _passes_soon(shop: Workshop, declared: Declared, obstacle: Waiting) -> bool:
    """Tell whether what it waits for is being made at this moment: then there is nothing to say before that."""
    needs = depends_on(declared, shop.world.objects)
    return obstacle.reason in BEING_MADE and any(shop.queue.is_expected(need) for need in needs)
