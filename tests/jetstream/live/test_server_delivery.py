"""How servers deliver, and deliver again: what the client library takes for granted, without it, on each version."""

import asyncio
import json
import time
from collections.abc import Sequence

import pytest
from nats.aio.msg import Msg
from nats.errors import TimeoutError as NatsTimeoutError

from tests.jetstream.raw import (
    ANSWER_SECONDS,
    MILLISECOND,
    SILENCE_SECONDS,
    Pull,
    Raw,
    deliveries,
    ready,
    sequence,
    until_consumer,
    until_pending,
)

ACK_WAIT = 150 * MILLISECOND
SECOND = 1_000 * MILLISECOND


async def time_of_next(pull: Pull) -> float:
    """Return when the next message came."""
    await pull.message()
    return time.monotonic()


@pytest.mark.requirement("V-01")
@pytest.mark.full
async def test_progress_restarts_the_whole_ack_wait(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1", ack_wait=4 * SECOND)
    (message,) = await raw.take(of)
    await raw.answer(message, b"-NAK")
    await raw.take(of)
    await asyncio.sleep(0.15)  # calm: work, after which the ack wait that remains is no longer the whole one
    began = time.monotonic()
    await raw.answer(message, b"+WPI")  # to the former delivery
    again = await raw.pull(of)
    assert await time_of_next(again) - began >= 4


@pytest.mark.requirement("V-01", "V-05")
async def test_answer_to_a_former_delivery_counts_as_one_to_the_last(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1", b"2")
    former = await raw.take(of, 2)
    await raw.answer(former[0], b"-NAK")
    await raw.answer(former[1], b"-NAK")
    assert {deliveries(message) for message in await raw.take(of, 2)} == {2}
    await raw.answer(former[0], b"-NAK")
    (again,) = await raw.take(of)
    assert (sequence(again), deliveries(again)) == (1, 3)
    await raw.answer(former[0], b"+TERM")
    await raw.answer(former[1], b"+ACK")
    await until_consumer(raw, of, "num_ack_pending", 0)


@pytest.mark.requirement("V-02")
@pytest.mark.full
async def test_with_backoff_each_wait_is_the_next_of_the_list_and_the_last_repeats(raw: Raw, fresh_name: str) -> None:
    """A wait of 20 ms, then of 4 s twice: naive is ack_wait, 7 s, or the first step again."""
    backoff = [20 * MILLISECOND, 4 * SECOND]
    of = await ready(raw, fresh_name, ack_wait=7 * SECOND, backoff=backoff)
    assert (await raw.consumer(of))["config"]["ack_wait"] == backoff[0]
    await raw.publish(f"{fresh_name}.a", b"1")
    began = time.monotonic()
    pull = await raw.pull(of, batch=4)
    times = [await time_of_next(pull) - began for _ in range(4)]
    assert 0.02 <= times[1] < 4
    assert times[2] >= 0.02 + 4
    assert times[3] >= 0.02 + 4 + 4


@pytest.mark.requirement("V-02", "V-05")
async def test_nak_is_reported_in_an_advisory_and_does_not_wait_for_the_backoff(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1", backoff=[3600 * SECOND])
    advisories = await raw.listen(f"$JS.EVENT.ADVISORY.CONSUMER.MSG_NAKED.{of}")
    (message,) = await raw.take(of)
    await raw.answer(message, b"-NAK")
    (again,) = await raw.take(of)
    assert deliveries(again) == 2
    advisory = json.loads((await advisories.next_msg(ANSWER_SECONDS)).data)
    assert (advisory["stream_seq"], advisory["deliveries"]) == (1, 1)


@pytest.mark.requirement("V-03")
async def test_delayed_naks_that_fill_max_ack_pending_hold_back_all(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1", b"2", b"3", max_ack_pending=2)
    for message in await raw.take(of, 2):
        await raw.answer(message, b'-NAK {"delay": 2000000000}')
    pull = await raw.pull(of, batch=3)
    assert sorted([sequence(await pull.message()), sequence(await pull.message())]) == [1, 2]
    assert (await raw.consumer(of))["num_ack_pending"] == 2


async def exhausted(raw: Raw, name: str) -> Msg:
    """Deliver the only message of a work queue as often as allowed, and return it after the advisory that says so."""
    await raw.make_stream(name, retention="workqueue")
    await raw.make_consumer(f"{name}.c", ack_wait=50 * MILLISECOND, max_deliver=1)
    await raw.publish(f"{name}.a", b"1")
    advisories = await raw.listen(f"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.{name}.c")
    (message,) = await raw.take(f"{name}.c")
    pull = await raw.pull(f"{name}.c", expires=250 * MILLISECOND)
    advisory = json.loads((await advisories.next_msg(ANSWER_SECONDS)).data)
    assert (advisory["stream_seq"], advisory["deliveries"]) == (1, 1)
    assert await pull.status() == "408 Request Timeout"
    assert advisories.pending_msgs == 0, "there is one advisory"
    return message


@pytest.mark.requirement("V-04", "V-06")
async def test_work_queue_keeps_a_message_after_its_last_delivery(raw: Raw, fresh_name: str) -> None:
    message = await exhausted(raw, fresh_name)
    info = await raw.consumer(f"{fresh_name}.c")
    assert (info["num_ack_pending"], info["num_pending"]) == (0, 0)
    assert await raw.stored(fresh_name) == 1
    assert await confirmation(raw, message) == b""
    assert await raw.stored(fresh_name) == 0
    await exhausted(raw, f"{fresh_name}-deleted")
    await raw.do(f"STREAM.MSG.DELETE.{fresh_name}-deleted", {"seq": 1})
    assert await raw.stored(f"{fresh_name}-deleted") == 0


@pytest.mark.requirement("V-05", "S-20", "V-06")
async def test_term_acks_a_message_and_an_advisory_has_its_reason(raw: Raw, fresh_name: str) -> None:
    await raw.make_stream(fresh_name, retention="workqueue")
    await raw.make_consumer(f"{fresh_name}.c")
    advisories = await raw.listen(f"$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.{fresh_name}.c")
    await raw.publish(f"{fresh_name}.a", b"1")
    (message,) = await raw.take(f"{fresh_name}.c")
    await raw.answer(message, b"+TERM cannot be read")
    advisory = json.loads((await advisories.next_msg(ANSWER_SECONDS)).data)
    assert (advisory["stream_seq"], advisory["reason"]) == (1, "cannot be read")
    assert await raw.stored(fresh_name) == 0
    assert await confirmation(raw, message) == b"", "a later ack is confirmed"


@pytest.mark.requirement("V-06")
async def test_ack_is_confirmed_though_another_reader_has_the_message(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1", ack_wait=50 * MILLISECOND)
    (first,) = await raw.take(of)
    (second,) = await raw.take(of)  # delivered again, to another reader
    assert deliveries(second) == 2
    assert await confirmation(raw, first) == b""
    assert (await raw.consumer(of))["num_ack_pending"] == 0, "the stale ack counts"
    assert await confirmation(raw, second) == b""


@pytest.mark.requirement("V-06")
async def test_ack_of_what_the_server_has_not_delivered_is_never_confirmed(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1", b"2")
    (message,) = await raw.take(of)
    head, tail = message.reply.split(f".{of}.1.1.1.")
    ahead = f"{head}.{of}.1.2.2.{tail}"  # as a server sees it that was killed, and forgot what it delivered
    with pytest.raises(NatsTimeoutError):
        await raw.client.request(ahead, b"+ACK", timeout=SILENCE_SECONDS)
    assert (await raw.consumer(of))["num_ack_pending"] == 1
    assert [sequence(message) for message in await raw.take(of)] == [2]


async def confirmation(raw: Raw, message: Msg) -> bytes:
    payload: bytes = (await raw.client.request(message.reply, b"+ACK", timeout=ANSWER_SECONDS)).data
    return payload


@pytest.mark.requirement("V-07")
async def test_max_ack_pending_holds_back_new_messages_but_not_redelivered_ones(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1", b"2", max_ack_pending=1, ack_wait=50 * MILLISECOND)
    pull = await raw.pull(of, batch=10)
    messages = [await pull.message() for _ in range(3)]
    assert [(sequence(message), deliveries(message)) for message in messages] == [(1, 1), (1, 2), (1, 3)]


@pytest.mark.requirement("V-08")
async def test_only_a_durable_consumer_outlives_five_seconds_without_use_by_default(raw: Raw, fresh_name: str) -> None:
    await raw.make_stream(fresh_name)
    named = await raw.make_consumer(f"{fresh_name}.named", durable_name="", name="named")
    durable = await raw.make_consumer(f"{fresh_name}.durable")
    assert (named.get("inactive_threshold"), durable.get("inactive_threshold")) == (5 * SECOND, None)
    limits = {"inactive_threshold": 60 * SECOND}
    await raw.make_stream(f"{fresh_name}-limited", consumer_limits=limits)
    assert limits.items() <= (await raw.make_consumer(f"{fresh_name}-limited.c")).items()


async def delivered_again(raw: Raw, name: str, payload: bytes) -> Sequence[int]:
    """Answer the first of two messages with a payload, and return the sequences of what comes next at once."""
    of = await ready(raw, name, b"1", b"2")
    await until_pending(raw, of, 2)
    (message,) = await raw.take(of)
    await raw.client.publish(message.reply, payload)
    await raw.answer(message, b"+WPI")  # answers are taken in turn, and nonsense is never confirmed
    pull = await raw.pull(of, batch=3, no_wait=True, expires=0)
    found = []
    while (answer := await pull.next()).reply:
        found.append(sequence(answer))
    return found


@pytest.mark.requirement("S-20")
async def test_what_each_answer_does_to_a_message(raw: Raw, fresh_name: str, subtests: pytest.Subtests) -> None:
    """It is settled, delivered again at once, or stays pending; what is no answer is ignored without a word."""
    settled = (b"", b"+ACK", b"+OK", b"+TERM", b"+TERM because")
    pending = (b"+WPI", b"-NAK 3600s", b'-NAK {"delay": 3600000000000}', b"+ack", b"ACK", b"nonsense", b"+ACK and more")
    cases = [*((each, [2], 1) for each in settled), *((each, [2], 2) for each in pending), (b"-NAK", [1, 2], 2)]
    for number, (payload, delivered, ack_pending) in enumerate(cases):
        with subtests.test(payload.decode()):
            assert await delivered_again(raw, f"{fresh_name}-{number}", payload) == delivered
            assert (await raw.consumer(f"{fresh_name}-{number}.c"))["num_ack_pending"] == ack_pending


@pytest.mark.requirement("V-11")
async def test_stream_made_again_at_once_is_refused_with_10049_if_at_all(raw: Raw, fresh_name: str) -> None:
    config = {"name": fresh_name, "subjects": [f"{fresh_name}.>"]}
    for _ in range(50):
        answer = await raw.api(f"STREAM.CREATE.{fresh_name}", config)
        if "error" in answer:
            assert answer["error"]["err_code"] == 10049
            await raw.do(f"STREAM.CREATE.{fresh_name}", config)
        await raw.do(f"STREAM.DELETE.{fresh_name}")
