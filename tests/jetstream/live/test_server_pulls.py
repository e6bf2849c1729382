"""What servers answer to pulls: each status that there is, what it carries, and what is never said.

No client library of ours is in this: requests go out, and answers come in, as they are (tests/jetstream/raw.py).
"""

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta

import pytest
from nats.aio.msg import Msg

from tests.jetstream.raw import (
    ANSWER_SECONDS,
    MILLISECOND,
    Pull,
    Raw,
    connected,
    ready,
    sequence,
    status,
    until_pending,
    until_waiting,
)
from tests.testbed.nats.server import NatsServer

SOON = 100 * MILLISECOND
LATER = 10_000 * MILLISECOND
FAR_AWAY = "2999-01-01T00:00:00Z"


def left(answer: Msg) -> tuple[int, int] | None:
    """Return the messages and bytes that a status says are left undelivered; None if it says nothing of them."""
    headers = answer.headers or {}
    if "Nats-Pending-Messages" not in headers:
        return None
    return int(headers["Nats-Pending-Messages"]), int(headers["Nats-Pending-Bytes"])


async def told(pull: Pull) -> tuple[str | None, tuple[int, int] | None]:
    answer = await pull.next()
    return status(answer), left(answer)


@pytest.mark.requirement("P-02", "P-05")
async def test_an_empty_pull_asks_for_one_message_and_never_expires(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name)
    pull = await raw.pull_raw(of, b"")
    assert await pull.is_silent()
    await raw.publish(f"{fresh_name}.a", b"1", b"2")
    assert sequence(await pull.message()) == 1
    assert await pull.is_silent()
    await until_waiting(raw, of, 0)


@pytest.mark.requirement("P-02")
async def test_a_bare_integer_is_a_batch_size(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1", b"2", b"3")
    pull = await raw.pull_raw(of, b"2")
    assert [sequence(await pull.message()), sequence(await pull.message())] == [1, 2]
    assert await pull.is_silent()


@pytest.mark.requirement("P-03")
async def test_a_key_that_no_server_knows_is_ignored_in_a_pull(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1")
    assert len(await raw.take(of, no_such_key=True)) == 1


@pytest.mark.requirement("P-04")
async def test_no_wait_with_expires_waits_for_the_first_messages_until_it_expires(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name)
    began = time.monotonic()
    pull = await raw.pull(of, batch=2, no_wait=True, expires=SOON)
    assert await pull.status() == "408 Request Timeout"
    assert time.monotonic() - began >= 0.1
    late = await raw.pull(of, batch=2, no_wait=True, expires=LATER)
    await raw.publish(f"{fresh_name}.a", b"1")
    assert sequence(await late.message()) == 1


@pytest.mark.requirement("P-05")
async def test_a_pull_without_expires_lingers_until_its_client_is_gone(
    raw: Raw, every_server: NatsServer, fresh_name: str
) -> None:
    of = await ready(raw, fresh_name)
    async with connected(**every_server.connect_arguments()) as other:
        await other.pull_raw(of, b'{"batch": 1}')
        await other.client.flush()
        await until_waiting(raw, of, 1)
    await until_waiting(raw, of, 0)
    await raw.publish(f"{fresh_name}.a", b"1")
    assert (await raw.take(of))[0].data == b"1", "it was not delivered to no one"


@pytest.mark.requirement("P-06")
async def test_open_pulls_are_counted_and_their_bound_is_512_and_stays_as_it_was_made(
    raw: Raw, fresh_name: str
) -> None:
    await raw.make_stream(fresh_name)
    config = await raw.make_consumer(f"{fresh_name}.c")
    assert config["max_waiting"] == 512
    for _ in range(3):
        await raw.pull(f"{fresh_name}.c", expires=LATER)
    await until_waiting(raw, f"{fresh_name}.c", 3)
    request = {"stream_name": fresh_name, "action": "update", "config": {**config, "max_waiting": 100}}
    assert await raw.refusal(f"CONSUMER.CREATE.{fresh_name}.c", request) == 10012


@pytest.mark.requirement("P-06")
async def test_a_pull_too_many_is_refused_only_if_it_asks_for_no_heartbeat_and_is_else_dropped_in_silence(
    raw: Raw, fresh_name: str
) -> None:
    of = await ready(raw, fresh_name, max_waiting=1)
    await raw.pull(of, expires=LATER)
    assert await told(await raw.pull(of, expires=LATER)) == ("409 Exceeded MaxWaiting", None)
    silent = await raw.pull(of, expires=2_000 * MILLISECOND, idle_heartbeat=SOON)
    assert await silent.is_silent(0.3), "not even a heartbeat comes"


@pytest.mark.requirement("P-07")
async def test_a_message_arrives_under_its_streams_subject_at_the_pulls_inbox(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1")
    (message,) = await raw.take(of)
    assert message.subject == f"{fresh_name}.a"
    assert message.reply.startswith("$JS.ACK.")


@pytest.mark.requirement("P-08")
async def test_no_wait_is_answered_404_at_once_when_empty_and_after_what_there_is(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name)
    assert await told(await raw.pull(of, no_wait=True, expires=0)) == ("404 No Messages", None)
    await raw.publish(f"{fresh_name}.a", b"1")
    await until_pending(raw, of, 1)
    pull = await raw.pull(of, batch=5, no_wait=True, expires=0)
    assert sequence(await pull.message()) == 1
    assert await told(pull) == ("404 No Messages", None)


@pytest.mark.requirement("P-16")
async def test_a_pull_that_expires_brings_what_there_was_and_says_what_it_leaves(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1")
    pull = await raw.pull(of, batch=5, expires=SOON)
    assert sequence(await pull.message()) == 1
    assert await told(pull) == ("408 Request Timeout", (4, 0))
    await until_waiting(raw, of, 0)


async def test_what_is_sent_to_a_pull_that_was_given_up_is_not_lost_on_no_one(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name)
    given_up = await raw.pull(of, expires=LATER)
    await given_up.give_up()
    await raw.client.flush()
    other = await raw.pull(of, expires=LATER)
    await raw.publish(f"{fresh_name}.a", b"1")
    assert sequence(await other.message()) == 1


@pytest.mark.requirement("C-36")
async def test_what_a_message_counts_in_bytes_is_its_subject_its_reply_its_headers_and_its_payload(
    raw: Raw, fresh_name: str
) -> None:
    payload = bytes(50)
    of = await ready(raw, fresh_name, payload, payload, payload)
    await raw.publish(f"{fresh_name}.b", payload, headers={"A": "b"})
    budget = 1_000
    pull = await raw.pull(of, batch=4, max_bytes=budget, expires=SOON)
    used = 0
    for _ in range(4):
        message = await pull.message()
        used += len(message.subject) + len(message.reply) + len(payload)
    used += len(b"NATS/1.0\r\nA: b\r\n\r\n")
    assert await told(pull) == ("409 Batch Completed", (0, budget - used))


async def test_a_message_larger_than_what_is_left_of_a_pull_ends_it(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, bytes(10), bytes(500))
    pull = await raw.pull(of, batch=5, max_bytes=300, expires=LATER)
    small = await pull.message()
    rest = 300 - len(small.subject) - len(small.reply) - 10
    assert await told(pull) == ("409 Message Size Exceeds MaxBytes", (4, rest))


async def test_a_message_larger_than_a_whole_pull_ends_it_with_all_left(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, bytes(500))
    assert await told(await raw.pull(of, batch=5, max_bytes=300)) == ("409 Message Size Exceeds MaxBytes", (5, 300))


@pytest.mark.parametrize(
    ("limit", "asked", "said"),
    [
        ({"max_batch": 2}, {"batch": 3}, "409 Exceeded MaxRequestBatch of 2"),
        ({"max_expires": 100 * MILLISECOND}, {"expires": LATER}, "409 Exceeded MaxRequestExpires of 100ms"),
        ({"max_bytes": 1000}, {"max_bytes": 1001}, "409 Exceeded MaxRequestMaxBytes of 1000"),
    ],
    ids=["batch", "expires", "bytes"],
)
async def test_a_pull_over_a_limit_of_its_consumer_is_refused_with_the_limit(
    raw: Raw, fresh_name: str, limit: dict[str, int], asked: dict[str, int], said: str
) -> None:
    of = await ready(raw, fresh_name, **limit)
    assert await told(await raw.pull(of, **asked)) == (said, None)


async def test_a_pull_that_waits_at_a_consumer_that_is_deleted_is_told_so(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name)
    pull = await raw.pull(of, expires=LATER)
    await until_waiting(raw, of, 1)
    await raw.do(f"CONSUMER.DELETE.{of}")
    assert await told(pull) == ("409 Consumer Deleted", None)


async def test_a_pull_on_its_way_to_a_consumer_that_is_deleted_is_never_answered(raw: Raw, fresh_name: str) -> None:
    """No status, no heartbeat: only that one is missed tells. It takes a pull that is overtaken: most are."""
    await raw.make_stream(fresh_name)
    for first in range(0, 100, 10):
        pulls = []
        for number in range(first, first + 10):
            of = f"{fresh_name}.c{number}"
            await raw.make_consumer(of)
            pulls.append(await raw.pull(of, expires=2 * SOON, idle_heartbeat=SOON))
            await raw.do(f"CONSUMER.DELETE.{of}")  # it overtakes the pull, which waits in a queue of its own
        if any(await asyncio.gather(*(pull.is_silent(0.3) for pull in pulls))):
            return
    pytest.fail("each of 100 pulls was answered")


async def test_a_pull_from_a_push_consumer_is_told_so(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, deliver_subject=f"deliver-{fresh_name}")
    assert await told(await raw.pull(of)) == ("409 Consumer is push based", None)


@pytest.mark.requirement("C-24")
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{nonsense", "400 Bad Request"),
        (b'{"batch": 1, "expires": 1000000000, "idle_heartbeat": 500000001}', "heartbeat value too large"),
    ],
    ids=["no JSON", "a heartbeat over half the expiry"],
)
async def test_a_pull_that_makes_no_sense_is_a_bad_request(raw: Raw, fresh_name: str, body: bytes, said: str) -> None:
    of = await ready(raw, fresh_name)
    answer = await (await raw.pull_raw(of, body)).status()
    assert answer.startswith("400 Bad Request")
    assert said in answer


@pytest.mark.requirement("C-24")
async def test_a_heartbeat_of_half_the_expiry_is_granted(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name)
    pull = await raw.pull(of, expires=2 * SOON, idle_heartbeat=SOON)
    assert await pull.status() == "100 Idle Heartbeat"


@pytest.mark.parametrize("missing", ["the stream", "the consumer"])
async def test_a_pull_from_what_does_not_exist_is_answered_503_at_once(raw: Raw, fresh_name: str, missing: str) -> None:
    if missing == "the consumer":
        await raw.make_stream(fresh_name)
    assert await told(await raw.pull(f"{fresh_name}.none")) == ("503", None)


@pytest.mark.requirement("X-01")
async def test_a_waiting_pull_hears_heartbeats_that_name_the_last_sequences(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1", b"2")
    fresh = await raw.make_consumer(f"{fresh_name}.fresh", filter_subject=f"{fresh_name}.none")
    assert fresh["ack_policy"] == "explicit"
    await raw.take(of, 2)
    heartbeat = await (await raw.pull(of, expires=2 * SOON, idle_heartbeat=SOON)).next()
    assert status(heartbeat) == "100 Idle Heartbeat"
    assert heartbeat.headers
    assert (heartbeat.headers["Nats-Last-Consumer"], heartbeat.headers["Nats-Last-Stream"]) == ("2", "2")
    nothing = await (await raw.pull(f"{fresh_name}.fresh", expires=2 * SOON, idle_heartbeat=SOON)).next()
    assert nothing.headers
    assert nothing.headers["Nats-Last-Consumer"] == "0"


async def paused(raw: Raw, name: str) -> str:
    """Make a consumer that has a message and is paused."""
    of = await ready(raw, name, b"1")
    answer = await raw.do(f"CONSUMER.PAUSE.{of}", {"pause_until": FAR_AWAY})
    assert answer["paused"] is True
    assert answer["pause_remaining"] > 0
    return of


@pytest.mark.requirement("X-16")
async def test_a_paused_consumer_heartbeats_and_lets_pulls_expire(raw: Raw, fresh_name: str) -> None:
    pull = await raw.pull(await paused(raw, fresh_name), expires=2 * SOON, idle_heartbeat=SOON)
    answer = await pull.status()
    assert answer == "100 Idle Heartbeat"
    while answer == "100 Idle Heartbeat":
        answer = await pull.status()
    assert answer == "408 Request Timeout"


@pytest.mark.requirement("X-16")
async def test_resuming_wakes_no_pull_that_waits_until_something_else_happens(raw: Raw, fresh_name: str) -> None:
    of = await paused(raw, fresh_name)
    pull = await raw.pull(of, batch=2, expires=LATER)
    await until_waiting(raw, of, 1)
    assert (await raw.do(f"CONSUMER.PAUSE.{of}"))["paused"] is False
    assert await pull.is_silent()
    await raw.publish(f"{fresh_name}.a", b"2")
    assert [sequence(await pull.message()), sequence(await pull.message())] == [1, 2]


@pytest.mark.requirement("X-16")
async def test_a_pause_that_ends_by_itself_wakes_pulls_that_wait(raw: Raw, fresh_name: str) -> None:
    of = await paused(raw, fresh_name)
    pull = await raw.pull(of, expires=LATER)
    await until_waiting(raw, of, 1)
    end = datetime.now(UTC) + timedelta(milliseconds=50)
    await raw.do(f"CONSUMER.PAUSE.{of}", {"pause_until": end.isoformat()})
    assert sequence(await pull.message()) == 1


@pytest.mark.requirement("X-16")
async def test_a_pause_in_an_update_is_dropped_in_silence_and_works_only_at_creation(raw: Raw, fresh_name: str) -> None:
    await raw.make_stream(fresh_name)
    config = await raw.make_consumer(f"{fresh_name}.c")
    request = {"stream_name": fresh_name, "action": "update", "config": {**config, "pause_until": FAR_AWAY}}
    updated = await raw.do(f"CONSUMER.CREATE.{fresh_name}.c", request)
    assert "pause_until" not in updated["config"]
    assert not (await raw.consumer(f"{fresh_name}.c")).get("paused")
    await raw.make_consumer(f"{fresh_name}.paused", pause_until=FAR_AWAY)
    assert (await raw.consumer(f"{fresh_name}.paused"))["paused"] is True


@pytest.mark.requirement("X-08")
async def test_a_request_that_requires_a_higher_api_level_is_refused_since_2_12(raw: Raw, fresh_name: str) -> None:
    await raw.make_stream(fresh_name)
    needs = {"Nats-Required-Api-Level": "99"}
    reply = await raw.client.request(f"$JS.API.STREAM.INFO.{fresh_name}", b"", ANSWER_SECONDS, headers=needs)
    answer = json.loads(reply.data)
    assert answer.get("error", {}).get("err_code") == (10185 if raw.version >= (2, 12) else None)
