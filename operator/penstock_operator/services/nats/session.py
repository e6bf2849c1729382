"""One connection to NATS, from its opening to its end: how it stands with it, and what it leads to.

Looks at the account whenever a server has taken us, and again and again where JetStream cannot be asked. Does not know
what else there was, or will be, for the same Connection (keeping.py).
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from penstock_jetstream import Connected as LinkMade
from penstock_jetstream import Connection, Failed, JetStream, Options, Reach, ServerReported
from penstock_jetstream.errors import JetStreamError, RequestTimeoutError
from penstock_operator.plan.connections import Connected, Connecting, Failing, LinkState
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Place
from penstock_operator.services.nats.account import Account, look
from penstock_operator.services.nats.failures import failure, no_link, told
from penstock_operator.services.nats.families import Families
from penstock_operator.services.nats.link import JetStreamLink
from penstock_operator.services.nats.material import Material
from penstock_operator.services.nats.notices import SUBJECTS, Notices, denied_subscriptions, unheard

LOOK_AGAIN_SECONDS = 5.0
"""Where JetStream cannot be asked: someone may have enabled it, or allowed us to ask."""
MOST_ANSWER_BYTES = 4 << 20
"""Anybody who may declare a Connection chooses its server: an answer takes some thirty times its size to parse. A page
of a list has 256 entries of a few KiB.
"""
LOOK_PERIOD_SECONDS = 60.0
"""Where it can: limits change, and how much of them is used."""
_INBOX = "_INBOX.>"
_URGENCY = (Reason.UNAUTHORIZED, Reason.TLS_FAILED, Reason.UNREACHABLE)


class Session:
    """Begin it with `start`, in the event loop that uses it; `close` ends it."""

    def __init__(
        self,
        material: Material,
        name: str,
        families: Families,
        *,
        reach: Reach | None = None,
        changed: Callable[[], None],
        noticed: Callable[[Place], None],
    ) -> None:
        """`changed` is called when `state` or `link` has changed, `noticed` when somebody else changed something."""
        self.material = material
        self.state: LinkState = Connecting()
        self.link: JetStreamLink | None = None
        """Only while JetStream can be asked."""
        self._families = families
        self._changed = changed
        self._connection = Connection(
            material.servers,
            auth=material.auth,
            tls=material.tls,
            name=name,
            wait_for_server=True,
            options=Options(reach=reach, max_message_bytes=MOST_ANSWER_BYTES),
        )
        jetstream = JetStream(self._connection, domain=material.domain or None, api_prefix=material.api_prefix or None)
        self._jetstream = jetstream
        self._notices = Notices(self._notice)
        self._noticed = noticed
        self._account: Account | None = None
        self._is_new = False
        """A server took us, and it is not known yet which others lead there."""
        self._is_certain = False
        """The last look was a good one."""
        self._failed: dict[str, JetStreamError] = {}
        self._reported: dict[str, None] = {}
        self._connected_once = False
        self._connected = asyncio.Event()
        self._life: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._connection.listen(self._hear)
        self._life = asyncio.create_task(self._live(), name="penstock-session")
        self._life.add_done_callback(_shown)

    async def close(self) -> None:
        self.link = None
        if self._life is not None:
            self._life.cancel()
            await asyncio.wait([self._life])
        self._families.leave(self._connection)
        await self._connection.close()

    async def _live(self) -> None:
        await self._connection.open()
        if self.material.is_own_account:
            self._notices.subscribe(self._connection)
        while True:
            self._connected.clear()
            await self.look_again()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_PERIOD_SECONDS if self._is_certain else LOOK_AGAIN_SECONDS):
                    await self._connected.wait()

    async def look_again(self) -> None:
        """See what the servers that took us lead to. If they do not say at once, they are asked again."""
        try:
            account = await self._identified(await look(self._connection, self._jetstream, self.material))
        except JetStreamError as problem:
            failing = self._refusal(problem)
            if not self._is_certain or failing.reason is not Reason.UNREACHABLE:
                self._become(failing)
            self._is_certain = False
            return
        self._is_certain = True
        self._account = account
        self._notices.domain = account.domain
        if self.link is None:
            self.link = JetStreamLink(self._jetstream, account, self._notices)
        self.link.look = account
        self._become(Connected(account.identity, account.status_facts, self._warnings()))

    async def _identified(self, account: Account) -> Account:
        """Find out which other links lead there, once for each time that a server takes us."""
        known = self._account
        if self._is_new or known is None or known.names != account.names:
            self._is_new = False
            return replace(account, identity=await self._families.join(self._connection, account.names))
        return replace(account, identity=known.identity)

    def _hear(self, event: object) -> None:
        match event:
            case LinkMade():
                self._failed.clear()
                self._reported.clear()
                self._is_new = self._connected_once = True
                self._connected.set()
            case Failed() if not self._connection.is_connected:
                self._failed[event.server] = event.error
                self._is_certain = False
                if len(self._failed) >= self._servers_known():
                    self._become(self._unreached())
            case ServerReported() if denied_subscriptions([event.text]):
                self._reported[event.text] = None
            case _:
                pass

    def _notice(self, stream: str, consumer: str) -> None:
        if self._account:
            self._noticed(Place(self._account.identity, stream, consumer))

    def _become(self, state: LinkState) -> None:
        if not isinstance(state, Connected):
            self.link = None
        if state != self.state:
            self.state = state
            self._changed()

    def _servers_known(self) -> int:
        told = self._connection.server.connect_urls if self._connected_once else ()
        return max(len(self.material.servers), len(told))

    def _unreached(self) -> Failing:
        """Say why no server takes us. If one refuses who we are, that is what has to be looked at."""
        problems = sorted(self._failed.values(), key=lambda problem: _URGENCY.index(no_link(problem)))
        return Failing(no_link(problems[0]), " ".join(dict.fromkeys(map(told, problems))))

    def _refusal(self, problem: JetStreamError) -> Failing:
        """Say why JetStream cannot be asked, though a server took us."""
        deaf = [subject for subject in denied_subscriptions(self._reported) if subject not in SUBJECTS]
        if deaf and isinstance(problem, RequestTimeoutError):
            sentence = f"The user may not subscribe to {', '.join(deaf)}, where answers come. Allow it {_INBOX}."
            return Failing(Reason.UNAUTHORIZED, sentence)
        found = failure(problem)
        return Failing(found.reason, found.message)

    def _warnings(self) -> tuple[str, ...]:
        if not self.material.is_own_account:
            return (
                "What others change is found at the next periodic reading only: notices do not pass between accounts.",
            )
        deaf = unheard(self._reported)
        return (deaf,) if deaf else ()


def _shown(life: asyncio.Task[None]) -> None:
    """Hand a fault of our own to who looks after such, at once: nobody waits for this task before it is closed."""
    if not life.cancelled() and (fault := life.exception()):
        life.get_loop().call_exception_handler({"message": "A session has ended by a fault.", "exception": fault})
