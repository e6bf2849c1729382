"""Applying manifests to a cluster: the API server takes them, and the operator is waited for until each is done.

Knows when an object has settled. Does not know what the operator does, nor what is printed.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubernetes.aio.client import ApiClient

from penstock_operator.cli.cluster import all_around, applied
from penstock_operator.local.manifests import Manifests
from penstock_operator.local.outcome import REASONS, Change, Outcome
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.reasons import Reason
from penstock_operator.storage.objects import Object

LOOK_SECONDS = 0.5
"""How often the cluster is asked whether the operator is done."""
UNSEEN = "The operator has not looked at it within {seconds:g} s. Is it running, and does it serve this namespace?"

Told = Callable[[Outcome], None]


async def apply_and_wait(
    client: ApiClient, manifests: Manifests, *, force: bool, seconds: float, told: Told
) -> list[Outcome]:
    """Apply, and return what became of each object: ready, or why it is not when time is up."""
    end = time.monotonic() + seconds
    before = _by_identity(await all_around(client, list(manifests.contents)))
    made, outcomes = await applied(client, manifests, dry_run=False, force=force)
    for refused in outcomes:
        told(refused)
    waited_for = [identity for identity in manifests.contents if identity in made]
    while waited_for:
        now = _by_identity(await all_around(client, waited_for))
        is_last = time.monotonic() + LOOK_SECONDS > end
        for identity in list(waited_for):
            found = now.get(identity, made[identity])
            if is_last or _is_ready(found):
                waited_for.remove(identity)
                outcomes.append(_outcome(identity, before.get(identity), made[identity], found, seconds))
                told(outcomes[-1])
        if waited_for:
            await asyncio.sleep(LOOK_SECONDS)
    return outcomes


def _by_identity(objects: list[Object]) -> dict[Identity, Object]:
    return {Declared.read(each).identity: each for each in objects}


def _ready(found: Object) -> Mapping[str, Any]:
    """Return what the operator says of this generation; nothing if it has not looked at it yet."""
    conditions: Sequence[Mapping[str, Any]] = found.get("status", {}).get("conditions") or ()
    ready = next((each for each in conditions if each["type"] == "Ready"), {})
    return ready if ready.get("observedGeneration") == found["metadata"]["generation"] else {}


def _is_ready(found: Object) -> bool:
    return _ready(found).get("status") == "True"


def _outcome(identity: Identity, before: Object | None, made: Object, found: Object, seconds: float) -> Outcome:
    ready = _ready(found)
    if not ready:
        message = UNSEEN.format(seconds=seconds)
        return Outcome(identity=identity, change=Change.UNKNOWN, reason=Reason.CONNECTING, message=message)
    reason = Reason(ready["reason"])
    if ready["status"] != "True":
        change = REASONS.get(reason, Change.REFUSED)
        return Outcome(identity=identity, change=change, reason=reason, message=ready["message"])
    change = Change.CREATE if before is None else _changed(before, made)
    return Outcome(identity=identity, change=change, reason=reason, message="")


def _changed(before: Object, made: Object) -> Change:
    same = before["metadata"]["generation"] == made["metadata"]["generation"]
    return Change.UNCHANGED if same else Change.UPDATE
