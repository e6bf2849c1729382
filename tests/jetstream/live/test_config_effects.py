"""What some settings do to messages and consumers, where our rules rely on it."""

import json

import pytest

from penstock_jetstream.config import STREAM, Update, is_made_by_server, plan_update, validate
from tests.jetstream.raw import ANSWER_SECONDS, Raw, connected
from tests.jetstream.scene import eventually
from tests.testbed.nats.server import NatsServer


@pytest.mark.requirement("X-06")
async def test_source_transforms_without_destinations_are_several_filters(raw: Raw, fresh_name: str) -> None:
    copy = f"{fresh_name}-copy"
    filters = [{"src": f"{fresh_name}.a.*", "dest": ""}, {"src": f"{fresh_name}.b"}]
    sources = [{"name": fresh_name, "subject_transforms": filters}]
    assert validate(STREAM, {"name": copy, "sources": sources}) == []
    assert validate(STREAM, {"name": copy, "sources": [{"name": "O", "subject_transforms": [{"src": "a..b"}]}]}) != []
    await raw.make_stream(fresh_name)
    for token in ("c", "a.x", "b"):
        await raw.publish(f"{fresh_name}.{token}", b"")
    await raw.make_stream(copy, subjects=[], sources=sources)

    async def has_copied() -> bool:
        state = (await raw.do(f"STREAM.INFO.{copy}", {"subjects_filter": ">"}))["state"]
        return {*state.get("subjects", ())} == {f"{fresh_name}.a.x", f"{fresh_name}.b"}

    await eventually(has_copied, "the copy has what one of the filters matches, and nothing else")


@pytest.mark.requirement("X-07")
async def test_message_may_live_for_a_second_at_least_where_the_stream_allows_it(raw: Raw, fresh_name: str) -> None:
    await raw.make_stream(fresh_name, allow_msg_ttl=True)
    await raw.make_stream(f"{fresh_name}-off", subjects=[f"{fresh_name}-off"])
    asked = [(f"{fresh_name}.a", "0.5s", 10165), (f"{fresh_name}.a", "soon", 10165), (f"{fresh_name}-off", "1s", 10166)]
    for subject, life, err_code in asked:
        reply = await raw.client.request(subject, b"", ANSWER_SECONDS, headers={"Nats-TTL": life})
        assert json.loads(reply.data)["error"]["err_code"] == err_code
    for life in ("1s", "5", "1500ms", "never"):
        await raw.publish(f"{fresh_name}.a", b"", headers={"Nats-TTL": life})


@pytest.mark.requirement("X-15")
async def test_consumer_of_a_server_that_copies_is_recognized(server: NatsServer, fresh_name: str) -> None:
    async with connected(**server.connect_arguments()) as raw:
        await raw.make_stream(fresh_name, retention="workqueue")
        await raw.make_stream(f"{fresh_name}-copy", subjects=[], sources=[{"name": fresh_name}])

        async def is_set_up() -> bool:
            return bool((await raw.do(f"CONSUMER.NAMES.{fresh_name}"))["total"])

        await eventually(is_set_up, "a consumer for the source")
        found = (await raw.do(f"CONSUMER.LIST.{fresh_name}"))["consumers"]
    assert [is_made_by_server(consumer["config"]) for consumer in found] == [True]
    assert not is_made_by_server({"durable_name": "etl", "metadata": {"_nats.ver": "2.15.1"}})


async def test_stream_without_readers_is_emptied_by_interest(server: NatsServer, fresh_name: str) -> None:
    """So since 2.14; 2.11 and 2.12 keep what they have until a consumer is created."""
    async with connected(**server.connect_arguments()) as raw:
        made = await raw.make_stream(fresh_name)
        await raw.publish(f"{fresh_name}.a", b"1")
        changed = {**made, "retention": "interest"}
        assert isinstance(plan_update(STREAM, changed, made), Update)
        await raw.do(f"STREAM.UPDATE.{fresh_name}", changed)

        async def is_empty() -> bool:
            return bool((await raw.do(f"STREAM.INFO.{fresh_name}"))["state"]["messages"] == 0)

        await eventually(is_empty, "a stream without interest is emptied")
