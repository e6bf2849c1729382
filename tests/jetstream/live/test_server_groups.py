"""How servers treat priority groups: what they accept, whom they serve first, and how a pin passes on.

No client library of ours is in this: requests go out, and answers come in, as they are (tests/jetstream/raw.py).
"""

import asyncio
import json

import pytest
from nats.aio.msg import Msg

from tests.jetstream.raw import ANSWER_SECONDS, MILLISECOND, Pull, Raw, ready, sequence, status, until_waiting

SOON = 100 * MILLISECOND
LATER = 10_000 * MILLISECOND
PINNED = {"priority_groups": ["g"], "priority_policy": "pinned_client"}
OVERFLOW = {"priority_groups": ["g"], "priority_policy": "overflow"}
PRIORITIZED = {"priority_groups": ["g"], "priority_policy": "prioritized"}
PRIORITIZED_SINCE = (2, 12)


def pin_of(message: Msg) -> str:
    assert message.headers
    return message.headers["Nats-Pin-Id"]


@pytest.mark.requirement("G-01")
async def test_a_policy_needs_a_group(raw: Raw, fresh_name: str) -> None:
    await raw.make_stream(fresh_name)
    assert await raw.refused_consumer(f"{fresh_name}.c", priority_policy="overflow") == 10159


@pytest.mark.requirement("G-01")
@pytest.mark.parametrize(
    ("config", "err_code"),
    [({"priority_groups": ["g"]}, 10196), ({"priority_timeout": 1_000 * MILLISECOND}, 10197)],
    ids=["a group", "a timeout"],
)
async def test_a_group_or_a_timeout_needs_a_policy_since_2_12(
    raw: Raw, fresh_name: str, config: dict[str, object], err_code: int
) -> None:
    await raw.make_stream(fresh_name)
    if raw.version >= (2, 12):
        assert await raw.refused_consumer(f"{fresh_name}.c", **config) == err_code
    else:
        assert config.items() <= (await raw.make_consumer(f"{fresh_name}.c", **config)).items()


@pytest.mark.requirement("G-02")
async def test_a_groups_name_has_at_most_16_characters_of_a_few_kinds(raw: Raw, fresh_name: str) -> None:
    await raw.make_stream(fresh_name)
    await raw.make_consumer(f"{fresh_name}.c", priority_policy="overflow", priority_groups=["aZ09/_=-89abcdef"])
    for name in ("0123456789abcdefg", "with space", "a.b", "a*", ""):
        config = {"priority_policy": "overflow", "priority_groups": [name]}
        assert await raw.refused_consumer(f"{fresh_name}.d", **config) in {10160, 10161, 10162}, name


@pytest.mark.requirement("G-03")
async def test_a_push_consumer_has_no_groups(raw: Raw, fresh_name: str) -> None:
    await raw.make_stream(fresh_name)
    assert await raw.refused_consumer(f"{fresh_name}.c", deliver_subject="deliver", **OVERFLOW) == 10178


@pytest.mark.requirement("G-04")
async def test_servers_accept_what_the_adr_forbids(raw: Raw, fresh_name: str) -> None:
    await raw.make_stream(fresh_name)
    two = await raw.make_consumer(f"{fresh_name}.two", priority_policy="overflow", priority_groups=["g", "h"])
    assert two["priority_groups"] == ["g", "h"]
    none = await raw.make_consumer(f"{fresh_name}.none", ack_policy="none", **PINNED)
    assert none["ack_policy"] == "none"
    await raw.make_consumer(f"{fresh_name}.c")
    for policy in ("overflow", "pinned_client"):
        changed = await raw.make_consumer(f"{fresh_name}.c", priority_policy=policy, priority_groups=["g"])
        assert changed["priority_policy"] == policy
    assert "priority_groups" not in await raw.make_consumer(f"{fresh_name}.c")


@pytest.mark.requirement("G-05")
async def test_a_pull_must_name_a_group_that_there_is(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1", **OVERFLOW)
    assert await (await raw.pull(of)).status() == "400 Bad Request - Priority Group missing"
    assert await (await raw.pull(of, group="h")).status() == "400 Bad Request - Invalid Priority Group"
    assert len(await raw.take(of, group="g")) == 1


@pytest.mark.requirement("G-05")
async def test_a_group_is_ignored_where_the_consumer_has_none(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1")
    assert len(await raw.take(of, group="h")) == 1


@pytest.mark.requirement("G-06")
async def test_overflow_serves_a_pull_without_thresholds_and_one_whose_only_threshold_is_reached(
    raw: Raw, fresh_name: str
) -> None:
    of = await ready(raw, fresh_name, b"1", b"2", b"3", **OVERFLOW)
    assert sequence((await raw.take(of, group="g"))[0]) == 1
    assert sequence((await raw.take(of, group="g", min_pending=2))[0]) == 2
    assert sequence((await raw.take(of, group="g", min_ack_pending=2))[0]) == 3


@pytest.mark.requirement("G-06")
@pytest.mark.parametrize(
    "thresholds", [{"min_pending": 1, "min_ack_pending": 100}, {"min_pending": 100, "min_ack_pending": 1}]
)
async def test_overflow_serves_a_pull_with_one_of_two_thresholds_reached_but_before_2_12_it_wants_both(
    raw: Raw, fresh_name: str, thresholds: dict[str, int]
) -> None:
    of = await ready(raw, fresh_name, b"1", b"2", **OVERFLOW)
    await raw.take(of, group="g")
    answer = await (await raw.pull(of, group="g", expires=SOON, **thresholds)).status()
    assert answer == ("a message" if raw.version >= (2, 12) else "408 Request Timeout")


@pytest.mark.requirement("G-06")
async def test_overflow_lets_a_pull_below_its_thresholds_wait_with_heartbeats(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1", **OVERFLOW)
    pull = await raw.pull(of, group="g", min_pending=2, expires=LATER, idle_heartbeat=SOON)
    assert await pull.status() == "100 Idle Heartbeat"
    await raw.publish(f"{fresh_name}.a", b"2")
    answer = await pull.next()
    while status(answer):
        answer = await pull.next()
    assert sequence(answer) == 1


@pytest.mark.requirement("G-07")
@pytest.mark.parametrize("where", ["in the consumer's configuration", "in a pull"])
async def test_failover_is_ignored_in_a_pull_and_unknown_in_a_configuration(
    raw: Raw, fresh_name: str, where: str
) -> None:
    of = await ready(raw, fresh_name, b"1", **OVERFLOW)
    if where == "in a pull":
        assert len(await raw.take(of, group="g", failover=5)) == 1
    elif raw.version >= (2, 12):
        assert await raw.refused_consumer(f"{fresh_name}.d", failover=5, **OVERFLOW) == 10025
    else:
        assert "failover" not in await raw.make_consumer(f"{fresh_name}.d", failover=5, **OVERFLOW)


@pytest.mark.requirement("G-08", "G-14")
async def test_the_first_message_brings_the_pin_and_information_names_its_holder(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1", b"2", **PINNED)
    advisories = await raw.listen(f"$JS.EVENT.ADVISORY.CONSUMER.PINNED.{fresh_name}.c")
    (first,) = await raw.take(of, group="g")
    (second,) = await raw.take(of, group="g", id=pin_of(first))
    assert (sequence(second), pin_of(second)) == (2, pin_of(first))
    (group,) = (await raw.consumer(of))["priority_groups"]
    assert (group["group"], group["pinned_client_id"]) == ("g", pin_of(first))
    assert group["pinned_ts"]
    advisory = json.loads((await advisories.next_msg(ANSWER_SECONDS)).data)
    assert (advisory["group"], advisory["pinned_id"]) == ("g", pin_of(first))


@pytest.mark.requirement("G-08", "C-36")
async def test_the_pin_that_a_server_adds_does_not_count_in_bytes(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, bytes(50), **PINNED)
    pull = await raw.pull(of, group="g", max_bytes=1_000)
    message = await pull.message()
    assert pin_of(message)
    end = await pull.next()
    assert status(end) == "409 Batch Completed"
    assert end.headers
    assert int(end.headers["Nats-Pending-Bytes"]) == 1_000 - len(message.subject) - len(message.reply) - 50


@pytest.mark.requirement("G-09")
async def test_a_new_pull_with_a_wrong_pin_is_answered_423(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1", **PINNED)
    await raw.take(of, group="g")
    assert (await (await raw.pull(of, group="g", id="of-another")).status()).startswith("423 Nats-Pin-Id mismatch")


@pytest.mark.requirement("G-10")
async def test_a_pull_without_the_pin_waits_in_reserve_until_it_expires(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1", b"2", **PINNED)
    await raw.take(of, group="g")
    reserve = await raw.pull(of, group="g", expires=2 * SOON, idle_heartbeat=SOON)
    answer = await reserve.status()
    assert answer == "100 Idle Heartbeat"
    while answer == "100 Idle Heartbeat":
        answer = await reserve.status()
    assert answer == "408 Request Timeout"


@pytest.mark.requirement("G-11", "G-12", "G-14")
async def test_a_pin_expires_unless_its_holder_pulls_and_the_next_gets_another(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1", b"2", priority_timeout=1_000 * MILLISECOND, **PINNED)
    advisories = await raw.listen(f"$JS.EVENT.ADVISORY.CONSUMER.UNPINNED.{fresh_name}.c")
    (first,) = await raw.take(of, group="g")
    (second,) = await raw.take(of, group="g", expires=LATER)  # it waits in reserve until the pin has expired
    assert pin_of(second) != pin_of(first)
    assert json.loads((await advisories.next_msg(ANSWER_SECONDS)).data)["reason"] == "timeout"
    assert (await (await raw.pull(of, group="g", id=pin_of(first))).status()).startswith("423")


@pytest.mark.requirement("G-11")
async def test_a_pin_lasts_two_minutes_by_default(raw: Raw, fresh_name: str) -> None:
    await raw.make_stream(fresh_name)
    assert (await raw.make_consumer(f"{fresh_name}.c", **PINNED))["priority_timeout"] == 120_000 * MILLISECOND


@pytest.mark.requirement("G-12", "G-13", "G-14")
async def test_an_unpinned_group_passes_to_who_waits_and_the_old_pins_pull_is_answered_423(
    raw: Raw, fresh_name: str
) -> None:
    of = await ready(raw, fresh_name, b"1", **PINNED)
    advisories = await raw.listen(f"$JS.EVENT.ADVISORY.CONSUMER.UNPINNED.{fresh_name}.c")
    (first,) = await raw.take(of, group="g")
    holder = await raw.pull(of, group="g", id=pin_of(first), expires=LATER)
    reserve = await raw.pull(of, group="g", expires=LATER)
    await until_waiting(raw, of, 2)
    await raw.do(f"CONSUMER.UNPIN.{of}", {"group": "g"})
    assert json.loads((await advisories.next_msg(ANSWER_SECONDS)).data)["reason"] == "admin"
    await raw.publish(f"{fresh_name}.a", b"2")
    assert pin_of(await reserve.message()) != pin_of(first)
    assert await holder.status() == "423 Nats-Wrong-Pin-Id"


@pytest.mark.requirement("G-13")
async def test_unpinning_a_group_that_there_is_not_is_refused(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, **PINNED)
    assert await raw.refusal(f"CONSUMER.UNPIN.{of}", {"group": "h"}) == 10160


async def served(pulls: dict[str, Pull], count: int) -> list[str]:
    """Return the names of those pulls that got the first messages, in the order of these."""
    found: dict[int, str] = {}

    async def take(name: str, pull: Pull) -> None:
        found[sequence(await pull.message())] = name

    async with asyncio.timeout(ANSWER_SECONDS), asyncio.TaskGroup() as takers:
        for name, pull in pulls.items():
            takers.create_task(take(name, pull))
    return [found[number] for number in sorted(found)][:count]


@pytest.mark.requirement("G-16")
async def test_the_lowest_priority_number_is_served_first_and_zero_is_the_default(raw: Raw, fresh_name: str) -> None:
    await raw.make_stream(fresh_name)
    of = f"{fresh_name}.c"
    if raw.version < PRIORITIZED_SINCE:
        answer = await raw.api(
            f"CONSUMER.CREATE.{of}", {"stream_name": fresh_name, "config": {"durable_name": "c", **PRIORITIZED}}
        )
        assert answer["error"]["err_code"] == 10025
        return
    await raw.make_consumer(of, **PRIORITIZED)
    pulls = {}
    for priority in (9, 5, 1):
        pulls[str(priority)] = await raw.pull(of, group="g", priority=priority, expires=LATER)
    pulls["none"] = await raw.pull(of, group="g", expires=LATER)
    await until_waiting(raw, of, 4)
    await raw.publish(f"{fresh_name}.a", b"1", b"2", b"3", b"4")
    assert await served(pulls, 4) == ["none", "1", "5", "9"]


@pytest.mark.requirement("G-16")
@pytest.mark.parametrize("priority", [-1, 10])
async def test_a_priority_outside_0_to_9_is_a_bad_request(raw: Raw, fresh_name: str, priority: int) -> None:
    policy = PRIORITIZED if raw.version >= PRIORITIZED_SINCE else OVERFLOW
    of = await ready(raw, fresh_name, **policy)
    answer = await (await raw.pull(of, group="g", priority=priority, expires=SOON)).status()
    assert answer.startswith("400 Bad Request" if raw.version >= PRIORITIZED_SINCE else "408")


@pytest.mark.requirement("G-17")
async def test_what_belongs_to_another_policy_is_a_bad_request(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1", **PINNED)
    for threshold in ("min_pending", "min_ack_pending"):
        assert (await (await raw.pull(of, group="g", **{threshold: 1})).status()).startswith("400 Bad Request")
    await raw.make_consumer(f"{fresh_name}.d", **OVERFLOW)
    assert (await (await raw.pull(f"{fresh_name}.d", group="g", id="x")).status()).startswith("400 Bad Request")
