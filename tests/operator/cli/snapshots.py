"""Snapshots for tests of the screen; `-m tests.operator.cli.snapshots [SECONDS [FRAMES]]` shows them."""

import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

from penstock_operator.cli.terminal import showing
from penstock_operator.local.snapshot import (
    ConnectionShown,
    Event,
    GroupShown,
    Level,
    Phase,
    Snapshot,
    StreamShown,
    WorkersShown,
)

STARTED = datetime(2026, 1, 31, 12, tzinfo=UTC)
NOW = STARTED + timedelta(seconds=83)
ORDERS = GroupShown(
    namespace="default",
    name="orders",
    stream="ORDERS",
    consumer="etl",
    phase=Phase.WORKING,
    pending=120_412,
    ack_pending=20_000,
    in_flight=2,
    verdicts={"data": 1, "ok": 41},
    messages_per_second=43_120.4,
    settled=1_203_000,
    workers=WorkersShown(ready=2, running=3, desired=3),
    dead_letters=3,
    scaling="pending 120,412 (2 batches), held 20,000: 2 → 3",
)
BROKEN = GroupShown(
    namespace="default",
    name="enrich",
    stream="ORDERS",
    consumer="enrich",
    phase=Phase.FAILED,
    message="enrich.py:12: NameError: name 'custmers' is not defined. Correct it: it is read again when it is saved.",
)
EVENTS = (
    Event(STARTED, Level.INFO, "Connection default/nats", "A NATS server was started."),
    Event(STARTED + timedelta(seconds=80), Level.WARNING, "QueueGroup default/orders", "Worker 1 was killed."),
    Event(STARTED + timedelta(seconds=81), Level.ERROR, "QueueGroup default/enrich", "The code is wrong."),
)
SNAPSHOT = Snapshot(
    at=NOW,
    started=STARTED,
    connections=(
        ConnectionShown(
            namespace="default", name="nats", url="nats://127.0.0.1:4222", is_embedded=True, state="Connected"
        ),
    ),
    streams=(
        StreamShown(
            namespace="default", name="orders", stream="ORDERS", messages=120_412, bytes=22_334_455, state="Ready"
        ),
        StreamShown(namespace="default", name="orders-dead", stream="dead", messages=3, bytes=2048, state="Ready"),
    ),
    groups=(ORDERS, BROKEN),
    events=EVENTS,
)


def show_them(seconds: float, frames: int | None) -> None:
    """Show a working group: so many snapshots, or until it is interrupted."""
    with showing(sys.stdout) as show:
        for number in count() if frames is None else range(frames):
            at, settled = NOW + timedelta(seconds=number), ORDERS.settled + 43_120 * number
            show(replace(SNAPSHOT, at=at, groups=(replace(ORDERS, settled=settled), BROKEN)))
            time.sleep(seconds)  # calm: the interval between frames, for a person who watches


if __name__ == "__main__":
    arguments = [float(each) for each in sys.argv[1:]]
    show_them(arguments[0] if arguments else 1, int(arguments[1]) if len(arguments) > 1 else None)
