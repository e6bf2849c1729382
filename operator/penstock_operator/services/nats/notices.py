"""Notices: what JetStream says of its own accord about streams and consumers that are made, changed or deleted.

With them most of what happens behind our back is seen at once, and not at the next periodic reading; where they cannot
be had, all else works as well. No server says that a consumer was changed: only a reading finds that. Knows the
subjects, and which notices tell of nothing but what we did ourselves.
"""

import asyncio
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum

from penstock_jetstream import Connection
from penstock_jetstream.errors import JetStreamError
from penstock_operator.plan.surroundings import Place

_PREFIX = "$JS.EVENT.ADVISORY"
SUBJECTS = (
    f"{_PREFIX}.STREAM.CREATED.*",
    f"{_PREFIX}.STREAM.UPDATED.*",
    f"{_PREFIX}.STREAM.DELETED.*",
    f"{_PREFIX}.CONSUMER.CREATED.*.*",
    f"{_PREFIX}.CONSUMER.DELETED.*.*",
    f"{_PREFIX}.CONSUMER.PAUSE.*.*",
)
"""Each by itself: below the same prefix the server also tells of single messages, by the thousand."""
ECHO_SECONDS = 5.0
"""How long what we did ourselves is expected to come back as a notice."""
_DEED_TOKEN = 4
_DENIED = re.compile(r'permissions violation for subscription to "([^"]*)"', re.IGNORECASE)


class Deed(StrEnum):
    """What a notice tells of, as its subject has it."""

    CREATED = "CREATED"
    UPDATED = "UPDATED"
    DELETED = "DELETED"
    PAUSE = "PAUSE"


Key = tuple[Deed, str, str]


class Notices:
    """Those that come over one connection."""

    def __init__(self, noticed: Callable[[str, str], None]) -> None:
        """`noticed` is told of a stream, or a consumer of it, that somebody else has changed."""
        self._noticed = noticed
        self._echoes = _Echoes()
        self.domain = ""
        """Notices of a domain behind a leaf node may come, too."""

    def subscribe(self, connection: Connection) -> None:
        """Hear them over this link and all that follow."""
        for subject in SUBJECTS:
            connection.subscribe(subject, self._hear)

    @contextmanager
    def expecting(self, deed: Deed, place: Place) -> Iterator[None]:
        """Take one such notice for our own doing, unless what we do fails."""
        key = (deed, place.stream, place.consumer)
        self._echoes.expect(key, asyncio.get_running_loop().time())
        try:
            yield
        except JetStreamError:
            self._echoes.heard(key, asyncio.get_running_loop().time())
            raise

    def _hear(self, subject: bytes, _reply: bytes, _header: bytes, payload: bytes) -> None:
        deed, stream, *consumer = subject.decode().split(".")[_DEED_TOKEN:]
        key = (Deed(deed), stream, consumer[0] if consumer else "")
        if _domain(payload) == self.domain and not self._echoes.heard(key, asyncio.get_running_loop().time()):
            self._noticed(stream, key[-1])


class _Echoes:
    """What we have done ourselves, and have not heard of yet."""

    def __init__(self) -> None:
        self._expected: dict[Key, deque[float]] = {}
        self._oldest: deque[tuple[float, Key]] = deque()

    def expect(self, key: Key, now: float) -> None:
        self._forget(now)
        self._expected.setdefault(key, deque()).append(now + ECHO_SECONDS)
        self._oldest.append((now + ECHO_SECONDS, key))

    def heard(self, key: Key, now: float) -> bool:
        """Tell whether this was expected; the next such is not, if it was expected but once."""
        self._forget(now)
        return self._drop_oldest(key)

    def _forget(self, now: float) -> None:
        while self._oldest and self._oldest[0][0] <= now:
            deadline, key = self._oldest.popleft()
            if key in self._expected and self._expected[key][0] == deadline:
                self._drop_oldest(key)

    def _drop_oldest(self, key: Key) -> bool:
        expected = self._expected.get(key)
        if expected is None:
            return False
        expected.popleft()
        if not expected:
            del self._expected[key]
        return True


def denied_subscriptions(reported: Iterable[str]) -> list[str]:
    """Return the subjects that a server did not let us listen to, of what it reported."""
    return [found[1] for text in reported if (found := _DENIED.search(text))]


def unheard(reported: Iterable[str]) -> str:
    """Tell why changes are not noticed at once; nothing if they are."""
    denied = [subject for subject in denied_subscriptions(reported) if subject in SUBJECTS]
    if not denied:
        return ""
    return (
        "What others change is found at the next periodic reading only: the user may not subscribe to "
        f"{', '.join(denied)}."
    )


def _domain(payload: bytes) -> str:
    """Return the JetStream domain that a notice is from; empty for none, and where it is no notice."""
    try:
        return str(json.loads(payload).get("domain", ""))
    except (ValueError, AttributeError):
        return ""
