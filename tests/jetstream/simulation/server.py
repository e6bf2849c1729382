"""A server's consumer, as far as a client that pulls can tell it from the real one (test_honesty.py compares them).

It decides in the order of nats-server: which request is refused and how, which of those that wait gets the next
message, when a heartbeat, an expiry or a redelivery is due.
"""

import json
from collections import deque
from typing import Any, Protocol

from tests.jetstream.simulation.options import Options
from tests.jetstream.simulation.world import World

NANOSECONDS = 1_000_000_000
QUORUM_SECONDS = 0.005


class Peer(Protocol):
    """The server's side of a link to one client."""

    lost_silently: int
    """The newest of its requests that was lost without a word."""

    def listens(self, number: int) -> bool:
        """Tell whether the server believes that somebody listens where the answers to that request go."""
        ...

    def send_status(self, number: int, text: str, left: tuple[int, int] | None = None) -> None: ...

    def send_message(self, number: int, sequence: int, size_bytes: int, pin: str) -> None: ...


class Waiting:
    """A request that waits."""

    def __init__(self, peer: Peer, number: int, body: dict[str, Any], now: float) -> None:
        self.peer = peer
        self.number = number
        self.body = body
        self.left_messages: int = body.get("batch", 1)
        self.left_bytes: int = body.get("max_bytes", 0)
        self.delivered = 0
        self.no_wait: bool = body.get("no_wait", False)
        expires = body.get("expires", 0)
        self.expires_at = now + expires / NANOSECONDS if expires else None
        self.heartbeat_seconds = body.get("idle_heartbeat", 0) / NANOSECONDS
        self.heartbeat_at = now + self.heartbeat_seconds if self.heartbeat_seconds else None
        self.pin: str = body.get("id", "")
        self.priority: int = body.get("priority", 0)

    @property
    def left(self) -> tuple[int, int]:
        return (self.left_messages, self.left_bytes)


class Server:
    """One stream and one durable pull consumer of it."""

    def __init__(self, world: World, options: Options) -> None:
        self.world = world
        self.options = options
        self.sizes: list[int] = [0]
        """Of each message, by sequence, which begin at 1."""
        self.acknowledged: set[int] = set()
        self.exists = True
        self.led = True
        self.deaf = False
        """Requests are lost without an answer: no server leads, and none has noticed."""
        self.push_based = False
        self.paused_until = 0.0
        self.max_batch = self.max_expires_seconds = self.max_request_bytes = 0
        self.max_waiting = options.max_waiting
        self.next_sequence = 1
        self.unacknowledged: dict[int, float] = {}
        """When the answer to each is due; in order, as each gets the same time."""
        self.redeliveries: deque[int] = deque()
        self.waiting: list[Waiting] = []
        self.pin = ""
        self.disturbed_at = 0.0
        """When it last failed its clients."""
        self.progress = 0
        """How many messages were sent."""
        self._pins = 0
        self._pin_expires_at = 0.0
        self._in_quorum: list[tuple[Peer, int, int, str]] = []
        self._timer_at: float | None = None
        self._ack_timer_at: float | None = None

    # What clients send

    def publish(self, size_bytes: int) -> None:
        self.sizes.append(size_bytes)
        self.deliver()

    def acknowledge(self, sequence: int) -> None:
        if not self.available or sequence not in self.unacknowledged:
            return
        del self.unacknowledged[sequence]
        self.acknowledged.add(sequence)
        self.deliver()

    def pull(self, peer: Peer, number: int, raw_body: bytes) -> None:
        if self.deaf:
            peer.lost_silently = number
            return
        if not self.exists or not self.led:
            peer.send_status(number, "503 ")
            return
        refusal = self._refusal(json.loads(raw_body))
        if refusal:
            peer.send_status(number, refusal)
            return
        request = Waiting(peer, number, json.loads(raw_body), self.world.now)
        if len(self.waiting) >= self.max_waiting:
            self._process_waiting(end_of_stream=False)
        if request.no_wait and not self._may_take(request):
            return
        if len(self.waiting) >= self.max_waiting:
            if not request.heartbeat_seconds:
                peer.send_status(number, "409 Exceeded MaxWaiting")
            peer.lost_silently = number
            return
        self._queue(request)
        self.deliver()

    def _refusal(self, body: dict[str, Any]) -> str:  # noqa: PLR0911 - one return per refusal, in the server's order
        if self.push_based:
            return "409 Consumer is push based"
        if body.get("idle_heartbeat", 0) * 2 > body.get("expires", 0):
            return "400 Bad Request - heartbeat value too large"
        if 0 < self.max_batch < body.get("batch", 1):
            return f"409 Exceeded MaxRequestBatch of {self.max_batch}"
        if 0 < self.max_expires_seconds < body.get("expires", 0) / NANOSECONDS:
            return f"409 Exceeded MaxRequestExpires of {self.max_expires_seconds}s"
        if 0 < self.max_request_bytes < body.get("max_bytes", 0):
            return f"409 Exceeded MaxRequestMaxBytes of {self.max_request_bytes}"
        if self.options.policy != "overflow" and (body.get("min_pending") or body.get("min_ack_pending")):
            return "400 Bad Request - Not a Overflow Priority consumer"
        if self.options.policy != "pinned_client" and body.get("id"):
            return "400 Bad Request - Not a Pinned Client Priority consumer"
        if not 0 <= body.get("priority", 0) <= 9:
            return "400 Bad Request - Priority must be between 0 and 9"
        return self._group_refusal(body) if self.options.policy else ""

    def _group_refusal(self, body: dict[str, Any]) -> str:
        if not body.get("group"):
            return "400 Bad Request - Priority Group missing"
        if body["group"] != "jobs":
            return "400 Bad Request - Invalid Priority Group"
        if self.pin and body.get("id") == self.pin:
            self._renew_pin()
        elif self.pin and body.get("id"):
            return "423 Nats-Pin-Id mismatch"
        return ""

    def _may_take(self, request: Waiting) -> bool:
        """Tell whether a request that does not wait may stay; if not it has been answered."""
        pending = self.pending + len(self.redeliveries)
        if not pending and request.expires_at is None:
            request.peer.send_status(request.number, "404 No Messages")
            return False
        if pending:
            self._process_waiting(end_of_stream=False)
            if pending < sum(other.left_messages for other in self.waiting):
                request.peer.send_status(request.number, "408 Requests Pending")
                return False
        return True

    def _queue(self, request: Waiting) -> None:
        if self.options.policy != "prioritized":
            self.waiting.append(request)
            return
        behind = [place for place, other in enumerate(self.waiting) if other.priority > request.priority]
        self.waiting.insert(behind[0] if behind else len(self.waiting), request)

    # What is delivered

    @property
    def pending(self) -> int:
        """Return how many messages were never delivered."""
        return len(self.sizes) - self.next_sequence

    @property
    def available(self) -> bool:
        return self.exists and self.led and not self.deaf

    @property
    def paused(self) -> bool:
        return self.world.now < self.paused_until

    def has_work(self) -> bool:
        """Tell whether a request that came now would get a message."""
        if not self.available or self.push_based or self.paused:
            return False
        if any(sequence in self.unacknowledged for sequence in self.redeliveries):
            return True
        return self.pending > 0 and len(self.unacknowledged) < self.options.max_ack_pending

    def deliver(self) -> None:
        """Send what can be sent, then look after the requests that go on waiting."""
        if not self.available:
            return
        blocked = False
        while self.waiting and not self.paused:
            sequence, blocked = self._next_message()
            if not sequence:
                break
            request = self._next_waiting(self.sizes[sequence])
            if request is None:
                break
            self._send(request, sequence)
        self._process_waiting(end_of_stream=not blocked)
        self._set_timer()

    def _next_message(self) -> tuple[int, bool]:
        """Return the next message, 0 for none; and whether that is for too many unacknowledged ones."""
        while self.redeliveries:
            if self.redeliveries[0] in self.unacknowledged:
                return self.redeliveries[0], False
            self.redeliveries.popleft()
        if len(self.unacknowledged) >= self.options.max_ack_pending:
            return 0, True
        return (self.next_sequence, False) if self.pending > 0 else (0, False)

    def _next_waiting(self, size_bytes: int) -> Waiting | None:
        """Return the request that gets a message of that size, with the message taken from it."""
        cycled = 0
        while self.waiting and cycled < len(self.waiting):
            request = self.waiting[0]
            if request.expires_at is not None and self.world.now >= request.expires_at:
                self._end(request, "408 Request Timeout")
            elif (assigned := self._assign_pin(request)) is None:
                cycled += self._cycle_or_refuse(request)
            elif not self._overflow_admits(request):
                cycled += self._cycle()
            elif request.left_bytes and size_bytes > request.left_bytes:
                self.pin = "" if assigned else self.pin
                self._end(request, "409 Message Size Exceeds MaxBytes")
            elif not request.peer.listens(request.number):
                self.waiting.pop(0)
            else:
                return self._take(request, size_bytes)
        return None

    def _assign_pin(self, request: Waiting) -> bool | None:
        """Tell whether the request was given a new pin, or None if the pin is another's."""
        if self.options.policy != "pinned_client":
            return False
        if self.pin:
            return False if request.pin == self.pin else None
        if request.pin:
            return None
        self._pins += 1
        self.pin = request.pin = f"pin{self._pins}"
        self._renew_pin()
        return True

    def _cycle_or_refuse(self, request: Waiting) -> int:
        if not request.pin:
            return self._cycle()
        self._end(request, "423 Nats-Wrong-Pin-Id")
        return 0

    def _overflow_admits(self, request: Waiting) -> bool:
        least_pending: int = request.body.get("min_pending", 0)
        least_unacknowledged: int = request.body.get("min_ack_pending", 0)
        if not least_pending and not least_unacknowledged:
            return True
        enough_pending = 0 < least_pending <= self.pending + bool(self.redeliveries)
        return enough_pending or 0 < least_unacknowledged <= len(self.unacknowledged)

    def _cycle(self) -> int:
        self.waiting.append(self.waiting.pop(0))
        return 1

    def _take(self, request: Waiting, size_bytes: int) -> Waiting:
        if request.left_bytes:
            request.left_bytes -= size_bytes
            if not request.left_bytes:
                request.left_messages = 1
        request.left_messages -= 1
        request.delivered += 1
        self.waiting.pop(0)
        if request.left_messages > 0:
            self._queue(request)
            if request.heartbeat_seconds:
                request.heartbeat_at = self.world.now + request.heartbeat_seconds
        return request

    def _send(self, request: Waiting, sequence: int) -> None:
        if self.redeliveries and self.redeliveries[0] == sequence:
            self.redeliveries.popleft()
            self.unacknowledged.pop(sequence)
        else:
            self.next_sequence += 1
        self.unacknowledged[sequence] = self.world.now + self.options.ack_wait_seconds
        self._set_ack_timer()
        self.progress += 1
        pin = self.pin if self.options.policy == "pinned_client" else ""
        if self.options.replicated:
            if not self._in_quorum:
                self.world.after(QUORUM_SECONDS, self._reach_quorum)
            self._in_quorum.append((request.peer, request.number, sequence, pin))
        else:
            request.peer.send_message(request.number, sequence, self.sizes[sequence], pin)
        if request.left_messages <= 0 and request.left_bytes > 0:
            request.peer.send_status(request.number, "409 Batch Completed", request.left)

    def _reach_quorum(self) -> None:
        sent, self._in_quorum = self._in_quorum, []
        for peer, number, sequence, pin in sent:
            peer.send_message(number, sequence, self.sizes[sequence], pin)

    def _process_waiting(self, *, end_of_stream: bool) -> None:
        now = self.world.now
        for request in list(self.waiting):
            expired = request.expires_at is not None and now >= request.expires_at
            if expired:
                self._end(request, "408 Request Timeout")
            elif end_of_stream and request.no_wait and (request.expires_at is None or request.delivered):
                self._end(request, "404 No Messages", with_left=False)
            elif not request.peer.listens(request.number):
                self.waiting.remove(request)
            elif request.heartbeat_at is not None and now >= request.heartbeat_at:
                request.peer.send_status(request.number, "100 Idle Heartbeat")
                request.heartbeat_at = now + request.heartbeat_seconds

    def _end(self, request: Waiting, text: str, *, with_left: bool = True) -> None:
        self.waiting.remove(request)
        in_quorum = any(number == request.number and peer is request.peer for peer, number, _, _ in self._in_quorum)
        left = request.left if with_left else None
        if in_quorum and text.startswith("40") and not text.startswith("409"):
            self.world.after(
                QUORUM_SECONDS, request.peer.send_status, request.number, "408 Request Timeout", request.left
            )
        else:
            request.peer.send_status(request.number, text, left)

    # Timers

    def _set_timer(self) -> None:
        times = [time for request in self.waiting for time in (request.heartbeat_at, request.expires_at) if time]
        due = min(times, default=0)
        if self.paused and self.waiting:
            due = min(due or self.paused_until, self.paused_until)
        if due and (self._timer_at is None or due < self._timer_at):
            self._timer_at = due
            self.world.at(due, self._timer, due)

    def _timer(self, due: float) -> None:
        if due == self._timer_at:
            self._timer_at = None
            self._process_waiting(end_of_stream=True)
            self.deliver()

    def _set_ack_timer(self) -> None:
        if self._ack_timer_at is None and self.unacknowledged:
            self._ack_timer_at = next(iter(self.unacknowledged.values()))
            self.world.at(self._ack_timer_at, self._ack_timer)

    def _ack_timer(self) -> None:
        self._ack_timer_at = None
        now = self.world.now
        for sequence, due in list(self.unacknowledged.items()):
            if due > now:
                break
            del self.unacknowledged[sequence]
            self.unacknowledged[sequence] = now + self.options.ack_wait_seconds
            if sequence not in self.redeliveries:
                self.redeliveries.append(sequence)
        self._set_ack_timer()
        self.deliver()

    def _renew_pin(self) -> None:
        self._pin_expires_at = self.world.now + self.options.pin_timeout_seconds
        self.world.at(self._pin_expires_at, self._pin_timer, self.pin)

    def _pin_timer(self, pin: str) -> None:
        if pin == self.pin and self.world.now >= self._pin_expires_at:
            self.unpin()

    # What it suffers

    def pause(self, seconds: float) -> None:
        self.paused_until = self.world.now + seconds
        self._set_timer()

    def unpin(self) -> None:
        self.pin = ""
        self.deliver()

    def lose_requests(self, text: str = "", *, with_left: bool = False) -> None:
        """Forget all that wait, with a word to each or without."""
        self.disturbed_at = self.world.now
        forgotten, self.waiting = self.waiting, []
        for request in forgotten:
            if text and request.peer.listens(request.number):
                request.peer.send_status(request.number, text, request.left if with_left else None)
            else:
                request.peer.lost_silently = max(request.peer.lost_silently, request.number)

    def forget(self, peer: Peer) -> None:
        """Drop what waits for a client that is gone; the server comes upon it sooner or later."""
        self.waiting = [request for request in self.waiting if request.peer is not peer]

    def lose_leader(self, text: str) -> None:
        """Let another lead: what waited is lost, and what waited for a quorum was never sent."""
        self._in_quorum.clear()
        self.pin = ""
        self.lose_requests(text)

    def delete(self) -> None:
        self.lose_requests("409 Consumer Deleted")
        self.exists = False

    def create(self) -> None:
        """Create the consumer again, from the first unacknowledged message."""
        self.exists = True
        self.push_based = False
        self.pin = ""
        self.reset()

    def reset(self) -> None:
        """Go back to the first unacknowledged message; requests go on waiting."""
        self.unacknowledged.clear()
        self.redeliveries.clear()
        self.next_sequence = 1
        while self.next_sequence < len(self.sizes) and self.next_sequence in self.acknowledged:
            self.next_sequence += 1
        self.deliver()
