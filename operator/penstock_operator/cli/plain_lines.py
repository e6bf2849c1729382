"""What `penstock up` says where no terminal shows a screen: a line for each event, and now and then how groups stand.

Pure. Remembers what was said already. Does not know where the lines go (terminal.py).
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo

from penstock_operator.cli import human
from penstock_operator.cli.screen_sections import batches, rate, told
from penstock_operator.cli.widths import printable
from penstock_operator.local.snapshot import Event, GroupShown, Snapshot
from penstock_operator.plan.message_loss import lost

PERIOD = timedelta(seconds=5)
"""How often it is said how a group stands, if that has changed."""


@dataclass(slots=True)
class PlainLines:
    """What was said so far."""

    zone: tzinfo | None = None
    """In which times are told; None: this machine's."""
    last_event: Event | None = None
    state: str = ""
    groups: dict[tuple[str, str], str] = field(default_factory=dict)
    """What was said last of each."""
    told_at: datetime | None = None

    def of(self, snapshot: Snapshot) -> list[str]:
        """Return what there is to say now that was not said before."""
        lines = [f"{self._time(event.at)} {printable(told(event))}" for event in self._news(snapshot.events)]
        if snapshot.state != self.state:
            self.state = snapshot.state
            lines += [f"{self._time(snapshot.at)} {printable(snapshot.state)}"] if snapshot.state else []
        if self.told_at is None or snapshot.at - self.told_at >= PERIOD:
            self.told_at = snapshot.at
            lines += self.how_groups_stand(snapshot)
        return lines

    def how_groups_stand(self, snapshot: Snapshot) -> list[str]:
        """Return a line for each group of which there is something new to say, however long ago the last one was."""
        lines = []
        for group in snapshot.groups:
            identity, sentence = (group.namespace, group.name), summary(group)
            if self.groups.get(identity) != sentence:
                self.groups[identity] = sentence
                lines.append(f"{self._time(snapshot.at)} {sentence}")
        return lines

    def _news(self, events: tuple[Event, ...]) -> tuple[Event, ...]:
        """Return the events after the last one told; all of them if that is so long ago that it is not there."""
        known = events.index(self.last_event) + 1 if self.last_event in events else 0
        self.last_event = events[-1] if events else self.last_event
        return events[known:]

    def _time(self, at: datetime) -> str:
        return f"{at.astimezone(self.zone):%Y-%m-%d %H:%M:%S}"


def summary(group: GroupShown) -> str:
    """Return how a group stands, in one line."""
    ended = ", ".join(words for _, words in batches(group)) or "none"
    facts = [
        f"{group.phase}",
        f"{group.workers.ready} of {group.workers.desired} workers",
        f"{human.number(group.pending)} pending",
        f"{human.number(group.ack_pending)} unacked",
        f"{group.in_flight} in flight",
        f"{rate(group.messages_per_second)} msg/s",
        f"{human.number(group.settled)} settled",
        f"{human.number(group.dead_letters)} dead",
        *([f"{human.number(lost(group.loss))} lost"] if lost(group.loss) else []),
        f"batches: {ended}",
    ]
    why = f". {group.message}" if group.message else ""
    return printable(f"QueueGroup {group.namespace}/{group.name}: {', '.join(facts)}{why}")
