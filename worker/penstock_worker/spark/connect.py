"""Spark on a Connect server: a session per slot over gRPC, on the first server of several that answers.

Knows how a server is found dead within seconds, though pyspark would try for ten minutes; what a session costs the
server for as long as it lives; and how a token is sent. Does not know the classic API.
"""

import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, cast

import grpc
from pyspark.errors import IllegalArgumentException

from penstock_worker.spark import defaults, master, settings
from penstock_worker.spark.channel import Channel
from penstock_worker.spark.contract import END_SECONDS
from penstock_worker.spark.dialling import dial
from penstock_worker.spark.facts import first_line
from penstock_worker.spark.problems import CannotStartError, LostError
from penstock_worker.spark.versions import BROKEN_CALL

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql import SparkSession as ClassicSession
    from pyspark.sql.connect.client.retries import RetryPolicy
    from pyspark.sql.connect.session import SparkSession

log = logging.getLogger(__name__)

BATCHES_OF_A_SESSION = 1000
SECONDS_OF_A_SESSION = 1800.0
BYTES_OF_A_SESSION = 256 << 20
"""Where the server keeps each batch for the session's life, as it refused the settings that forbid that."""
# Six tries, 50 ms to 5 s apart, are 15 s in all: a server that restarts is waited for, one that is gone is told.
RETRIES, FIRST_MILLISECONDS, LONGEST_MILLISECONDS, JITTER_MILLISECONDS = 6, 50, 5000, 200
NOT_TO_BE_SET = ("42K0I", "46110")
"""SQLSTATEs of a setting that a session cannot change."""
DENIED = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)
NAMESPACE = "SPARK_CONNECT_MODE_ENABLED"
"""With it, pyspark's own modules (pyspark.sql.functions, say) are those of Spark Connect."""


class ConnectSeat:
    """A session on the server."""

    def __init__(self, session: "SparkSession", *, is_hoarded: bool) -> None:
        self._session = session
        self.session = cast("ClassicSession", session)  # one interface, of which the classic one is the declared
        self._is_hoarded = is_hoarded
        self._opened, self._batches, self._bytes = time.monotonic(), 0, 0

    @property
    def is_worn(self) -> bool:
        """Whether another session is due: what a server keeps for one grows with its use."""
        age = time.monotonic() - self._opened
        is_used = self._batches >= BATCHES_OF_A_SESSION or age >= SECONDS_OF_A_SESSION
        return is_used or (self._is_hoarded and self._bytes >= BYTES_OF_A_SESSION)

    def frame(self, table: "pa.Table") -> "DataFrame":
        self._batches += 1
        self._bytes += table.nbytes
        return self.session.createDataFrame(table)

    @contextmanager
    def tagged(self, tag: str) -> Iterator[None]:
        self.session.addTag(tag)
        try:
            yield
        finally:
            self.session.removeTag(tag)

    def interrupt(self) -> None:
        self.session.interruptAll()

    def end(self) -> None:
        self.session.stop()

    def let_go(self) -> None:
        _let_go(self._session)


class ConnectSpark:
    """Spark on the first of some servers that answers."""

    sees_our_modules = False
    end_seconds = END_SECONDS

    def __init__(self, url: str, token: str | None, conf: Mapping[str, str]) -> None:
        self.name = master.shown(url)
        self._addresses = master.addresses(url)
        self._token, self._conf = token, conf
        self._address = self._addresses[0]
        self._root: SparkSession | None = None
        self._seats: dict[int, ConnectSeat] = {}
        self._refused: set[str] = set()

    def start(self) -> None:
        self.close()
        os.environ[NAMESPACE] = "1"
        problems: list[CannotStartError] = []
        for address in self._addresses:
            try:
                self._root, self._address = self._open(address, is_first=True), address
            except CannotStartError as problem:
                problems.append(problem)
            else:
                return
        raise CannotStartError(
            " ".join(map(str, problems)), is_permanent=all(problem.is_permanent for problem in problems)
        )

    def seat(self, slot: int) -> ConnectSeat:
        if self._root is None:
            raise LostError("There is no session on a Spark Connect server.")
        seat = self._seats.get(slot)
        if seat is None or seat.is_worn:
            if seat is not None:
                seat.end()
            self._seats[slot] = ConnectSeat(self._open(self._address), is_hoarded=bool(self._refused))
        return self._seats[slot]

    def complaint(self) -> str | None:
        if self._root is None:
            return "There is no session on a Spark Connect server."
        try:
            self._root.conf.get("spark.sql.session.timeZone")
        except (*BROKEN_CALL, grpc.RpcError) as problem:
            return f"The session on {self._address.endpoint} is gone: {first_line(problem)}"
        return None

    def close(self) -> None:
        """Let go of all sessions. The server drops those that we cannot end: it may be what was lost."""
        for seat in self._seats.values():
            seat.let_go()
        if self._root is not None:
            _let_go(self._root)
        self._root = None
        self._seats.clear()

    def kill(self) -> None:
        """Do nothing: the server is not ours."""

    def _open(self, address: master.Address, *, is_first: bool = False) -> "SparkSession":
        from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415 - slow to import

        dial(address, "Spark Connect server")
        channel = Channel(address, self._token)
        if is_first and channel.bares_its_token:
            log.warning(
                "The token and all data go to %s unencrypted: see to it by a NetworkPolicy or a mesh that nobody else "
                "reads the line, or put TLS before the server and say use_ssl=true.",
                address.endpoint,
            )
        session = SparkSession.builder.channelBuilder(channel).create()
        try:
            session.client.set_retry_policies([_policy()])
            self._set(session)
            if is_first:
                settings.check_connect(session, self._conf)
        except (CannotStartError, *BROKEN_CALL, grpc.RpcError) as problem:
            _let_go(session)  # pyspark would take it for the one that all may use
            raise _explained(address, problem) from problem
        return session

    def _set(self, session: "SparkSession") -> None:
        for name, value in self._conf.items():
            try:
                session.conf.set(name, value)
            except IllegalArgumentException as problem:
                raise CannotStartError(settings.no_value(name, problem)) from problem
            except BROKEN_CALL as problem:
                if _asked_too_much(problem):
                    raise CannotStartError(
                        f"The Spark Connect server does not let a session set {name}: set it where the server is"
                        f" started, or leave it out. It says: {first_line(problem)}"
                    ) from problem
                raise
        for name, value in defaults.connect(self._conf).items():
            self._try_to_set(session, name, value)

    def _try_to_set(self, session: "SparkSession", name: str, value: str) -> None:
        """Set what makes batches cheaper, where the server knows it: one that is older does without."""
        try:
            session.conf.set(name, value)
        except BROKEN_CALL as problem:
            if not _asked_too_much(problem):
                raise
            if name not in self._refused:
                log.warning(
                    "The Spark Connect server refuses %s, which we set for speed: %s", name, first_line(problem)
                )
            self._refused.add(name)


def _policy() -> "RetryPolicy":
    from pyspark.sql.connect.client.retries import DefaultPolicy  # noqa: PLC0415 - slow to import

    policy = DefaultPolicy(
        max_retries=RETRIES,
        initial_backoff=FIRST_MILLISECONDS,
        max_backoff=LONGEST_MILLISECONDS,
        jitter=JITTER_MILLISECONDS,
    )
    policy.recognize_server_retry_delay = False  # no argument of it, as pyspark 4.0 knows none
    return policy


def _let_go(session: "SparkSession") -> None:
    session.release_session_on_close = False  # it would be asked for with all retries
    with suppress(*BROKEN_CALL, grpc.RpcError):
        session.stop()


def _asked_too_much(problem: Exception) -> bool:
    """Tell whether the server understood, and does not allow it."""
    sqlstate = getattr(problem, "getSqlState", lambda: None)()
    return sqlstate in NOT_TO_BE_SET or "CANNOT_MODIFY" in str(problem)


def _explained(address: master.Address, problem: Exception) -> CannotStartError:
    if isinstance(problem, CannotStartError):
        return problem
    said = first_line(problem)
    if any(code.name in str(problem) for code in DENIED) or "authentication token" in str(problem):
        return CannotStartError(f"The Spark Connect server at {address.endpoint} refuses our token: {said}")
    sentence = f"The Spark Connect server at {address.endpoint} does not answer: {said}"
    return CannotStartError(sentence, is_permanent=False)
