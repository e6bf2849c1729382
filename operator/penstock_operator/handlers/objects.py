"""What happens to objects of our kinds, as kopf tells it: handed on, to the vital signs and to the reconciler.

Without finalizers and annotations: an event handler leaves no trace on the object. Knows kopf's events.
"""

from typing import Any

import kopf

from penstock_operator.constants import GROUP, VERSION
from penstock_operator.plan.declared import Identity
from penstock_operator.resources import KINDS, Kind
from penstock_operator.services.reconciler import Reconciler
from penstock_operator.services.vitals import Vitals


def register(registry: kopf.OperatorRegistry, vitals: Vitals, reconciler: Reconciler) -> None:
    """Have kopf call us for each of our kinds."""
    for kind in KINDS:
        _register(kind, registry, vitals, reconciler)


def _register(kind: Kind, registry: kopf.OperatorRegistry, vitals: Vitals, reconciler: Reconciler) -> None:
    @kopf.on.event(GROUP, VERSION, kind.plural, registry=registry)
    async def hand_on(event: kopf.RawEvent, **_: object) -> None:
        manifest: Any = event["object"]
        metadata = manifest["metadata"]
        if event["type"] == "DELETED":
            vitals.gone(metadata["uid"])
            reconciler.gone(Identity(kind.name, metadata["namespace"], metadata["name"]), metadata["uid"])
        else:
            vitals.shown(metadata["uid"], metadata["resourceVersion"])
            reconciler.shown(manifest)
