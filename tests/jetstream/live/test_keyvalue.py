"""Key-value buckets on real servers: written, compared, removed, timed out, and shared with another client."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Unpack

import pytest
from nats.js.client import JetStreamContext
from nats.js.kv import KeyValue as PeerBucket

from penstock_jetstream.client.bucket import Bucket
from penstock_jetstream.client.jetstream import JetStream
from penstock_jetstream.client.watching import Watch
from penstock_jetstream.core.keyvalue import BucketOptions, Entry, WatchOptions
from penstock_jetstream.errors import ApiError, ConflictError, ErrorCode, MissingError, UsageError
from penstock_jetstream.errors.keyvalue import RevisionConflictError
from penstock_jetstream.transport.connection import Connection
from tests.jetstream.scene import eventually, reachable
from tests.testbed.nats.client import connection as peer_connection
from tests.testbed.nats.cluster import NatsCluster
from tests.testbed.nats.fixtures import StartNats, StartNatsLeaf
from tests.testbed.nats.server import NatsServer
from tests.testbed.waiting import WITHIN_SECONDS


@pytest.fixture
async def bucket(every_jetstream: JetStream, fresh_name: str) -> Bucket:
    return await every_jetstream.key_value.create(fresh_name, storage="memory")


async def test_what_is_put_is_got_and_each_write_has_a_higher_revision(bucket: Bucket) -> None:
    assert await bucket.get("orders.eu") is None
    before = 0
    for value in (b"1", b"2", b"", b"\x00\r\n\xff"):
        revision = await bucket.put("orders.eu", value)
        entry = await got(bucket, "orders.eu")
        assert (entry.key, entry.value, entry.revision, entry.operation) == ("orders.eu", value, revision, "put")
        assert revision > before
        assert entry == await bucket.get("orders.eu", from_leader=True)
        before = revision


async def got(bucket: Bucket, key: str, *, from_leader: bool = False) -> Entry:
    entry = await bucket.get(key, from_leader=from_leader)
    assert entry is not None
    return entry


async def test_history_keeps_earlier_revisions_until_a_purge(every_jetstream: JetStream, fresh_name: str) -> None:
    bucket = await every_jetstream.key_value.create(fresh_name, history=2)
    revisions = [await bucket.put("a", str(number).encode()) for number in range(3)]
    other = await bucket.put("b", b"other")
    entries = [await bucket.get("a", revision=revision) for revision in revisions]
    assert [entry and entry.value for entry in entries] == [None, b"1", b"2"]
    assert await bucket.get("a", revision=other) is None  # it is another key's
    await bucket.purge("a")
    assert (await bucket.status()).values == 2  # b, and the mark of a


async def test_create_writes_only_where_there_is_no_value_or_it_was_removed(bucket: Bucket) -> None:
    revision = await bucket.create("a", b"1")
    with pytest.raises(RevisionConflictError) as conflict:
        await bucket.create("a", b"2")
    assert (conflict.value.expected, conflict.value.actual) == (0, revision)
    assert "no value was expected, and the last one is revision" in str(conflict.value)
    for removal in (bucket.delete, bucket.purge):
        await removal("a")
        assert await bucket.get("a") is None
        await bucket.create("a", b"2")
        assert (await got(bucket, "a")).value == b"2"


async def test_updates_and_removals_apply_only_to_the_revision_that_they_name(bucket: Bucket) -> None:
    first = await bucket.update("a", b"1", 0)
    second = await bucket.update("a", b"2", first)
    with pytest.raises(RevisionConflictError, match=rf"revision {first} was expected.* is revision {second}") as error:
        await bucket.update("a", b"3", first)
    assert (error.value.key, error.value.expected, error.value.actual) == ("a", first, second)
    with pytest.raises(ConflictError):
        await bucket.update("b", b"1", first)
    for removal in (bucket.delete, bucket.purge):
        with pytest.raises(RevisionConflictError):
            await removal("a", revision=first)
    await bucket.delete("a", revision=second)
    assert await bucket.get("a") is None


async def test_many_counters_lose_no_increment(bucket: Bucket) -> None:
    """Of those that compare and write at once one wins, and the others try again."""
    conflicts = 0

    async def increment() -> None:
        nonlocal conflicts
        while True:
            entry = await bucket.get("count", from_leader=True)
            value, revision = (int(entry.value), entry.revision) if entry else (0, 0)
            try:
                await bucket.update("count", str(value + 1).encode(), revision)
            except RevisionConflictError:
                conflicts += 1
                continue
            return

    await asyncio.gather(*(increment() for _ in range(10)))
    assert (await got(bucket, "count")).value == b"10"
    assert conflicts


@pytest.mark.requirement("X-07")
async def test_key_with_a_time_to_live_goes_away_by_itself(jetstream: JetStream, fresh_name: str) -> None:
    bucket = await jetstream.key_value.create(fresh_name, storage="memory")
    await bucket.create("a", b"1", ttl_seconds=1)
    await bucket.put("b", b"1", ttl_seconds=90)
    await bucket.put("c", b"1")
    await bucket.purge("c", ttl_seconds=1)

    async def gone() -> bool:
        return await bucket.get("a") is None and (await bucket.status()).values == 1

    await eventually(gone, "a and the mark of c run out")
    assert await bucket.get("b")


async def test_bucket_says_what_it_is(every_jetstream: JetStream, fresh_name: str) -> None:
    bucket = await every_jetstream.key_value.create(
        fresh_name, history=3, ttl_seconds=60, limit_marker_ttl_seconds=5, storage="memory", description="x"
    )
    await bucket.put("a", b"1")
    status = await bucket.status()
    assert (status.bucket, status.values, status.history, status.ttl_seconds) == (fresh_name, 1, 3, 60)
    assert (status.limit_marker_ttl_seconds, status.storage, status.replicas) == (5, "memory", 1)
    assert (status.has_ttl_per_key, status.is_compressed) == (True, False)
    assert status.info.config["description"] == "x"


async def test_buckets_are_created_changed_listed_and_deleted(every_jetstream: JetStream, fresh_name: str) -> None:
    key_value = every_jetstream.key_value
    with pytest.raises(MissingError, match=f"KV_{fresh_name}"):
        await key_value.open(fresh_name)
    await key_value.create(fresh_name)
    await key_value.create(fresh_name)
    with pytest.raises(ConflictError):
        await key_value.create(fresh_name, history=2)
    bucket = await key_value.create_or_update(fresh_name, history=2)
    assert (await bucket.status()).history == 2
    await every_jetstream.streams.create({"name": f"{fresh_name}-none"})
    await every_jetstream.streams.create({"name": f"KV_{fresh_name}-none"})
    with pytest.raises(UsageError, match="is none"):
        await key_value.open(f"{fresh_name}-none")
    assert fresh_name in [name async for name in key_value.names()]
    await (await key_value.open(fresh_name)).put("a", b"1")
    await key_value.delete(fresh_name)
    assert fresh_name not in [name async for name in key_value.names()]


async def test_bad_keys_values_and_watches_are_refused(jetstream: JetStream, fresh_name: str) -> None:
    bucket = await jetstream.key_value.create(fresh_name, max_value_bytes=10)
    for key in ("", "a b", "a..b", ">", "a\r\nPUB x 0\r\n"):
        for operation in (bucket.get(key), bucket.put(key, b""), bucket.create(key, b""), bucket.delete(key)):
            with pytest.raises(UsageError, match="cannot be a key"):
                await operation
    with pytest.raises(UsageError, match="matches no keys"):
        bucket.watch("a b")
    with pytest.raises(ApiError) as refused:
        await bucket.put("a", bytes(1000))
    assert refused.value.err_code == ErrorCode.STREAM_MESSAGE_EXCEEDS_MAXIMUM


@pytest.mark.requirement("P-01")
async def test_bucket_of_another_domain_and_its_mirror(start_nats_leaf: StartNatsLeaf) -> None:
    pair = start_nats_leaf()
    async with Connection(pair.hub.url) as connection:
        at_leaf = JetStream(connection, domain="leaf")
        await reachable(at_leaf)
        hub = await JetStream(connection).key_value.create("config")
        leaf = await at_leaf.key_value.create("config")
        await hub.put("a", b"of the hub")
        await leaf.put("a", b"of the leaf")
        assert [(await got(each, "a")).value for each in (hub, leaf)] == [b"of the hub", b"of the leaf"]

        mirror = {"name": "KV_config", "external": {"api": "$JS.hub.API"}}
        await at_leaf.streams.create({"name": "KV_copy", "mirror": mirror, "max_msgs_per_subject": 1})
        copy = await at_leaf.key_value.open("copy")

        async def has_arrived() -> bool:
            entry = await copy.get("a")
            return entry is not None and entry.value == expected

        expected = b"of the hub"
        await eventually(has_arrived, "the mirror is filled")
        expected = b"2"
        await copy.put("a", expected)
        assert (await got(hub, "a", from_leader=True)).value == b"2"
        await eventually(has_arrived, "what was written comes back")


async def test_conflict_names_the_revision_in_a_cluster_too(nats_cluster: NatsCluster) -> None:
    """There the server's refusal does not say it."""
    async with Connection(nats_cluster.urls) as connection:
        bucket = await JetStream(connection).key_value.create("b", replicas=3)
        revision = await bucket.put("a", b"1")

        async def is_named() -> bool:
            with pytest.raises(RevisionConflictError) as error:
                await bucket.update("a", b"2", revision + 7)
            return error.value.actual == revision

        await eventually(is_named, "each replica has the key")


# The same buckets, seen by another client.


@asynccontextmanager
async def peer(server: NatsServer) -> AsyncIterator[JetStreamContext]:
    async with peer_connection(**server.connect_arguments()) as client:
        yield client.jetstream()


async def peers_view(bucket: PeerBucket, key: str) -> tuple[bytes | None, int | None]:
    entry = await bucket.get(key)
    return entry.value, entry.revision


async def test_another_client_and_ours_read_each_others_writes(every_server: NatsServer, fresh_name: str) -> None:
    async with Connection(every_server.url) as connection, peer(every_server) as other:
        ours = await JetStream(connection).key_value.create(fresh_name, history=5)
        theirs = await other.key_value(fresh_name)
        revision = await ours.put("a.b", b"1")
        assert await peers_view(theirs, "a.b") == (b"1", revision)
        for removal, mark in ((ours.delete, "DEL"), (ours.purge, "PURGE")):
            await removal("a.b")
            last = await other.get_last_msg(f"KV_{fresh_name}", f"$KV.{fresh_name}.a.b")
            assert last.headers is not None
            assert last.headers["KV-Operation"] == mark
        assert await theirs.create("a.b", b"2") > revision

        for direct in (True, False):
            name = f"{fresh_name}-{direct}"
            theirs = await other.create_key_value(bucket=name, history=5, direct=direct)
            ours = await JetStream(connection).key_value.open(name)
            revision = await theirs.put("a.b", b"1")
            entry = await got(ours, "a.b")
            assert (entry.value, entry.revision) == (b"1", revision)
            for their_removal in (theirs.delete, theirs.purge):
                await their_removal("a.b")
                assert await ours.get("a.b") is None
            await ours.create("a.b", b"2")
            assert (await peers_view(theirs, "a.b"))[0] == b"2"


async def test_both_make_the_same_bucket(every_server: NatsServer, fresh_name: str) -> None:
    options = BucketOptions(history=3, ttl_seconds=60, max_bytes=10_000, storage="memory")
    async with Connection(every_server.url) as connection, peer(every_server) as other:
        ours = await JetStream(connection).key_value.create(f"{fresh_name}-ours", **options)
        await other.create_key_value(
            bucket=f"{fresh_name}-theirs", history=3, ttl=60, max_bytes=10_000, storage="memory", direct=True
        )
        theirs = await JetStream(connection).key_value.open(f"{fresh_name}-theirs")

        async def config(bucket: Bucket) -> dict[str, object]:
            found = dict((await bucket.status()).info.config)
            return {name: value for name, value in found.items() if name not in {"name", "subjects", "metadata"}}

        assert await config(ours) == await config(theirs)


# Watching.


async def filled(jetstream: JetStream, name: str, *, history: int = 1) -> Bucket:
    """Make a bucket in which a has been put twice, b once, and c has been deleted."""
    bucket = await jetstream.key_value.create(name, history=history)
    for key, value in (("a", b"1"), ("b", b"2"), ("c", b"3"), ("a", b"4")):
        await bucket.put(key, value)
    await bucket.delete("c")
    return bucket


def seen(entries: list[Entry]) -> list[tuple[str, bytes | None]]:
    return [(entry.key, entry.value if entry.is_value else None) for entry in entries]


async def following(watch: Watch, count: int) -> list[Entry]:
    async with asyncio.timeout(60):
        return [await anext(watch) for _ in range(count)]


@pytest.mark.interpreter
async def test_watch_begins_with_the_last_of_each_key(every_jetstream: JetStream, fresh_name: str) -> None:
    empty = await every_jetstream.key_value.create(f"{fresh_name}-empty")
    async with empty.watch() as watch:
        assert await watch.initial() == []
        await empty.put("a", b"1")
        assert seen(await following(watch, 1)) == [("a", b"1")]
    bucket = await filled(every_jetstream, fresh_name)
    async with bucket.watch() as watch:
        assert seen(await watch.initial()) == [("b", b"2"), ("a", b"4"), ("c", None)]
        await bucket.put("b", b"5")
        await bucket.purge("a")
        assert seen(await following(watch, 2)) == [("b", b"5"), ("a", None)]
    async with bucket.watch(ignore_deletes=True) as watch:  # without `initial`, what there is comes first
        assert seen(await following(watch, 1)) == [("b", b"5")]
    async with bucket.watch(updates_only=True) as watch:
        await bucket.put("d", b"5")
        assert seen(await following(watch, 1)) == [("d", b"5")]


async def test_watch_shows_what_it_is_asked_for(every_jetstream: JetStream, fresh_name: str) -> None:
    bucket = await filled(every_jetstream, fresh_name, history=5)

    async def initial(*keys: str, **options: Unpack[WatchOptions]) -> list[tuple[str, bytes | None]]:
        async with bucket.watch(*keys, **options) as watch:
            return seen(await watch.initial())

    assert await initial("a") == [("a", b"4")]
    assert await initial("a", "b") == [("b", b"2"), ("a", b"4")]
    assert await initial("x.>") == []
    assert await initial(ignore_deletes=True) == [("b", b"2"), ("a", b"4")]
    assert await initial("a", include_history=True) == [("a", b"1"), ("a", b"4")]
    assert await initial(from_revision=4) == [("a", b"4"), ("c", None)]
    assert await initial(from_revision=99) == []
    assert await initial("a", headers_only=True) == [("a", b"")]
    assert await initial(updates_only=True) == []


async def test_what_was_removed_before_it_could_come_is_not_waited_for(jetstream: JetStream, fresh_name: str) -> None:
    """Naive: to wait until nothing is pending, which no message says any more."""
    bucket = await filled(jetstream, fresh_name)
    async with bucket.watch("b", updates_only=False) as watch:
        await bucket.put("a", b"5")
        await jetstream.streams.purge(f"KV_{fresh_name}", subject=f"$KV.{fresh_name}.b")
        async with asyncio.timeout(60):
            assert len(await watch.initial()) <= 1


async def test_keys_and_histories_are_listed_and_old_marks_cleared(every_jetstream: JetStream, fresh_name: str) -> None:
    bucket = await filled(every_jetstream, fresh_name, history=5)
    assert sorted(await bucket.keys()) == ["a", "b"]
    assert await bucket.keys("b", "c") == ["b"]
    history = [(entry.operation, entry.value, entry.revision) for entry in await bucket.history("c")]
    assert history == [("put", b"3", 3), ("delete", b"", 5)]
    assert await bucket.history("x") == []
    with pytest.raises(UsageError):
        await bucket.history("*")
    await bucket.purge_deletes()
    assert seen(await bucket.history("c")) == [("c", None)]  # the mark is young: only what was before it is gone
    assert await bucket.purge_deletes(older_than_seconds=0) == 1
    assert await bucket.history("c") == []
    assert len(await bucket.history("a")) == 2


async def test_entries_are_read_without_a_consumer(every_jetstream: JetStream, fresh_name: str) -> None:
    bucket = await filled(every_jetstream, fresh_name)
    await bucket.put("orders.eu", b"1")
    await bucket.put("orders.us", b"2")
    await bucket.put("clicks.eu", b"3")
    await bucket.delete("orders.us")
    assert [(entry.key, entry.value) for entry in await bucket.entries("orders.*")] == [("orders.eu", b"1")]
    assert {entry.key for entry in await bucket.entries()} == set(await bucket.keys())
    assert await bucket.entries("none.>") == []
    assert (await every_jetstream.streams.info(f"KV_{fresh_name}")).state.consumers == 0


async def test_entries_are_complete_while_replicas_lag(nats_cluster: NatsCluster, fresh_name: str) -> None:
    async with Connection(nats_cluster.urls) as connection:
        jetstream = JetStream(connection)
        bucket = await jetstream.key_value.create(fresh_name, replicas=3)
        for number in range(50):
            await bucket.put(f"key.{number}", b"%d" % number)
            assert len(await bucket.entries("key.*")) == number + 1


async def test_more_keys_than_a_direct_get_could_list(jetstream: JetStream, fresh_name: str) -> None:
    bucket = await jetstream.key_value.create(fresh_name, storage="memory")
    async with jetstream.publisher() as publisher:
        for number in range(3000):
            _ = await publisher.submit(f"$KV.{fresh_name}.k{number}", b"x")
    assert len(await bucket.keys()) == 3000


@pytest.mark.requirement("X-07")
async def test_watchers_see_expired_keys_if_the_bucket_sets_marks(jetstream: JetStream, fresh_name: str) -> None:
    bucket = await jetstream.key_value.create(fresh_name, limit_marker_ttl_seconds=5)
    async with bucket.watch() as watch:
        await bucket.create("a", b"1", ttl_seconds=1)
        put, gone = await following(watch, 2)
        assert (put.operation, gone.operation, gone.key) == ("put", "purge", "a")


async def test_watch_lives_through_the_death_of_its_server(start_nats: StartNats) -> None:
    """No update is missed and none comes twice, though consumer and link are gone."""
    server = start_nats()
    async with Connection(server.url) as connection:
        bucket = await JetStream(connection).key_value.create("b", history=64)
        async with bucket.watch() as watch:
            assert await watch.initial() == []
            found: list[Entry] = []
            for part in range(3):
                if part:
                    server.kill()
                    server.start()
                async with Connection(server.url) as aside:  # one that knows nothing of the death
                    writer = await JetStream(aside).key_value.open("b")
                    for number in range(5):
                        await writer.put("a", f"{part}.{number}".encode())
                found += await following(watch, 5)
        assert [entry.revision for entry in found] == list(range(1, 16))


async def test_another_client_watches_what_we_write_and_we_what_it_writes(server: NatsServer, fresh_name: str) -> None:
    async with Connection(server.url) as connection, peer(server) as other:
        ours = await filled(JetStream(connection), fresh_name)
        theirs = await other.key_value(fresh_name)
        watcher = await theirs.watchall()
        initial = []
        while (entry := await watcher.updates(WITHIN_SECONDS)) is not None:  # type: ignore[no-untyped-call]
            initial.append((entry.key, entry.operation))
        assert initial == [("b", None), ("a", None), ("c", "DEL")]
        async with ours.watch(updates_only=True) as watch:
            await theirs.put("a", b"5")
            await theirs.delete("a")
            assert seen(await following(watch, 2)) == [("a", b"5"), ("a", None)]
        await watcher.stop()  # type: ignore[no-untyped-call]
