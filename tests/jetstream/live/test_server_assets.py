"""What servers unexpectedly grant and refuse of streams and consumers, without our client library.

test_config_fields and test_config_refusals have each field of a configuration.
"""

from typing import Any

import pytest

from tests.jetstream.raw import Raw, ready

RESET_SINCE = (2, 14)


@pytest.mark.requirement("X-04")
async def test_reserved_metadata_is_accepted_but_written_over(raw: Raw, fresh_name: str) -> None:
    await raw.make_stream(fresh_name)
    mine = {"_nats.mine": "kept", "_nats.req.level": "99", "_nats.ver": "mine", "_nats.level": "mine"}
    stored = (await raw.make_consumer(f"{fresh_name}.c", metadata=mine))["metadata"]
    assert stored["_nats.mine"] == "kept"
    assert all(stored[name] != mine[name] for name in ("_nats.req.level", "_nats.ver", "_nats.level"))


async def is_unanswered(raw: Raw, operation: str) -> bool:
    """Tell whether a server says nothing at all to a request, not even that no one is there to answer it."""
    inbox = raw.client.new_inbox()
    answers = await raw.listen(inbox)
    await raw.client.publish(f"$JS.API.{operation}", b"", reply=inbox)
    await raw.do("INFO")  # answered after it
    await raw.client.flush()
    return answers.pending_msgs == 0


@pytest.mark.requirement("X-14")
async def test_reset_goes_no_further_back_than_the_policy(raw: Raw, fresh_name: str, subtests: pytest.Subtests) -> None:
    await ready(raw, fresh_name, b"1", b"2", b"3")
    by_sequence = {"deliver_policy": "by_start_sequence", "opt_start_seq": 2}
    cases: list[tuple[dict[str, Any], int, int | None]] = [
        ({"deliver_policy": "all"}, 1, None),
        (by_sequence, 2, None),
        (by_sequence, 1, 10204),
        ({"deliver_policy": "new"}, 1, 10204),
        ({"deliver_policy": "last"}, 1, 10204),
        ({"deliver_policy": "new"}, 0, None),
    ]
    for number, (policy, asked, err_code) in enumerate(cases):
        of = f"{fresh_name}.{number}"
        await raw.make_consumer(of, **policy)
        with subtests.test(str(policy), asked=asked):
            if raw.version < RESET_SINCE:
                assert await is_unanswered(raw, f"CONSUMER.RESET.{of}")
                continue
            answer = await raw.api(f"CONSUMER.RESET.{of}", {"seq": asked} if asked else b"")
            assert answer.get("error", {}).get("err_code") == err_code


@pytest.mark.requirement("X-17", "X-06")
async def test_each_key_has_one_partition_and_each_partition_one_consumer(raw: Raw, fresh_name: str) -> None:
    await raw.make_stream(
        fresh_name,
        subject_transform={
            "src": f"{fresh_name}.*",
            "dest": f"{fresh_name}.{{{{partition(3,1)}}}}.{{{{wildcard(1)}}}}",
        },
    )
    keys = [f"key{number}" for number in range(12)]
    for key in [*keys, *keys]:
        await raw.publish(f"{fresh_name}.{key}", b"1")
    partitions: list[set[str]] = []
    for member, owned in {"one": [0, 1], "two": [2]}.items():
        filters = [f"{fresh_name}.{partition}.>" for partition in owned]
        await raw.make_consumer(f"{fresh_name}.{member}", filter_subjects=filters)
        count = (await raw.consumer(f"{fresh_name}.{member}"))["num_pending"]
        messages = await raw.take(f"{fresh_name}.{member}", count)
        partitions.append({message.subject.split(".")[2] for message in messages})
    assert partitions[0] | partitions[1] == set(keys)
    assert not partitions[0] & partitions[1]
