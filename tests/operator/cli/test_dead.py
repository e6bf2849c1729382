"""`penstock dead`: dead letters are listed, shown, replayed exactly as they were, and discarded."""

import asyncio
import json

import pytest

from penstock_jetstream.errors import MissingError
from penstock_operator.plan.dead_letters import dead_letter, replay_id
from tests.operator.cli.groups import HANDLER, RunningGroup, broken
from tests.operator.running import PENSTOCK
from tests.testbed.waiting import eventually_async

MANY = 3000


async def test_dead_letters_are_listed_with_the_newest_first(orders: RunningGroup) -> None:
    await orders.dead_letter(b"1", b"22", b"333")
    outcome = await orders.dead("list", "--limit", "2")
    heading, *rows = outcome.stdout.splitlines()
    assert heading.split() == ["GROUP", "SEQ", "AGE", "MESSAGE", "SUBJECT", "SIZE", "ATTEMPTS", "REASON"]
    assert [row.split()[:2] for row in rows] == [[orders.group, "3"], [orders.group, "2"]]
    assert rows[0].endswith("no amount in 3")
    newest = f"QueueGroup default/{orders.group}: the newest"
    assert outcome.stderr == f"{newest} 2 of 3 dead letters are shown; --limit shows more.\n"
    chosen = await orders.dead("list", "--where", "reason=*amount*", "--limit", "1")
    assert chosen.stderr == f"{newest} 1 that --where selects are shown; --limit shows more.\n"
    assert (await orders.dead("list", "--where", "reason=*in 2")).stderr == ""
    assert await orders.listed("--where", "reason=*in 2", "--where", f"worker={orders.group}-0") == [2]
    await orders.work.js.streams.modify(orders.work.dead, lambda config: {**config, "allow_direct": False})
    assert await orders.listed() == [3, 2, 1], "without direct gets as well"


async def test_without_dead_letters_the_list_is_empty(orders: RunningGroup) -> None:
    assert await orders.listed() == []
    replayed = await orders.dead("replay", "--all")
    assert (replayed.exit_code, replayed.stdout) == (0, "0 replayed.\n")
    with orders.work.driver():
        await orders.work.drained()
    assert await orders.dead_letter_count() == 0
    assert await orders.listed() == []


async def test_the_end_of_a_traceback_is_listed_and_numbers_are_numbers(orders: RunningGroup) -> None:
    trace = r"Traceback (most recent call last):\n  File etl.py, line 9\nValueError: no calibration for bad\n"
    headers = {"Penstock-Reason": "It failed.", "Penstock-Error": "PythonException", "Penstock-Error-Message": trace}
    headers |= {"Penstock-Sequence": "7", "Penstock-Attempts": "2", "Penstock-Delivered": "unknown"}
    await orders.work.js.publish(f"{orders.work.settings.engine.dead_letter_subject}.a", b"{}", headers=headers)
    assert (await orders.dead("list")).stdout.splitlines()[-1].endswith(" ValueError: no calibration for bad")
    [letter] = (await orders.data("dead", "list"))["deadLetters"]
    assert [letter[name] for name in ("streamSequence", "attempts", "delivered")] == [7, 2, "unknown"]


async def test_messages_that_are_not_text_or_large_are_shown_readably(orders: RunningGroup) -> None:
    await orders.dead_letter(b"\xff\x00penstock", "é".encode() * 10_000 + b"\xff")
    assert "00000000  ff 00 70 65 6e 73 74 6f 63 6b" in (await orders.dead("show", "1")).stdout
    text = (await orders.dead("show", "2")).stdout
    assert text.count("é") == 8192
    assert text.endswith("  … --raw writes all of it\n")


@pytest.mark.interpreter
async def test_a_killed_replay_that_is_repeated_sends_each_message_once(orders: RunningGroup) -> None:
    await orders.dead_letter(*(b"%d" % number for number in range(MANY)))
    replaying = await asyncio.create_subprocess_exec(PENSTOCK, "dead", "replay", "--all", "-f", orders.declared.folder)

    async def has_begun() -> bool:
        return await orders.dead_letter_count() < MANY

    await eventually_async(has_begun, "the first messages are replayed")
    replaying.kill()
    await replaying.wait()
    assert (await orders.dead("replay", "--all")).exit_code == 0  # the server may have more of the first to do
    assert await orders.dead_letter_count() == 0
    sent = [message.data async for message in orders.work.js.direct.read(orders.work.stream, start_sequence=MANY + 1)]
    assert sorted(map(int, sent)) == list(range(MANY))


async def test_a_dead_letter_is_discarded_after_a_confirmation(orders: RunningGroup) -> None:
    await orders.dead_letter(b"1", b"2")
    assert (await orders.dead("discard", "1")).exit_code == 1, "nothing was confirmed"
    assert await orders.dead_letter_count() == 2
    assert (await orders.dead("discard", "1", "--yes")).stdout == "1 thrown away.\n"
    assert await orders.listed() == [2]


async def test_one_of_several_groups_must_be_chosen(orders: RunningGroup) -> None:
    await orders.dead_letter(b"1")
    orders.declared.consumer("more", orders.work.stream.lower(), name="more")
    orders.declared.write("QueueGroup", "more", consumerRef={"name": "more"}, handler=HANDLER)
    unchosen = await orders.dead("show", "1")
    assert (unchosen.exit_code, "--group NAME" in unchosen.stderr) == (2, True)
    assert (await orders.dead("show", "1", "--group", f"default/{orders.group}")).exit_code == 0
    assert (await orders.dead("show", "1", "--group", "missing")).exit_code == 1
    listed = await orders.data("dead", "list", orders.group)
    assert json.dumps(listed).count("no amount") == 1


async def test_a_dead_letter_is_shown_with_its_error_headers_and_message(orders: RunningGroup) -> None:
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


async def test_a_replayed_message_is_unchanged_and_its_dead_letter_is_removed(orders: RunningGroup) -> None:
    await orders.dead_letter(b"1", subject="eu", headers={"trace-id": "abc"}, message_id="order-1")
    outcome = await orders.dead("replay", "1")
    assert (outcome.exit_code, outcome.stdout) == (0, f"1 replayed: 1 to {orders.work.stream}.\n")
    message = await orders.work.js.streams.get_message(orders.work.stream, sequence=2)
    assert (message.subject, message.data) == (f"{orders.work.stream}.eu", b"1")
    assert message.headers["trace-id"] == "abc"
    assert message.headers["Penstock-Original-Nats-Msg-Id"] == "order-1"
    with pytest.raises(MissingError):
        await orders.work.js.streams.get_message(orders.work.dead, sequence=1)


async def test_selected_or_all_dead_letters_are_replayed(orders: RunningGroup) -> None:
    await orders.dead_letter(*(b"%d" % number for number in range(1, 601)))
    chosen = await orders.dead("replay", "--where", "reason=*in 7")
    assert chosen.stdout.startswith("1 replayed")
    everything = await orders.dead("replay", "--all")
    assert everything.stdout.startswith("599 replayed")
    state = (await orders.work.js.streams.info(orders.work.dead)).state
    assert state.messages == 0
    assert (await orders.work.js.streams.info(orders.work.stream)).state.messages == 1200


async def test_a_replay_killed_before_it_removes_dead_letters_sends_no_message_twice(orders: RunningGroup) -> None:
    await orders.dead_letter(b"1")
    stored = await orders.work.js.streams.get_message(orders.work.dead, sequence=1)
    letter = dead_letter(1, stored.time, stored.headers)
    message_id = replay_id(orders.work.dead, letter)
    await orders.work.js.publish(letter.subject, b"1", message_id=message_id)  # and then the command was killed
    outcome = await orders.dead("replay", "--all")
    assert "1 of them had been sent before" in outcome.stderr
    assert (await orders.work.js.streams.info(orders.work.stream)).state.messages == 2, "the message, and one replay"
    assert await orders.dead_letter_count() == 0


async def test_dead_letters_that_cannot_be_sent_or_removed_stay(orders: RunningGroup) -> None:
    await orders.dead_letter(b"1", subject="eu")
    streams, subject = orders.work.js.streams, f"{orders.work.stream}.eu"
    await streams.modify(orders.work.stream, lambda config: {**config, "subjects": ["else.>"]})
    assert (await orders.dead("replay", "--all", "--dry-run")).stdout == f"1: to {subject}\n"
    outcome = await orders.dead("replay", "--all")
    assert outcome.exit_code == 1
    assert f"1: No stream takes its subject {subject} any more" in outcome.stderr
    assert "1 could not be replayed, and stay dead letters." in outcome.stderr
    assert await orders.dead_letter_count() == 1
    await streams.modify(orders.work.stream, lambda config: {**config, "subjects": [subject]})
    await streams.modify(orders.work.dead, lambda config: {**config, "deny_delete": True})
    outcome = await orders.dead("replay", "--all")
    assert (outcome.exit_code, "lets nobody remove messages" in outcome.stderr) == (1, True)
    assert (await streams.info(orders.work.stream)).state.messages == 1


async def test_dead_letters_that_no_worker_wrote_are_published_nowhere_else(
    orders: RunningGroup, subtests: pytest.Subtests
) -> None:
    """Every engine's user may publish dead letters of its group, and a person with more rights replays them."""
    stream, js = orders.work.stream, orders.work.js
    drain = f"penstock.worker.default=2F{orders.group}.drain"
    heard: list[bytes] = []
    js.connection.subscribe("elsewhere", lambda _subject, _reply, _header, payload: heard.append(payload))
    forged = {
        "reserved": (f"$JS.API.STREAM.DELETE.{stream}", f"$JS.API.STREAM.DELETE.{stream}", stream),
        "reserved for workers": (drain, drain, stream),
        "published as the letter": (f"{stream}.a", "$JS.API.INFO", stream),
        "in stream OTHERS": (f"{stream}.a", f"{stream}.a", "OTHERS"),
        "No stream takes its subject elsewhere": ("elsewhere", "elsewhere", stream),
    }
    for name, (letter, subject, source) in forged.items():
        headers = {"Penstock-Subject": subject, "Penstock-Stream": source, "Penstock-Reason": "forged"}
        await js.publish(f"{orders.work.settings.engine.dead_letter_subject}.{letter}", b"forged", headers=headers)
        with subtests.test(name):
            outcome = await orders.dead("replay", "--all")
            assert (outcome.exit_code, name.removesuffix(" for workers") in outcome.stderr) == (1, True), outcome.stderr
        await orders.dead("discard", "--all", "--yes")
    assert ((await js.streams.info(stream)).state.messages, heard) == (0, [])


async def test_dead_letters_of_other_groups_in_the_same_stream_stay(orders: RunningGroup) -> None:
    await orders.dead_letter(b"1")
    ours = f"dead.{orders.work.stream}"
    await orders.work.js.streams.modify(orders.work.dead, lambda config: {**config, "subjects": [f"{ours}.>"]})
    await orders.work.js.publish(f"{ours}.others.a", b"theirs", expected_stream=orders.work.dead)
    assert await orders.listed() == [1]
    assert (await orders.dead("show", "2")).exit_code == 1
    assert (await orders.dead("discard", "--all", "--yes")).stdout == "1 thrown away.\n"
    assert await orders.dead_letter_count() == 1
