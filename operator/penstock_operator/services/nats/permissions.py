"""What the operator's user must be allowed on the NATS side, and what for: one list, for documents, tests and doctor.

Knows subjects as servers check them. Does not know whether a user has them; servers tell, when they are missing.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from penstock_operator.services.nats.account import USER_INFO
from penstock_operator.services.nats.families import PROBE
from penstock_operator.services.nats.notices import SUBJECTS
from penstock_operator.services.nats.workers import PREFIX as WORKERS

API = "$JS.API"
PROBES = f"{PROBE}.*"


class Verb(StrEnum):
    PUBLISH = "publish"
    SUBSCRIBE = "subscribe"


class Feature(StrEnum):
    """What people may want the operator to do, or not."""

    CONNECT = "connect"
    OBSERVE = "observe"
    LIST = "list"
    STREAMS = "streams"
    CONSUMERS = "consumers"
    NOTICES = "notices"
    ACCOUNT = "account"
    WORKERS = "workers"


FEATURES: Mapping[Feature, str] = {
    Feature.CONNECT: "Any use of a Connection.",
    Feature.OBSERVE: "Any Stream or Consumer, also under `policy: Observe`.",
    Feature.LIST: "Reading many at once. Without it, each Stream and Consumer is asked for by itself at every reading.",
    Feature.STREAMS: "Streams that are managed, and the ledger and the stream of dead letters of each queue group. "
    "`DELETE` is for `deletion: Delete` and `immutableChange: Recreate`.",
    Feature.CONSUMERS: "Consumers that are managed. `DELETE` as above; `PAUSE` is for `pauseUntil`.",
    Feature.NOTICES: "Seeing at once what somebody else changed. Without it the next reading finds it, and the "
    "Connection says so.",
    Feature.ACCOUNT: "Seeing whether two Connections lead to the same streams, where names do not tell: two clusters "
    "may have one name; and servers before 2.12 name the account only if they are asked (`USER.INFO`).",
    Feature.WORKERS: "Queue groups: asking workers how they stand, and telling those that are to go. Without it no "
    "worker that holds messages is known from one that holds none, and none goes before its time is up.",
}
"""What each group of permissions is for, in Markdown."""


@dataclass(frozen=True, slots=True)
class Permission:
    """One subject that a user may publish or subscribe to."""

    feature: Feature
    verb: Verb
    subject: str


def permissions(prefix: str = API) -> Iterator[Permission]:
    """Return all, for the API behind a prefix: `$JS.DOMAIN.API` for a domain."""
    yield Permission(Feature.CONNECT, Verb.SUBSCRIBE, "_INBOX.>")
    for feature, subjects in _REQUESTS.items():
        for subject in subjects:
            yield Permission(feature, Verb.PUBLISH, f"{prefix}.{subject}")
    for subject in SUBJECTS:
        yield Permission(Feature.NOTICES, Verb.SUBSCRIBE, subject)
    yield Permission(Feature.ACCOUNT, Verb.PUBLISH, PROBES)
    yield Permission(Feature.ACCOUNT, Verb.PUBLISH, USER_INFO)
    yield Permission(Feature.WORKERS, Verb.PUBLISH, f"{WORKERS}.>")


def server_configuration(granted: Collection[Permission]) -> dict[str, dict[str, list[str]]]:
    """Return what a server's configuration says of a user who may do this, and nothing else."""
    return {
        verb.value: {"allow": [permission.subject for permission in granted if permission.verb is verb]}
        for verb in Verb
    }


_REQUESTS: Mapping[Feature, tuple[str, ...]] = {
    Feature.CONNECT: ("INFO",),
    Feature.OBSERVE: ("STREAM.INFO.*", "CONSUMER.INFO.*.*"),
    Feature.LIST: ("STREAM.LIST", "CONSUMER.LIST.*"),
    Feature.STREAMS: ("STREAM.CREATE.*", "STREAM.UPDATE.*", "STREAM.DELETE.*"),
    Feature.CONSUMERS: ("CONSUMER.CREATE.>", "CONSUMER.DELETE.*.*", "CONSUMER.PAUSE.*.*"),
}
