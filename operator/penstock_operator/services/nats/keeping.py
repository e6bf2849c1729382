"""The links of all Connections, each as it is declared now, with the secrets that there are now.

When only secrets change, the link that there was is used until another is connected; when another server is meant, it
is closed at once. When a Secret is gone, it is closed as soon as nobody has anything to delete through it. Knows when
to open and to close. Does not know how (session.py).
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Self

from typing_extensions import override

from penstock_jetstream import Reach
from penstock_operator.plan.connections import Connecting, Failing, LinkState
from penstock_operator.plan.declared import Identity
from penstock_operator.plan.surroundings import Place
from penstock_operator.resources.connection import ConnectionSpec
from penstock_operator.services.links import Link, Links, Secrets
from penstock_operator.services.nats.families import Families
from penstock_operator.services.nats.material import Material, MaterialError, destination, material
from penstock_operator.services.nats.session import Session

MOST_NEWS = 100_000
"""More than that nobody has declared; the periodic reading finds what is dropped here."""


class NatsLinks(Links):
    """Use it by `async with`, in the event loop that uses the links."""

    def __init__(self, name: str, reach: Callable[[str], Reach | None] | None = None) -> None:
        """Servers show the name, and the Connection's, to whoever asks them who is connected.

        `reach` is for who cannot just dial what the Connections of a namespace name.
        """
        self._name = name
        self._reach = reach
        self._kept: dict[Identity, _Kept] = {}
        self._families = Families()
        self._news = _News()
        self._moved = asyncio.Event()
        self._closing: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for connection in list(self._kept):
            self.forget(connection)
        if self._closing:
            await asyncio.wait(self._closing)

    @override
    def keep(self, connection: Identity, spec: ConnectionSpec, secrets: Secrets, *, is_needed: bool = False) -> None:
        kept = self._kept.setdefault(connection, _Kept())
        try:
            made_from = material(connection.namespace, spec, secrets)
        except MaterialError as problem:
            spared = kept.of_use_in(destination(spec)) if is_needed else None
            self._fail(connection, kept, Failing(problem.reason, str(problem)), spared)
            return
        if kept.latest is None or kept.latest.material.digest != made_from.digest:
            self._renew(connection, kept, made_from)
        elif kept.fault:
            kept.fault = None
            self._tell(connection)

    @override
    def forget(self, connection: Identity) -> None:
        kept = self._kept.pop(connection, None)
        if kept:
            self._close(*kept.sessions())

    @override
    def link(self, connection: Identity) -> Link | None:
        kept = self._kept.get(connection)
        sessions = kept.sessions() if kept else ()
        return next((session.link for session in sessions if session.link), None)

    @override
    def state(self, connection: Identity) -> LinkState:
        kept = self._kept.get(connection)
        return kept.state if kept else Connecting()

    @override
    def changes(self) -> AsyncIterator[Identity | Place]:
        return self._news.read()

    async def settled(self, connection: Identity) -> LinkState:
        """Return its state when something is known: for those who do not wait for ever."""
        while isinstance(self.state(connection), Connecting):
            await self._moved.wait()
        return self.state(connection)

    def _fail(self, connection: Identity, kept: "_Kept", failing: Failing, spared: Session | None) -> None:
        before = kept.state
        self._close(*(session for session in kept.sessions() if session is not spared))
        kept.fault, kept.latest, kept.former = failing, spared, None
        if before != kept.state:
            self._tell(connection)

    def _renew(self, connection: Identity, kept: "_Kept", made_from: Material) -> None:
        session = Session(
            made_from,
            f"{self._name} {connection.namespace}/{connection.name}",
            self._families,
            reach=self._reach(connection.namespace) if self._reach else None,
            changed=lambda: self._changed(connection, kept),
            noticed=self._news.tell,
        )
        former = next((old for old in kept.sessions() if old.link), None)
        if former and former.material.destination != made_from.destination:
            former = None
        self._close(*(old for old in kept.sessions() if old is not former))
        kept.fault, kept.latest, kept.former = None, session, former
        session.start()
        self._tell(connection)

    def _changed(self, connection: Identity, kept: "_Kept") -> None:
        if kept.latest and kept.latest.link and kept.former:
            self._close(kept.former)
            kept.former = None
        self._tell(connection)

    def _tell(self, connection: Identity) -> None:
        """Tell that a state has changed, and wake who waits for that."""
        self._news.tell(connection)
        self._moved.set()
        self._moved = asyncio.Event()

    def _close(self, *sessions: Session) -> None:
        for session in sessions:
            session.link = None
            task = asyncio.get_running_loop().create_task(session.close(), name="penstock-closing-session")
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


class _Kept:
    """What there is for one Connection."""

    def __init__(self) -> None:
        self.latest: Session | None = None
        self.former: Session | None = None
        """What was there before, and is of use until the latest is."""
        self.fault: Failing | None = None

    def sessions(self) -> tuple[Session, ...]:
        return tuple(session for session in (self.latest, self.former) if session)

    def of_use_in(self, destination: str) -> Session | None:
        """Return the session that leads there, or the likeliest to do so before long."""
        leading = [session for session in self.sessions() if session.material.destination == destination]
        return next((session for session in leading if session.link), leading[0] if leading else None)

    @property
    def state(self) -> LinkState:
        state = self.fault or (self.latest.state if self.latest else Connecting())
        still = next((session.link for session in self.sessions() if session.link), None)
        return replace(state, still_in=still.account) if isinstance(state, Failing) and still else state


class _News:
    """What is to be told, each thing once, however often it happened since it was told last."""

    def __init__(self) -> None:
        self._untold: dict[Identity | Place, None] = {}
        self._there = asyncio.Event()

    def tell(self, what: Identity | Place) -> None:
        if isinstance(what, Identity) or len(self._untold) < MOST_NEWS:
            self._untold[what] = None
            self._there.set()

    async def read(self) -> AsyncIterator[Identity | Place]:
        while True:
            await self._there.wait()
            self._there.clear()
            while self._untold:
                what = next(iter(self._untold))
                del self._untold[what]
                yield what
