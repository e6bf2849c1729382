"""How servers treat priority groups, without our client library: what they accept, whom they serve, and pins."""

import json

import pytest
from nats.aio.msg import Msg

from tests.jetstream.raw import ANSWER_SECONDS, LATER, MILLISECOND, Pull, Raw, ready, sequence, until_waiting

SOON = 100 * MILLISECOND

PINNED = {"priority_groups": ["g"], "priority_policy": "pinned_client"}
OVERFLOW = {"priority_groups": ["g"], "priority_policy": "overflow"}
PRIORITIZED = {"priority_groups": ["g"], "priority_policy": "prioritized"}
PRIORITIZED_SINCE = (2, 12)


def pin_of(message: Msg) -> str:
    assert message.headers
    return message.headers["Nats-Pin-Id"]


@pytest.mark.requirement("G-02")
async def test_groups_name_has_at_most_16_characters_of_a_few_kinds(raw: Raw, fresh_name: str) -> None:
    await raw.make_stream(fresh_name)
    await raw.make_consumer(f"{fresh_name}.c", priority_policy="overflow", priority_groups=["aZ09/_=-89abcdef"])
    for name in ("0123456789abcdefg", "with space", "a.b", "a*", ""):
        config = {"priority_policy": "overflow", "priority_groups": [name]}
        assert await raw.refused_consumer(f"{fresh_name}.d", **config) in {10160, 10161, 10162}, name


@pytest.mark.requirement("G-04")
async def test_servers_accept_what_the_adr_forbids(raw: Raw, fresh_name: str) -> None:
    await raw.make_stream(fresh_name)
    two = await raw.make_consumer(f"{fresh_name}.two", priority_policy="overflow", priority_groups=["g", "h"])
    assert two["priority_groups"] == ["g", "h"]
    none = await raw.make_consumer(f"{fresh_name}.none", ack_policy="none", **PINNED)
    assert none["ack_policy"] == "none"
    timeout = await raw.make_consumer(f"{fresh_name}.timeout", priority_timeout=1_000 * MILLISECOND, **OVERFLOW)
    assert timeout["priority_timeout"] == 1_000 * MILLISECOND
    await raw.make_consumer(f"{fresh_name}.c")
    for policy in ("overflow", "pinned_client"):
        changed = await raw.make_consumer(f"{fresh_name}.c", priority_policy=policy, priority_groups=["g"])
        assert changed["priority_policy"] == policy
    assert "priority_groups" not in await raw.make_consumer(f"{fresh_name}.c")


@pytest.mark.requirement("G-06")
async def test_overflow_serves_a_pull_whose_threshold_is_reached_or_one_of_two_since_2_12(
    raw: Raw, fresh_name: str
) -> None:
    of = await ready(raw, fresh_name, b"1", b"2", b"3", b"4", b"5", **OVERFLOW)
    assert sequence((await raw.take(of, group="g"))[0]) == 1
    assert sequence((await raw.take(of, group="g", min_pending=2))[0]) == 2
    assert sequence((await raw.take(of, group="g", min_ack_pending=2))[0]) == 3
    for thresholds in ({"min_pending": 1, "min_ack_pending": 100}, {"min_pending": 100, "min_ack_pending": 1}):
        expires = LATER if raw.version >= (2, 12) else SOON
        answer = await (await raw.pull(of, group="g", expires=expires, **thresholds)).status()
        assert answer == ("a message" if raw.version >= (2, 12) else "408 Request Timeout")


@pytest.mark.requirement("G-07")
async def test_failover_is_ignored_in_a_pull_and_unknown_in_a_configuration(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1", **OVERFLOW)
    assert len(await raw.take(of, group="g", failover=5)) == 1
    if raw.version >= (2, 12):
        assert await raw.refused_consumer(f"{fresh_name}.d", failover=5, **OVERFLOW) == 10025
    else:
        assert "failover" not in await raw.make_consumer(f"{fresh_name}.d", failover=5, **OVERFLOW)


@pytest.mark.requirement("G-11", "G-12", "G-14")
async def test_pin_expires_unless_its_holder_pulls_and_the_next_client_gets_another(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1", b"2", priority_timeout=1_000 * MILLISECOND, **PINNED)
    advisories = await raw.listen(f"$JS.EVENT.ADVISORY.CONSUMER.UNPINNED.{fresh_name}.c")
    (first,) = await raw.take(of, group="g")
    (second,) = await raw.take(of, group="g")  # it waits in reserve until the pin has expired
    assert pin_of(second) != pin_of(first)
    assert json.loads((await advisories.next_msg(ANSWER_SECONDS)).data)["reason"] == "timeout"
    assert (await (await raw.pull(of, group="g", id=pin_of(first))).status()).startswith("423")
    default = await raw.make_consumer(f"{fresh_name}.default", **PINNED)
    assert default["priority_timeout"] == 120_000 * MILLISECOND


@pytest.mark.requirement("G-08", "G-12", "G-13", "G-14")
async def test_unpinned_group_passes_to_the_client_in_reserve(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1", **PINNED)
    pins = await raw.listen(f"$JS.EVENT.ADVISORY.CONSUMER.PINNED.{fresh_name}.c")
    advisories = await raw.listen(f"$JS.EVENT.ADVISORY.CONSUMER.UNPINNED.{fresh_name}.c")
    (first,) = await raw.take(of, group="g")
    pinned = json.loads((await pins.next_msg(ANSWER_SECONDS)).data)
    assert (pinned["group"], pinned["pinned_id"]) == ("g", pin_of(first))
    holder = await raw.pull(of, group="g", id=pin_of(first))
    reserve = await raw.pull(of, group="g")
    await until_waiting(raw, of, 2)
    await raw.do(f"CONSUMER.UNPIN.{of}", {"group": "g"})
    assert json.loads((await advisories.next_msg(ANSWER_SECONDS)).data)["reason"] == "admin"
    await raw.publish(f"{fresh_name}.a", b"2")
    assert pin_of(await reserve.message()) != pin_of(first)
    assert await holder.status() == "423 Nats-Wrong-Pin-Id"


async def served(pulls: dict[str, Pull]) -> list[str]:
    """Return the names of the pulls in the order of the messages that they got."""
    sequences = {name: sequence(await pull.message()) for name, pull in pulls.items()}
    return sorted(sequences, key=lambda name: sequences[name])


@pytest.mark.requirement("G-16")
async def test_lowest_priority_number_is_served_first_and_zero_is_the_default(raw: Raw, fresh_name: str) -> None:
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
    assert await served(pulls) == ["none", "1", "5", "9"]
