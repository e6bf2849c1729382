"""An examination of one Connection: all that must hold for the operator to work over it. Nothing is changed.

Knows what to try, and what to do about what does not hold. Each permission is tried by a request that no server would
carry out: about a stream that nobody has, and without saying what it should be. Does not keep the connection.
"""

import json
import secrets
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from penstock_jetstream import Connection, JetStream, Options, Reach, ServerReported
from penstock_jetstream.core.account_info import AccountInfo
from penstock_jetstream.core.session import denied_publish
from penstock_jetstream.errors import JetStreamError
from penstock_operator.plan.reasons import Reason
from penstock_operator.resources import ConnectionSpec
from penstock_operator.services.links import Secrets
from penstock_operator.services.nats.account import USER_INFO
from penstock_operator.services.nats.failures import no_link, told
from penstock_operator.services.nats.material import Material, MaterialError, material
from penstock_operator.services.nats.notices import denied_subscriptions
from penstock_operator.services.nats.permissions import Feature, Permission, Verb, permissions

NAME = "penstock doctor"
ANSWER_SECONDS = 3.0
CLOCKS_APART_SECONDS = 1.0
"""From here on what is counted by one clock and judged by another is wrong: ages, pauses, credentials that expire."""
NEARLY_FULL = 0.8
OLDEST_LEVEL = 1
"""Servers before 2.11 have none; Penstock is not tested with them."""
NOT_NEEDED = frozenset({Feature.LIST, Feature.NOTICES, Feature.ACCOUNT})
"""Without these permissions all works, only slower."""
NO_LIMIT = -1


class Verdict(StrEnum):
    GOOD = "good"
    DOUBTFUL = "doubtful"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    what: str
    verdict: Verdict
    sentence: str
    cure: str = ""
    """What to do about it."""


async def examine(
    spec: ConnectionSpec, namespace: str, data: Secrets, reach: Reach | None = None
) -> AsyncIterator[Finding]:
    """Look at everything, one thing after the other, for as long as the next can be looked at."""
    options = Options(connect_timeout_seconds=ANSWER_SECONDS, reach=reach)
    try:
        made_from = material(namespace, spec, data)
    except MaterialError as problem:
        yield Finding("Secrets", Verdict.BAD, str(problem))
        return
    reachable = []
    for server in spec.servers:
        finding = await _reach(server, made_from, options)
        if finding.verdict is Verdict.GOOD:
            reachable.append(server)
        yield finding
    if reachable:
        async for finding in _examine_account(reachable, made_from, options):
            yield finding


def _connection(servers: Sequence[str], made_from: Material, options: Options) -> Connection:
    return Connection(servers, auth=made_from.auth, tls=made_from.tls, name=NAME, options=options)


async def _reach(server: str, made_from: Material, options: Options) -> Finding:
    try:
        async with _connection([server], made_from, options) as connection:
            info = connection.server
            return Finding(server, Verdict.GOOD, f"{info.name} answers: nats-server {info.version}.")
    except JetStreamError as problem:
        cure = "" if problem.advice else _CURES.get(no_link(problem), "")
        return Finding(server, Verdict.BAD, told(problem), cure)


_CURES = {
    Reason.UNREACHABLE: "Check the address, that the server runs, and that nothing on the way blocks the port.",
    Reason.UNAUTHORIZED: "Check the Connection's auth, its Secret, and that the server knows the user.",
    Reason.TLS_FAILED: "Check the Connection's tls: who vouches for the server, and the name in its certificate.",
}


async def _examine_account(servers: Sequence[str], made_from: Material, options: Options) -> AsyncIterator[Finding]:
    reported: list[str] = []
    async with _connection(servers, made_from, options) as connection:
        connection.listen(lambda event: reported.append(event.text) if isinstance(event, ServerReported) else None)
        jetstream = JetStream(
            connection,
            domain=made_from.domain or None,
            api_prefix=made_from.api_prefix or None,
            timeout_seconds=ANSWER_SECONDS,
        )
        try:
            account = await jetstream.account()
        except JetStreamError as problem:
            cure = "" if problem.advice else "Enable JetStream for the account, or name its domain in jetStream.domain."
            yield Finding("JetStream", Verdict.BAD, told(problem), cure)
        else:
            yield Finding("JetStream", Verdict.GOOD, "It is enabled for the account.")
            for finding in _judge_account(account):
                yield finding
        async for finding in _try_permissions(connection, jetstream.api.prefix, reported):
            yield finding
        yield await _compare_clocks(connection)
        yield Finding("messages", Verdict.GOOD, f"One may have {connection.server.max_payload_bytes:,} bytes.")


def _judge_account(account: AccountInfo) -> Iterator[Finding]:
    level = f"API level {account.api_level}."
    if account.api_level < OLDEST_LEVEL:
        cure = "Upgrade the servers to 2.11 or later."
        yield Finding("server's age", Verdict.DOUBTFUL, "The servers are older than 2.11, and have no API level.", cure)
    else:
        yield Finding("server's age", Verdict.GOOD, level)
    for what, used, limit in (
        ("storage, bytes", account.storage_bytes, account.max_storage_bytes),
        ("memory, bytes", account.memory_bytes, account.max_memory_bytes),
        ("streams", account.streams, account.max_streams),
        ("consumers", account.consumers, account.max_consumers),
    ):
        yield _judge_use(what, used, limit)
    if account.requires_max_bytes:
        sentence = "The account takes only streams that say how large they may become."
        yield Finding("size of streams", Verdict.DOUBTFUL, sentence, "Give each Stream maxBytes.")


def _judge_use(what: str, used: int, limit: int) -> Finding:
    if limit <= NO_LIMIT:
        return Finding(what, Verdict.GOOD, f"{used:,} in use; no limit.")
    sentence = f"{used:,} in use of {limit:,}."
    if used < limit * NEARLY_FULL or not (used or limit):
        return Finding(what, Verdict.GOOD, sentence)
    return Finding(what, Verdict.DOUBTFUL, sentence, "Have the account's limit raised, or delete what nobody needs.")


async def _try_permissions(connection: Connection, prefix: str, reported: list[str]) -> AsyncIterator[Finding]:
    """Tell of each permission that is missing; if none is, only that."""
    try:
        missing = await _missing(connection, list(permissions(prefix)), reported)
    except JetStreamError as problem:
        yield Finding("permissions", Verdict.DOUBTFUL, f"They could not be tried. {told(problem)}")
        return
    if not missing:
        yield Finding("permissions", Verdict.GOOD, "The user may do all that the operator does.")
    for each in missing:
        verdict = Verdict.DOUBTFUL if each.feature in NOT_NEEDED else Verdict.BAD
        sentence = f"The user may not {each.verb} {'to ' if each.verb is Verb.SUBSCRIBE else ''}{each.subject}."
        yield Finding(
            f"permission to {each.feature}", verdict, sentence, "docs/permissions.md has what for, and the list."
        )


async def _missing(connection: Connection, wanted: Sequence[Permission], reported: list[str]) -> list[Permission]:
    """Use each permission once, and return those that the server refused.

    A server works through what a connection sends in order, so it has refused all that it is going to refuse when it
    answers the ping that `flush` sends last. Answers to the requests do not matter, nor how long they take.
    """
    requests = {_subject_of_nothing(each): each for each in wanted if each.verb is Verb.PUBLISH}
    inbox = connection.new_inbox()
    for subject in requests:
        connection.publish(subject, reply=inbox)
    subscriptions = [connection.subscribe(each.subject, _ignore) for each in wanted if each.verb is Verb.SUBSCRIBE]
    await connection.flush(ANSWER_SECONDS)
    for subscription in subscriptions:
        subscription.unsubscribe()
    unpublished = {denied_publish(text) for text in reported}
    unheard = denied_subscriptions(reported)
    return [
        *(permission for subject, permission in requests.items() if subject in unpublished),
        *(each for each in wanted if each.verb is Verb.SUBSCRIBE and each.subject in unheard),
    ]


def _subject_of_nothing(permission: Permission) -> str:
    """Return a subject that the permission allows, about a stream or consumer that does not exist."""
    name = f"PENSTOCK-DOCTOR-{secrets.token_hex(8)}"
    return permission.subject.replace("*", name).replace(">", f"{name}.{name}")


def _ignore(*message: bytes) -> None:
    """Hear, and do nothing."""


async def _compare_clocks(connection: Connection) -> Finding:
    before = datetime.now(UTC)
    try:
        reply = await connection.request(USER_INFO, timeout_seconds=ANSWER_SECONDS)
        there = datetime.fromisoformat(json.loads(reply.payload)["server"]["time"])
    except (JetStreamError, ValueError, KeyError, TypeError):
        return Finding("clock", Verdict.GOOD, "The server does not tell the user its time: not compared.")
    here = before + (datetime.now(UTC) - before) / 2
    apart = (there - here).total_seconds()
    sentence = f"The server's clock is {abs(apart):.3f} s {'ahead of' if apart > 0 else 'behind'} this machine's."
    if abs(apart) < CLOCKS_APART_SECONDS:
        return Finding("clock", Verdict.GOOD, sentence)
    return Finding("clock", Verdict.DOUBTFUL, sentence, "Have both follow a time server (NTP).")
