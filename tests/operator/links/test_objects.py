"""Streams and consumers over a link: observed, created, changed, paused, deleted, on each supported server."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from penstock_operator.plan.decision import Action, Create, Delete, Failure, Pause, Recreate, Update
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Missing, Place, Present, Unknown
from penstock_operator.resources.conditions import fact_names
from penstock_operator.resources.consumer_status import ConsumerStatus
from penstock_operator.resources.stream_status import StreamStatus
from penstock_operator.services.links import Link
from tests.operator.links.linking import Kept, a_consumer, a_stream
from tests.testbed.nats.server import NatsServer

LONG_FROM_NOW = "2099-01-01T00:00:00Z"


class Here(NamedTuple):
    """A link, and a stream and a consumer of the test's own."""

    link: Link
    name: str
    stream: Place
    consumer: Place

    async def succeed(self, place: Place, action: Action) -> Present:
        outcome = await self.link.carry_out(place, action)
        assert isinstance(outcome, Present)
        return outcome

    async def fail(self, place: Place, action: Action) -> Failure:
        outcome = await self.link.carry_out(place, action)
        assert isinstance(outcome, Failure)
        return outcome

    async def make(self, place: Place, config: Mapping[str, Any]) -> Present:
        return await self.succeed(place, Create(config))

    async def make_both(self) -> tuple[Present, Present]:
        return await self.make(self.stream, a_stream(self.name)), await self.make(self.consumer, a_consumer())

    def variants(self) -> list[tuple[Place, dict[str, Any], dict[str, Any]]]:
        """Return the stream and the consumer, each with its configuration and another."""
        return [
            (self.stream, a_stream(self.name), a_stream(self.name, max_msgs=7)),
            (self.consumer, a_consumer(), a_consumer(max_ack_pending=7)),
        ]


@pytest.fixture
async def here(every_server: NatsServer, kept: Kept, fresh_name: str) -> Here:
    link = await kept.link_to(every_server)
    return Here(link, fresh_name, Place(link.account, fresh_name), Place(link.account, fresh_name, "reader"))


async def test_created_objects_are_observed_with_the_facts_of_their_status(here: Here) -> None:
    link, name, stream, consumer = here
    assert await link.observe(stream) == Missing()
    unknown = await link.observe(consumer)
    assert isinstance(unknown, Unknown)
    assert unknown.reason is Reason.STREAM_NOT_FOUND
    assert f"stream {name}" in unknown.message
    in_stream = await here.make(stream, a_stream(name))
    assert in_stream.config["subjects"] == [f"{name}.>"]
    assert in_stream.facts["messages"] == 0
    assert await link.observe(stream) == in_stream
    assert await link.observe(consumer) == Missing()
    in_consumer = await here.make(consumer, a_consumer())
    assert in_consumer.facts["pending"] == 0
    assert await link.observe(consumer) == in_consumer
    assert set(in_stream.facts) <= fact_names(StreamStatus)
    assert set(in_consumer.facts) <= fact_names(ConsumerStatus)
    StreamStatus.model_validate(in_stream.facts)
    ConsumerStatus.model_validate(in_consumer.facts)


async def test_creating_again_succeeds_if_equal_and_fails_if_different(here: Here) -> None:
    """An answer may be lost, and the operator may be killed before it writes the answer down."""
    for place, config, other in here.variants():
        first = await here.make(place, config)
        assert (await here.make(place, config)).config == first.config
        failure = await here.fail(place, Create(other))
        assert failure.passing
        assert await here.link.observe(place) == first


async def test_update_changes_objects_and_never_creates_them(here: Here) -> None:
    for place, config, other in here.variants():
        gone = await here.fail(place, Update(other))
        assert gone.passing
        assert "create_or_update" not in gone.message, "that is for programmers"
        await here.make(place, config)
        present = await here.succeed(place, Update(other))
        assert 7 in present.config.values()
        assert await here.link.observe(place) == present


async def test_deleting_again_succeeds(here: Here) -> None:
    await here.make_both()
    for place in (here.consumer, here.consumer, here.stream, here.stream, here.consumer):
        assert await here.link.carry_out(place, Delete()) is None
    assert await here.link.observe(here.stream) == Missing()


async def test_recreating_changes_what_an_update_cannot(here: Here) -> None:
    await here.make(here.stream, a_stream(here.name))
    other = a_stream(here.name, storage="file")
    refused = await here.fail(here.stream, Update(other))
    assert (refused.reason, refused.passing) == (Reason.REFUSED, False)
    present = await here.succeed(here.stream, Recreate(other))
    assert present.config["storage"] == "file"


async def test_consumer_is_paused_and_resumed(here: Here) -> None:
    await here.make_both()
    paused = await here.succeed(here.consumer, Pause(LONG_FROM_NOW))
    assert paused.facts["paused"]
    assert paused.facts["pausedUntil"] == paused.config["pause_until"] == LONG_FROM_NOW
    resumed = await here.succeed(here.consumer, Pause(None))
    assert not resumed.facts["paused"]
    assert "pausedUntil" not in resumed.facts


async def test_refusal_names_the_action_the_object_and_the_servers_error(here: Here) -> None:
    await here.make(here.stream, a_stream(here.name))
    other = f"{here.name}other"
    overlapping = Create(a_stream(other, subjects=[f"{here.name}.a"]))
    failure = await here.fail(Place(here.link.account, other), overlapping)
    assert failure.reason is Reason.REFUSED
    assert failure.passing, "the other stream may be deleted"
    assert f"Stream {other} could not be created" in failure.message
    assert "err_code 10065" in failure.message


async def test_setting_that_a_server_is_too_old_for_is_not_sent(here: Here) -> None:
    batched = Create(a_stream(here.name, allow_batched=True))
    level = here.link.facts.api_level
    assert level is not None
    if level >= 4:
        await here.succeed(here.stream, batched)
        return
    failure = await here.fail(here.stream, batched)
    assert failure.reason is Reason.LEVEL_TOO_LOW
    assert f"level {level}" in failure.message
    assert await here.link.observe(here.stream) == Missing()
