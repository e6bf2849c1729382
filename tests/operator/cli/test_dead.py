"""`penstock dead`: what nobody could process is found, understood, sent again exactly as it was, or thrown away."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from penstock_jetstream.errors import MissingError
from penstock_operator.plan.dead_letters import dead_letter, replay_id
from tests.operator.cli.commands import Declared, penstock
from tests.operator.cli.groups import Shop, broken, shop
from tests.testbed.nats.server import NatsServer
from tests.worker.engine.working import PATIENCE_SECONDS, PAUSE_SECONDS

PENSTOCK = str(Path(sys.executable).with_name("penstock"))
MANY = 3000


@pytest.fixture
async def orders(declared: Declared, server: NatsServer, fresh_name: str) -> AsyncIterator[Shop]:
    async with shop(declared, server.url, fresh_name) as made:
        yield made


async def test_letters_are_listed_the_newest_first(orders: Shop) -> None:
    await orders.bury(b"1", b"22", b"333")
    outcome = await orders.dead("list", "--limit", "2")
    heading, *rows = outcome.stdout.splitlines()
    assert heading.split() == ["GROUP", "SEQ", "AGE", "MESSAGE", "SUBJECT", "SIZE", "ATTEMPTS", "REASON"]
    assert [row.split()[:2] for row in rows] == [["orders", "3"], ["orders", "2"]]
    assert rows[0].endswith("no amount in 3")
    assert outcome.stderr == "QueueGroup default/orders: 2 of 3 dead letters are shown.\n"


async def test_letters_are_chosen_by_what_they_say(orders: Shop) -> None:
    await orders.bury(b"1", b"2")
    listed = await orders.data("dead", "list", "--where", "reason=*in 2", "--where", "worker=orders-0")
    assert [each["sequence"] for each in listed["deadLetters"]] == [2]


async def test_where_there_are_none_none_are_listed(orders: Shop) -> None:
    assert await orders.data("dead", "list") == {"deadLetters": []}
    replayed = await orders.dead("replay", "--all")
    assert (replayed.exit_code, replayed.stdout) == (0, "0 replayed.\n")


async def test_in_a_stream_that_has_had_none_yet_none_are_listed(orders: Shop) -> None:
    with orders.work.driver():
        await orders.work.drained()
    assert await orders.letters() == 0
    assert await orders.data("dead", "list") == {"deadLetters": []}


async def test_a_letter_is_shown_with_all_that_it_says(orders: Shop) -> None:
    orders.work.script.process = broken
    await orders.work.publish(b'{"id": 1}\n{}', headers={"trace-id": "abc"})
    with orders.work.driver():
        await orders.work.drained()
    text = (await orders.dead("show", "1")).stdout
    for part in ("Error:", "KeyError", "etl.py:3", "  line 3", "trace-id: abc", '  {"id": 1}', "Stored:"):
        assert part in text
    assert (await orders.dead("show", "1", "--raw")).stdout == '{"id": 1}\n{}'
    missing = await orders.dead("show", "2")
    assert (missing.exit_code, "There is no dead letter 2" in missing.stderr) == (1, True)


async def test_data_that_is_no_text_is_shown_as_numbers(orders: Shop) -> None:
    await orders.bury(b"\xff\x00penstock")
    assert "00000000  ff 00 70 65 6e 73 74 6f 63 6b" in (await orders.dead("show", "1")).stdout


async def test_of_a_large_message_the_beginning_is_shown(orders: Shop) -> None:
    await orders.bury("é".encode() * 10_000 + b"\xff")
    text = (await orders.dead("show", "1")).stdout
    assert text.count("é") == 8192
    assert text.endswith("  … --raw writes all of it\n")


async def test_a_replayed_message_is_what_it_was_and_its_letter_is_gone(orders: Shop) -> None:
    await orders.bury(b"1", subject="eu", headers={"trace-id": "abc"}, message_id="order-1")
    outcome = await orders.dead("replay", "1")
    assert (outcome.exit_code, outcome.stdout) == (0, f"1 replayed: 1 to {orders.work.stream}.\n")
    message = await orders.work.js.streams.get_message(orders.work.stream, sequence=2)
    assert (message.subject, message.data) == (f"{orders.work.stream}.eu", b"1")
    assert message.headers["trace-id"] == "abc"
    assert message.headers["Penstock-Original-Nats-Msg-Id"] == "order-1"
    with pytest.raises(MissingError):
        await orders.work.js.streams.get_message(orders.work.dead, sequence=1)


async def test_all_or_those_of_which_something_is_so_are_replayed(orders: Shop) -> None:
    await orders.bury(*(b"%d" % number for number in range(1, 601)))
    chosen = await orders.dead("replay", "--where", "reason=*in 7")
    assert chosen.stdout.startswith("1 replayed")
    everything = await orders.dead("replay", "--all")
    assert everything.stdout.startswith("599 replayed")
    state = (await orders.work.js.streams.info(orders.work.dead)).state
    assert state.messages == 0
    assert (await orders.work.js.streams.info(orders.work.stream)).state.messages == 1200


async def test_a_replay_that_was_interrupted_before_letters_were_removed_sends_nothing_twice(orders: Shop) -> None:
    await orders.bury(b"1")
    stored = await orders.work.js.streams.get_message(orders.work.dead, sequence=1)
    letter = dead_letter(1, stored.time, stored.headers)
    message_id = replay_id(orders.work.dead, letter)
    await orders.work.js.publish(letter.subject, b"1", message_id=message_id)  # and then the command was killed
    outcome = await orders.dead("replay", "--all")
    assert "1 of them had been sent before" in outcome.stderr
    assert (await orders.work.js.streams.info(orders.work.stream)).state.messages == 2, "the message, and one replay"
    assert await orders.letters() == 0


async def test_a_replay_that_is_killed_and_repeated_sends_each_message_once(orders: Shop) -> None:
    await orders.bury(*(b"%d" % number for number in range(MANY)))
    command = [PENSTOCK, "dead", "replay", "--all", "-f", str(orders.declared.folder)]
    replaying = await asyncio.create_subprocess_exec(*command)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if await orders.letters() < MANY:
                break
            await asyncio.sleep(PAUSE_SECONDS)
    replaying.kill()
    await replaying.wait()
    assert (await orders.dead("replay", "--all")).exit_code == 0  # the server may have more of the first to do
    assert await orders.letters() == 0
    sent = [message.data async for message in orders.work.js.direct.read(orders.work.stream, start_sequence=MANY + 1)]
    assert sorted(map(int, sent)) == list(range(MANY))


async def test_nothing_is_replayed_that_would_stay_a_dead_letter_as_well(orders: Shop) -> None:
    await orders.bury(b"1")
    await orders.work.js.streams.modify(orders.work.dead, lambda config: {**config, "deny_delete": True})
    outcome = await orders.dead("replay", "--all")
    assert (outcome.exit_code, "lets nobody remove messages" in outcome.stderr) == (1, True)
    assert (await orders.work.js.streams.info(orders.work.stream)).state.messages == 1


async def test_a_letter_whose_subject_no_stream_takes_any_more_stays(orders: Shop) -> None:
    await orders.bury(b"1", subject="eu")
    await orders.work.js.streams.modify(orders.work.stream, lambda config: {**config, "subjects": ["else.>"]})
    outcome = await orders.dead("replay", "--all")
    assert outcome.exit_code == 1
    assert f"1: No stream takes its subject {orders.work.stream}.eu any more" in outcome.stderr
    assert "1 could not be replayed, and stay dead letters." in outcome.stderr
    assert await orders.letters() == 1


async def test_a_dry_run_says_what_would_be_sent_and_sends_nothing(orders: Shop) -> None:
    await orders.bury(b"1", subject="eu")
    outcome = await orders.dead("replay", "--all", "--dry-run")
    assert outcome.stdout == f"1: to {orders.work.stream}.eu\n"
    assert await orders.letters() == 1


async def test_letters_of_a_stream_without_direct_gets_are_read_all_the_same(orders: Shop) -> None:
    await orders.bury(b"1", b"2", b"3")
    await orders.work.js.streams.modify(orders.work.dead, lambda config: {**config, "allow_direct": False})
    listed = await orders.data("dead", "list")
    assert [each["sequence"] for each in listed["deadLetters"]] == [3, 2, 1]


async def test_letters_of_other_groups_in_the_same_stream_are_left_alone(orders: Shop) -> None:
    await orders.bury(b"1")
    ours = f"dead.{orders.work.stream}"
    await orders.work.js.streams.modify(orders.work.dead, lambda config: {**config, "subjects": [f"{ours}.>"]})
    await orders.work.js.publish(f"{ours}.others.a", b"theirs", expected_stream=orders.work.dead)
    assert len((await orders.data("dead", "list"))["deadLetters"]) == 1
    assert (await orders.dead("show", "2")).exit_code == 1
    assert (await orders.dead("discard", "--all", "--yes")).stdout == "1 thrown away.\n"
    assert await orders.letters() == 1


async def test_letters_are_thrown_away_after_a_question(orders: Shop) -> None:
    await orders.bury(b"1", b"2")
    assert (await orders.dead("discard", "1")).exit_code == 1, "nobody said yes"
    assert await orders.letters() == 2
    assert (await orders.dead("discard", "1", "--yes")).stdout == "1 thrown away.\n"
    assert [each["sequence"] for each in (await orders.data("dead", "list"))["deadLetters"]] == [2]


async def test_of_several_groups_it_has_to_be_said_which_is_meant(orders: Shop, declared: Declared) -> None:
    await orders.bury(b"1")
    declared.consumer("more", orders.work.stream.lower(), name="more")
    handler = {"entrypoint": "etl:process", "configMapRef": {"name": "code"}}
    declared.write("QueueGroup", "more", consumerRef={"name": "more"}, handler=handler)
    unsaid = await orders.dead("show", "1")
    assert (unsaid.exit_code, "--group NAME" in unsaid.stderr) == (2, True)
    assert (await orders.dead("show", "1", "--group", "default/orders")).exit_code == 0
    assert (await orders.dead("show", "1", "--group", "nobody")).exit_code == 1
    listed = await orders.data("dead", "list", "orders")
    assert json.dumps(listed).count("no amount") == 1


@pytest.mark.parametrize(
    "arguments",
    [["replay"], ["replay", "1", "--all"], ["discard", "--all", "--where", "reason=*"], ["replay", "--where", "x"]],
    ids=" ".join,
)
def test_wrong_usage_is_told(arguments: list[str]) -> None:
    assert penstock("dead", *arguments, "-f", "nowhere").exit_code == 2
