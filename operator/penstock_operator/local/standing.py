"""How Connections and Streams stand, from the statuses that the reconciler wrote: for whoever looks at a local home.

Pure. Knows conditions and live facts. Does not know how they are drawn.
"""

from collections.abc import Iterable, Iterator

from penstock_operator.local.live_home import LiveHome
from penstock_operator.local.snapshot import ConnectionShown, Level, StreamShown
from penstock_operator.local.state import ConnectionRecord
from penstock_operator.plan.declared import Identity
from penstock_operator.resources import CONNECTION, StreamSpec


def connections_shown(records: Iterable[ConnectionRecord], home: LiveHome) -> Iterator[ConnectionShown]:
    for record in records:
        state, level, message = _standing(Identity(CONNECTION.name, record.namespace, record.name), home)
        yield ConnectionShown(
            namespace=record.namespace,
            name=record.name,
            url=", ".join(record.servers),
            is_embedded=record.embedded,
            state=state,
            level=level,
            message=message,
        )


def streams_shown(home: LiveHome) -> Iterator[StreamShown]:
    for identity, declared in home.declared.items():
        if not isinstance(declared.spec, StreamSpec):
            continue
        state, level, message = _standing(identity, home)
        yield StreamShown(
            namespace=identity.namespace,
            name=identity.name,
            stream=declared.spec.name or identity.name,
            messages=declared.status.get("messages"),
            bytes=declared.status.get("bytes"),
            state=state,
            level=level,
            message=message,
        )


def _standing(identity: Identity, home: LiveHome) -> tuple[str, Level, str]:
    ready = home.ready(identity)
    if ready is None:
        return "Starting", Level.INFO, ""
    if ready["status"] == "True":
        return ("Connected" if identity.kind == CONNECTION.name else "Ready"), Level.INFO, ""
    return str(ready["reason"]), Level.WARNING, str(ready["message"])
