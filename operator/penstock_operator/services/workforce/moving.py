"""Has workers come and go as plan.fleet decides: told to retire or called back, marked, and then fewer or more.

Knows the order: whoever is to go is told first, and marked once it holds nothing; only then are there fewer. Every
write, and every order, happens while this replica leads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock_operator.plan.declared import Identity
from penstock_operator.plan.fleet import FIRST_TO_GO, Moves
from penstock_operator.plan.worker_settings import group_name
from penstock_operator.services.leading import Leadership
from penstock_operator.services.links import Link
from penstock_operator.services.workforce.making import Maker
from penstock_operator.storage.children import Children

RETIRE, RECALL = "retire", "recall"
"""What a worker is told, as its micro service has it."""


@dataclass(frozen=True)
class Mover:
    children: Children
    maker: Maker
    leadership: Leadership

    async def move(self, group: Identity, link: Link | None, deployment: Mapping[str, Any], moves: Moves) -> None:
        """Do what was decided. An order that is not heard is given again at the next look."""
        if link is not None:
            await self._order(group, link, moves.recall, RECALL)
        await self._mark(group, moves.unmark, None)
        if link is not None:
            await self._order(group, link, moves.retire, RETIRE)
        await self._mark(group, moves.mark, FIRST_TO_GO)
        if moves.replicas is not None:
            await self.maker.scale(deployment, moves.replicas)

    async def _mark(self, group: Identity, pods: Sequence[str], cost: int | None) -> None:
        for pod in pods:
            async with self.leadership.held():
                await self.children.mark(group.namespace, pod, cost)

    async def _order(self, group: Identity, link: Link, workers: Sequence[str], order: str) -> None:
        for worker in workers:
            async with self.leadership.held():
                await link.tell_worker(group_name(group), worker, order)
