"""Publishing one message to a stream, and several as one.

Knows when to send again: where no stream answered (X-02), or where the link was lost and a message id keeps the stream
from storing twice. Does not know headers and answers (core).
"""

import asyncio
import secrets
from collections.abc import Sequence

from penstock_jetstream.client.api import NOT_MENDED_BY_ANOTHER_LINK
from penstock_jetstream.core.publishing import Draft, PubAck, PublishOptions, Retry, batch_headers, headers_of
from penstock_jetstream.errors import LinkError, NoRespondersError, RequestTimeoutError, UsageError
from penstock_jetstream.transport.connection import Connection

_BATCH_STEP = 100
"""So many messages of a batch are on their way at once."""


async def publish(connection: Connection, draft: Draft, *, retry: Retry, timeout_seconds: float) -> PubAck:
    """Publish a message, and return when a stream has stored it."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_seconds
    headers = headers_of(draft.options)
    attempts = 0
    while True:
        attempts += 1
        try:
            reply = await connection.request(
                draft.subject, draft.data, headers=headers, timeout_seconds=max(0, deadline - loop.time())
            )
        except NoRespondersError as problem:
            again = retry.next_attempt(attempts, loop.time(), deadline)
            if again is None:
                raise nobody_stores(draft.subject, attempts) from problem
            await asyncio.sleep(again - loop.time())
        except RequestTimeoutError as problem:
            raise silence(draft.subject, timeout_seconds, is_sent=connection.is_connected) from problem
        except NOT_MENDED_BY_ANOTHER_LINK:
            raise
        except LinkError as problem:
            if not may_be_sent_twice(draft.options) or loop.time() >= deadline:
                raise unknown_fate(draft.subject, problem) from problem
        else:
            return PubAck.read(reply.payload, draft.subject)


async def publish_batch(connection: Connection, drafts: Sequence[Draft], *, timeout_seconds: float) -> PubAck:
    """Publish messages of which a stream stores all or none (X-10), and return its answer to the last."""
    if not drafts:
        raise UsageError("A batch has no messages.", advice="Give at least one.")
    batch_id = secrets.token_hex(16)
    headers = [
        batch_headers(draft.options, batch_id, sequence, last=sequence == len(drafts))
        for sequence, draft in enumerate(drafts, start=1)
    ]
    answer = b""
    for start in range(0, len(drafts), _BATCH_STEP):
        step = list(zip(drafts, headers, strict=True))[start : start + _BATCH_STEP]
        requests = [
            connection.request(draft.subject, draft.data, headers=header, timeout_seconds=timeout_seconds)
            for draft, header in step
        ]
        replies = await asyncio.gather(*requests, return_exceptions=True)
        is_last = start + _BATCH_STEP >= len(drafts)
        for (draft, _), reply in zip(step, replies, strict=True):
            if isinstance(reply, BaseException):
                is_unsent = isinstance(reply, RequestTimeoutError) and not connection.is_connected
                failure = _batch_failure(draft, reply, timeout_seconds, may_be_stored=is_last and not is_unsent)
                raise failure from (None if failure is reply else reply)
            answer = reply.payload
            if answer:  # a message that does not commit is answered with nothing, or with a refusal
                PubAck.read(answer, draft.subject)
    return PubAck.read(answer, drafts[-1].subject)


def _batch_failure(
    draft: Draft, problem: BaseException, timeout_seconds: float, *, may_be_stored: bool
) -> BaseException:
    """Return what a failed request means for the batch: before the last message was sent, nothing is stored."""
    fate = "Whether the batch was stored is not known." if may_be_stored else "Nothing of the batch is stored."
    match problem:
        case NoRespondersError():
            return nobody_stores(draft.subject, 1)
        case RequestTimeoutError():
            return RequestTimeoutError(
                f"No stream has answered a batch's message on {draft.subject} within {timeout_seconds:g} s.",
                advice=fate,
            )
        case LinkError() if not isinstance(problem, NOT_MENDED_BY_ANOTHER_LINK):
            return LinkError(f"The link was lost before a batch was confirmed: {problem.sentence}", advice=fate)
        case _:
            return problem


def may_be_sent_twice(options: PublishOptions) -> bool:
    """Tell whether a stream would notice that it has stored a message before."""
    return "message_id" in options


def nobody_stores(subject: str, attempts: int) -> NoRespondersError:
    return NoRespondersError(
        f"No stream has taken a message on {subject}, in {attempts} attempt{'s' * (attempts != 1)}.",
        advice="Create a stream that has this subject, or check that its servers can be reached.",
    )


def silence(subject: str, timeout_seconds: float, *, is_sent: bool) -> RequestTimeoutError:
    if not is_sent:
        return RequestTimeoutError(
            f"There was no link to a server for {timeout_seconds:g} s for a message on {subject}: nothing was sent."
        )
    return RequestTimeoutError(
        f"No stream has confirmed a message on {subject} within {timeout_seconds:g} s.",
        advice="Whether it was stored is not known. With a message_id it can be published again without harm.",
    )


def unknown_fate(subject: str, problem: LinkError) -> LinkError:
    return LinkError(
        f"The link was lost before a message on {subject} was confirmed: {problem.sentence}",
        advice="Whether it was stored is not known. With a message_id it is published again by itself.",
    )
