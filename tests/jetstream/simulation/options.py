"""What a seed chooses: a consumer, clients, users, a network, and faults.

Each seed leaves out most of what could be (a swarm): faults that are always there hide each other.
"""

import random
from dataclasses import dataclass, field
from typing import Any

FAULT_SECONDS = 40.0
"""So long messages are published and faults happen; then all is well, and all must come to an end."""

MESSAGE_SIZES = (60, 100, 250, 900)

FETCH_SHARE = 0.15

FAULTS = (
    *("cut", "half_open", "stall", "sleep", "leader_moves", "leader_moves_unheard", "leader_away", "server_stops"),
    *("pause", "reset", "delete", "delete_and_recreate", "push_based", "queue_full", "limits", "slow_user"),
    *("interest_expires", "unpin"),
)


@dataclass(frozen=True, kw_only=True)
class ClientOptions:
    """One client and its user."""

    kind: str = "consume"
    """Or fetch: one after another."""
    machine: dict[str, Any] = field(default_factory=dict)
    """The fields of ConsumeOptions, or FetchOptions."""
    delay_seconds: float = 0.01
    """Of its link, each way; up to twice of it."""
    bulk: bool = True
    """It books all messages that came together in one call."""
    chunk: int = 1
    """Its user processes so many at once …"""
    chunk_seconds: float = 0.01
    forgets: float = 0.0
    """… and forgets to acknowledge this share of them."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """One run."""

    messages: int = 30
    sizes: tuple[int, ...] = (100,)
    burst: int = 1
    """Messages are published so many at a time."""
    ack_wait_seconds: float = 30.0
    max_ack_pending: int = 1000
    max_waiting: int = 512
    policy: str = ""
    pin_timeout_seconds: float = 4.0
    replicated: bool = False
    """Messages wait for a quorum; some statuses do not."""
    clients: tuple[ClientOptions, ...] = (ClientOptions(),)
    faults: tuple[str, ...] = ()
    """What happens, one after another, at random times."""

    def describe(self) -> str:
        width = max(len(name) for name in self.__dataclass_fields__)
        return "\n".join(f"  {name:<{width}}  {getattr(self, name)}" for name in self.__dataclass_fields__)


def choose(seed: int) -> Options:
    chance = random.Random(seed)  # noqa: S311 - a simulation needs to be repeatable, not secret
    policy = chance.choice(["", "", "", "pinned_client", "overflow", "prioritized"])
    clients = 2 if policy else chance.choice([1, 1, 1, 2])
    kinds = chance.sample(FAULTS, chance.randint(0, 4))
    ack_wait = chance.choice([3.0, 10.0, 30.0])
    return Options(
        messages=chance.choice([5, 15, 30, 60]),
        sizes=tuple(chance.sample(MESSAGE_SIZES, chance.randint(1, 3))),
        burst=chance.choice([1, 1, 5, 20]),
        ack_wait_seconds=ack_wait,
        max_ack_pending=chance.choice([1, 5, 1000, 1000]),
        max_waiting=chance.choice([3, 512, 512]) if clients == 1 else 512,
        policy=policy,
        pin_timeout_seconds=chance.choice([2.0, 6.0]),
        replicated=chance.random() < 0.2,
        clients=tuple(_client(chance, policy, number, forgets=ack_wait < 10) for number in range(clients)),
        faults=tuple(chance.choice(kinds) for _ in range(chance.randint(1, 5))) if kinds else (),
    )


def _client(chance: random.Random, policy: str, number: int, *, forgets: bool) -> ClientOptions:
    kind = "fetch" if chance.random() < FETCH_SHARE else "consume"
    machine = _fetch(chance, policy) if kind == "fetch" else _consume(chance)
    if policy:
        machine["group"] = "jobs"
    if policy == "overflow" and number:
        machine["min_pending"] = 5
    if policy == "prioritized":
        machine["priority"] = chance.randint(0, 2)
    return ClientOptions(
        kind=kind,
        machine=machine,
        delay_seconds=chance.choice([0.0005, 0.02, 0.2]),
        bulk=chance.random() < 0.5,
        chunk=chance.choice([1, 1, 3, 10]),
        chunk_seconds=chance.choice([0.0, 0.01, 0.1]),
        forgets=chance.choice([0.0, 0.2]) if forgets else 0.0,
    )


def _consume(chance: random.Random) -> dict[str, Any]:
    options: dict[str, Any] = {"expires_seconds": chance.choice([1.0, 3.0, 10.0, 30.0])}
    if chance.random() < 0.5:
        options["idle_heartbeat_seconds"] = chance.choice([0.5, min(2.0, options["expires_seconds"] / 2)])
    if chance.random() < 0.35:
        options["max_bytes"] = chance.choice([1000, 1600, 10_000])
        if chance.random() < 0.3:
            options["threshold_bytes"] = chance.randint(0, options["max_bytes"])
    else:
        options["max_messages"] = chance.choice([1, 2, 3, 10, 100])
        if chance.random() < 0.3:
            options["threshold_messages"] = chance.randint(0, options["max_messages"])
    options["verify_on_reconnect"] = chance.random() < 0.1
    return options


def _fetch(chance: random.Random, policy: str) -> dict[str, Any]:
    options: dict[str, Any] = {
        "expires_seconds": chance.choice([3.0, 5.0]),
        "max_messages": chance.choice([1, 10]),
    }
    if chance.random() < 0.3:
        options["max_bytes"] = chance.choice([1000, 5000])
    # With a policy, servers refuse who does not wait as long as others do, even if those may not be served.
    options["wait"] = chance.choice(["batch", "first"] if policy else ["batch", "first", "nothing"])
    return options
