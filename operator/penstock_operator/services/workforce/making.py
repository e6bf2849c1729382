"""Makes the objects of a group as they are to be: applied where the API server has something else, or nothing.

Every write happens while this replica leads. Knows in which order a Deployment's two managers write it, and that an
object which somebody else owns is left alone. Does not know what the objects are for (plan.workload).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock_operator.plan.declared import Declared
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Waiting
from penstock_operator.plan.workload import Manifest, Workload, missing_from
from penstock_operator.services.leading import Leadership
from penstock_operator.services.workforce.fleets import Fleet, Fleets
from penstock_operator.storage.children import BY_KIND, Children, is_scaled_apart
from penstock_operator.storage.errors import ObjectChangedError, RefusedError

Object = Mapping[str, Any]
FORBIDDEN = 403
CHANGED = {404, 409}
"""Gone, or another than the one that was meant."""
INVALID = {400, 422}
MISTYPED = "unable to convert unstructured object"
"""How a 500 begins that an API server answers to an apply with a field of another type than it should have."""


@dataclass(frozen=True)
class Maker:
    children: Children
    fleets: Fleets
    leadership: Leadership

    async def make(self, group: Declared, wanted: Workload, fleet: Fleet, replicas: int) -> Waiting | None:
        """Have all objects as they are wanted, a new Deployment with so many replicas. Return what is refused."""
        try:
            for manifest in wanted.others:
                await self._make(group, manifest, fleet)
            await self._make(group, wanted.deployment, fleet, replicas)
        except RefusedError as refusal:
            if refusal.code in CHANGED:
                raise ObjectChangedError(f"What was made for {group.identity} is not what it was.") from refusal
            obstacle = _obstacle(refusal)
            if obstacle is None:
                raise
            return obstacle
        except _TakenError as problem:
            return Waiting(Reason.NAME_TAKEN, str(problem))
        return None

    async def _make(self, group: Declared, manifest: Manifest, fleet: Fleet, replicas: int | None = None) -> None:
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        known = fleet.made(kind, name)
        if known is None:
            known = await self.children.read(BY_KIND[kind], group.identity.namespace, name)
        if known is not None and not _is_owned(known, group):
            raise _TakenError(
                f"There is a {kind} {name} in the namespace that is not Penstock's: rename or delete one of the two."
            )
        if known is None:
            await self._begin(manifest, replicas)
        elif missing_from(known, manifest):
            if replicas is not None and not is_scaled_apart(known):
                await self.scale(known, known["spec"]["replicas"])
            await self._apply(manifest)

    async def scale(self, deployment: Object, replicas: int) -> None:
        """Have a Deployment have so many pods."""
        async with self.leadership.held():
            made = await self.children.scale(deployment, replicas)
        self._put(made)

    async def _begin(self, manifest: Manifest, replicas: int | None) -> None:
        """Make it. A Deployment's number has to be said with it, and becomes the scaler's own right after."""
        made = await self._apply(manifest, replicas)
        if replicas is not None:
            await self.scale(made, replicas)

    async def _apply(self, manifest: Manifest, replicas: int | None = None) -> Object:
        async with self.leadership.held():
            made = await self.children.apply(manifest, replicas=replicas)
        self._put(made)
        return made

    def _put(self, made: Object) -> None:
        self.fleets.put(BY_KIND[made["kind"]], made)


class _TakenError(Exception):
    """An object of that name is there, and is not ours."""


def _is_owned(known: Object, group: Declared) -> bool:
    owners = known["metadata"].get("ownerReferences") or ()
    return any(owner.get("uid") == group.uid for owner in owners)


def _obstacle(refusal: RefusedError) -> Waiting | None:
    """Say what the API server has against an object, in its own words; None if it is the server that is at fault."""
    if refusal.code == FORBIDDEN:
        return Waiting(Reason.PODS_REFUSED, str(refusal))
    if refusal.code not in INVALID and MISTYPED not in str(refusal):
        return None
    told = " ".join(refusal.causes) or str(refusal)
    return Waiting(Reason.TEMPLATE_REFUSED, f"The API server refuses what the template asks for: {told}")
