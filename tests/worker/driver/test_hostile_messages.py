"""A corpus of hostile payloads, headers and subjects, each among good messages, through a real engine and real Spark.

Each hostile message is processed or dead-lettered within a bounded time, and all others are processed.
"""

import asyncio
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow.parquet as pq
import pytest

from penstock_worker.policy.settings import BatchSettings, RetrySettings
from tests.testbed.nats.shared import NEWEST, SharedServers
from tests.testbed.waiting import eventually_async
from tests.worker.driver.driving import WORDS, RunningDriver
from tests.worker.engine.working import scene

pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]
BOUND_SECONDS = 900
"""For one corpus on a very busy machine; alone it takes a minute or two."""
BETWEEN = 15
"""Good messages after each hostile one: more bad ones than good ones would be taken for wrong code."""
BATCH = 3 * BETWEEN
SLOW_BATCH = 1
"""Messages of a batch whose bad ones take all of their deadline, at each attempt."""
DEADLINE_SECONDS = 60
"""A good message may take half of it on a very busy machine."""
MAX_PAYLOAD_BYTES = 1 << 20
SEED = 14


@dataclass(frozen=True)
class Hostile:
    data: bytes
    subject: bytes = b"a"
    header: bytes = b""


def made_up(count: int) -> list[Hostile]:
    """Return messages of random bytes, as far as a server takes them."""
    chance = random.Random(SEED)  # noqa: S311 - chance that can be repeated
    wild = [
        (chance.randbytes(chance.randint(1, 2000)), chance.randbytes(chance.randint(1, 40)), chance.randbytes(80))
        for _ in range(count)
    ]
    return [
        Hostile(
            b"\xff" + data,
            b"x" + subject.translate(None, b"\0\t\r\n .*>"),
            b"NATS/1.0\r\n" + header.translate(None, b"\r\n") + b"\r\n\r\n",
        )
        for data, subject, header in wild
    ]


ENVELOPES = [
    Hostile(b"bad", b"a" * 3900),
    Hostile(b"bad", b"a.\x01\x7f"),
    Hostile(b"bad", "é".encode("latin-1")),
    Hostile(b"bad", header=b"NATS/1.0\r\nno colon\r\n\r\n"),
    Hostile(b"x" * 970_000, header=b"NATS/1.0\r\n" + b"a" * 65_000 + b"\r\n\r\n"),
    Hostile(b"bad", header=b"NATS/1.0\r\nNats-Msg-Id: \xff\r\nPenstock-Subject: $JS.API.STREAM.DELETE.x\r\n\r\n"),
    Hostile(b"x" * MAX_PAYLOAD_BYTES),
    Hostile(b"x" * (MAX_PAYLOAD_BYTES - 1200)),
]
DOCUMENTS = [
    '{"id": 1, "amount": 1e100000000}',
    '{"id": 1, "amount": -1e-100000000}',
    '{"id": 1, "amount": "1e100000000"}',
    '{"id": 1, "prices": [1, 1e100000000]}',
    '{"id": 1}\n{"id": 2}',
    '{"id": 1} trailing',
    '{"id": 1}]}',
    '{"id": 1},{"_penstock_end": "x"}]}',
    '{"id": ' + "9" * 100_000 + "}",
    '{"id": 1, "prices": ' + "[" * 100_000,
    "[" * 100_000,
    '"' * 99_999,
    "\\" * 99_999,
    "null",
    "\u0000",
    '{"id": "OPERATION_CANCELED"}',
]
CORPUS: dict[str, Sequence[Hostile]] = {
    "cast": [*(Hostile(words.encode()) for words in WORDS), *ENVELOPES],
    "udf": [*(Hostile(words.encode()) for words in WORDS[:3]), *made_up(6)],
    "parse": [*(Hostile(text.encode()) for text in DOCUMENTS), *ENVELOPES, *made_up(20)],
    "slow": [Hostile(b"hang"), Hostile(b"die")],
}


def good(kind: str, number: int) -> bytes:
    return json.dumps({"id": number, "amount": 1.5}).encode() if kind == "parse" else b"%d" % number


async def publish(port: int, stream: str, messages: Sequence[Hostile]) -> None:
    """Publish messages as a client does that keeps no rule but the protocol's."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b'CONNECT {"verbose":false,"headers":true,"pedantic":false}\r\n')
    for each in messages:
        sizes = b"%d %d" % (len(each.header), len(each.header) + len(each.data))
        line = b"HPUB %s.%s %s\r\n" if each.header else b"PUB %s.%s %s\r\n"
        writer.write(line % (stream.encode(), each.subject, sizes if each.header else b"%d" % len(each.data)))
        writer.write(each.header + each.data + b"\r\n")
    writer.write(b"PING\r\n")
    answer = b""
    while b"PONG" not in answer:
        answer = await reader.readline()
        assert answer, "the server has closed the connection"
        assert not answer.startswith(b"-ERR"), answer
    writer.close()


@pytest.mark.parametrize("kind", CORPUS)
async def test_each_hostile_message_is_put_aside_and_all_others_are_processed(
    kind: str, shared_servers: SharedServers, fresh_name: str
) -> None:
    server, hostile = shared_servers.get(NEWEST), CORPUS[kind]
    messages = [Hostile(good(kind, 0))]
    for each in hostile:
        messages += [each, *(Hostile(good(kind, number)) for number in range(BETWEEN))]
    with RunningDriver(f"hostile-{kind}", entrypoint="hostile:process") as driver:
        async with scene(server.url, f"hostile-{kind}-{fresh_name}") as work:
            work.settings = replace(work.settings, socket=driver.settings.socket)
            size = SLOW_BATCH if kind == "slow" else BATCH
            work.change(
                batch=BatchSettings(max_messages=size, max_bytes=4 << 20, deadline_seconds=DEADLINE_SECONDS),
                retry=RetrySettings(max_attempts=2, initial_delay_seconds=0.1, max_delay_seconds=1),
            )
            await publish(server.port, work.stream, messages)
            stored = len(messages)

            async def is_stored() -> bool:
                return (await work.js.streams.info(work.stream)).state.last_sequence == stored

            await eventually_async(is_stored, "the server has stored all messages")
            await asyncio.to_thread(driver.wait_ready)
            async with work.working() as engine:

                async def is_done() -> bool:
                    assert not engine.done(), engine.result()
                    await work.publish(good(kind, 0))  # as streams go on; only hostile ones would look like an outage
                    return (await work.info()).ack_floor.stream_sequence >= stored

                await eventually_async(is_done, f"all of {kind} is settled", BOUND_SECONDS)
            letters = [message.headers["Penstock-Sequence"] for message in await work.letters()]
    expected = {number for number, each in enumerate(messages, 1) if each in hostile}
    assert {int(sequence) for sequence in letters} == expected
    written = pq.read_table(driver.jobs_folder / f"hostile-{kind}-{fresh_name}")["seq"].to_pylist()
    assert {sequence for sequence in written if sequence <= stored} == {*range(1, stored + 1)} - expected
    assert len(written) == len(set(written))
