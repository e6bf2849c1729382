"""Streams and consumers over a link: seen, made, changed, paused, deleted, on each server that is supported."""

from collections.abc import Mapping
from typing import Any

from penstock_operator.plan.decision import Create, Delete, Failure, Pause, Recreate, Update
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Missing, Place, Present, Unknown
from penstock_operator.resources.conditions import fact_names
from penstock_operator.resources.consumer_status import ConsumerStatus
from penstock_operator.resources.stream_status import StreamStatus
from penstock_operator.services.links import Link
from tests.operator.links.linking import linked
from tests.testbed.nats.server import NatsServer

LONG_FROM_NOW = "2099-01-01T00:00:00Z"


def stream(name: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - the server's own fields
    return {"name": name, "subjects": [f"{name}.>"], "storage": "memory", **fields}


def consumer(name: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - the server's own fields
    return {"durable_name": name, "name": name, "ack_policy": "explicit", **fields}


async def made(link: Link, place: Place, config: Mapping[str, Any]) -> Present:
    present = await link.carry_out(place, Create(config))
    assert isinstance(present, Present)
    return present


async def test_what_is_not_there_is_missing_and_what_is_made_is_there(
    every_server: NatsServer, fresh_name: str
) -> None:
    async with linked(every_server) as link:
        place = Place(link.account, fresh_name)
        assert await link.observe(place) == Missing()
        present = await made(link, place, stream(fresh_name))
        assert present.config["subjects"] == [f"{fresh_name}.>"]
        assert present.facts["messages"] == 0
        assert await link.observe(place) == present


async def test_a_consumer_that_is_missing_is_told_from_its_stream_that_is(
    every_server: NatsServer, fresh_name: str
) -> None:
    async with linked(every_server) as link:
        place = Place(link.account, fresh_name, "reader")
        unknown = await link.observe(place)
        assert isinstance(unknown, Unknown)
        assert unknown.reason is Reason.STREAM_NOT_FOUND
        assert f"stream {fresh_name}" in unknown.message
        await made(link, Place(link.account, fresh_name), stream(fresh_name))
        assert await link.observe(place) == Missing()
        present = await made(link, place, consumer("reader"))
        assert present.facts["pending"] == 0
        assert await link.observe(place) == present


async def test_the_facts_are_those_that_statuses_show(every_server: NatsServer, fresh_name: str) -> None:
    async with linked(every_server) as link:
        in_stream = await made(link, Place(link.account, fresh_name), stream(fresh_name))
        in_consumer = await made(link, Place(link.account, fresh_name, "reader"), consumer("reader"))
        assert set(in_stream.facts) <= fact_names(StreamStatus)
        assert set(in_consumer.facts) <= fact_names(ConsumerStatus)
        StreamStatus.model_validate(in_stream.facts)
        ConsumerStatus.model_validate(in_consumer.facts)


async def test_making_what_is_there_and_equal_is_as_good(every_server: NatsServer, fresh_name: str) -> None:
    """An answer may be lost, and the operator killed before it is written down."""
    async with linked(every_server) as link:
        for place, config in (
            (Place(link.account, fresh_name), stream(fresh_name)),
            (Place(link.account, fresh_name, "reader"), consumer("reader")),
        ):
            first = await made(link, place, config)
            assert (await made(link, place, config)).config == first.config


async def test_making_what_is_there_and_different_changes_nothing_and_says_so(
    every_server: NatsServer, fresh_name: str
) -> None:
    async with linked(every_server) as link:
        for place, config, other in (
            (Place(link.account, fresh_name), stream(fresh_name), stream(fresh_name, max_msgs=7)),
            (Place(link.account, fresh_name, "reader"), consumer("reader"), consumer("reader", max_ack_pending=7)),
        ):
            before = await made(link, place, config)
            failure = await link.carry_out(place, Create(other))
            assert isinstance(failure, Failure)
            assert failure.passing
            assert await link.observe(place) == before


async def test_an_update_brings_what_it_says_and_never_makes_anew(every_server: NatsServer, fresh_name: str) -> None:
    async with linked(every_server) as link:
        for place, config, other in (
            (Place(link.account, fresh_name), stream(fresh_name), stream(fresh_name, max_msgs=7)),
            (Place(link.account, fresh_name, "reader"), consumer("reader"), consumer("reader", max_ack_pending=7)),
        ):
            gone = await link.carry_out(place, Update(other))
            assert isinstance(gone, Failure)
            assert gone.passing
            assert "create_or_update" not in gone.message, "that is for programmers"
            await made(link, place, config)
            present = await link.carry_out(place, Update(other))
            assert isinstance(present, Present)
            assert 7 in present.config.values()
            assert await link.observe(place) == present


async def test_what_is_deleted_is_gone_and_deleting_it_again_is_as_good(
    every_server: NatsServer, fresh_name: str
) -> None:
    async with linked(every_server) as link:
        streams, consumers = Place(link.account, fresh_name), Place(link.account, fresh_name, "reader")
        await made(link, streams, stream(fresh_name))
        await made(link, consumers, consumer("reader"))
        for place in (consumers, consumers, streams, streams, consumers):
            assert await link.carry_out(place, Delete()) is None
        assert await link.observe(streams) == Missing()


async def test_recreating_makes_what_no_update_can(every_server: NatsServer, fresh_name: str) -> None:
    async with linked(every_server) as link:
        place = Place(link.account, fresh_name)
        await made(link, place, stream(fresh_name))
        other = stream(fresh_name, storage="file")
        refused = await link.carry_out(place, Update(other))
        assert isinstance(refused, Failure)
        assert refused.reason is Reason.REFUSED
        assert not refused.passing
        present = await link.carry_out(place, Recreate(other))
        assert isinstance(present, Present)
        assert present.config["storage"] == "file"


async def test_a_consumer_is_paused_and_delivers_again(every_server: NatsServer, fresh_name: str) -> None:
    async with linked(every_server) as link:
        place = Place(link.account, fresh_name, "reader")
        await made(link, Place(link.account, fresh_name), stream(fresh_name))
        await made(link, place, consumer("reader"))
        paused = await link.carry_out(place, Pause(LONG_FROM_NOW))
        assert isinstance(paused, Present)
        assert paused.facts["paused"]
        assert paused.facts["pausedUntil"] == LONG_FROM_NOW
        assert paused.config["pause_until"] == LONG_FROM_NOW
        resumed = await link.carry_out(place, Pause(None))
        assert isinstance(resumed, Present)
        assert not resumed.facts["paused"]
        assert "pausedUntil" not in resumed.facts


async def test_a_refusal_says_what_was_to_be_done_to_what_and_what_to_do(
    every_server: NatsServer, fresh_name: str
) -> None:
    async with linked(every_server) as link:
        await made(link, Place(link.account, fresh_name), stream(fresh_name))
        other = f"{fresh_name}other"
        failure = await link.carry_out(Place(link.account, other), Create(stream(other, subjects=[f"{fresh_name}.a"])))
        assert isinstance(failure, Failure)
        assert failure.reason is Reason.REFUSED
        assert failure.passing, "the other stream may be deleted"
        assert f"Stream {other} could not be created" in failure.message
        assert "err_code 10065" in failure.message


async def test_what_a_server_is_too_old_for_is_not_sent(every_server: NatsServer, fresh_name: str) -> None:
    async with linked(every_server) as link:
        place = Place(link.account, fresh_name)
        outcome = await link.carry_out(place, Create(stream(fresh_name, allow_batched=True)))
        level = link.facts.api_level
        assert level is not None
        if level >= 4:
            assert isinstance(outcome, Present)
            return
        assert isinstance(outcome, Failure)
        assert outcome.reason is Reason.LEVEL_TOO_LOW
        assert f"API level {level}" in outcome.message or f"level {level}" in outcome.message
        assert await link.observe(place) == Missing()
