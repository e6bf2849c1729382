"""What happens to Connections, as kopf tells it. Nothing is done about it yet but to note that it was shown."""

import logging

import kopf

from penstock_operator.constants import GROUP, VERSION
from penstock_operator.resources import CONNECTION
from penstock_operator.services.vitals import Vitals

logger = logging.getLogger(__name__)


def register(registry: kopf.OperatorRegistry, vitals: Vitals) -> None:
    """Have kopf call us. Without finalizers and annotations: an event handler leaves no trace on the object."""

    @kopf.on.event(GROUP, VERSION, CONNECTION.plural, registry=registry)
    async def shown(type: str | None, meta: kopf.Meta, **_: object) -> None:  # noqa: A002 - kopf's name for it
        resource = {"kind": CONNECTION.name, "namespace": meta.namespace, "name": meta.name}
        name = f"Connection {meta.namespace}/{meta.name}"
        if type == "DELETED":
            vitals.gone(meta["uid"])
            logger.info("%s is gone.", name, extra={"resource": resource})
        else:
            vitals.shown(meta["uid"], meta["resourceVersion"])
            logger.info("%s was seen.", name, extra={"resource": resource})
