"""Files of a batch appear in one step, once, whatever the attempts that write them do."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock_worker.api import Batch
from penstock_worker.api.exceptions import BatchCutError
from penstock_worker.api.staging import StagedFiles
from penstock_worker.api.stores import HadoopFiles, LocalFiles, PublishError, Store, store_of
from penstock_worker.testing import Message, Process, run

ORDERS = [{"id": number} for number in range(10)]
OVERLAPS = 5


def write(base: Path, df: DataFrame, batch: Batch) -> None:
    batch.parse(df, "id BIGINT").write.parquet(batch.path(str(base)))


def test_files_appear_in_a_folder_of_the_batch_after_the_function(session: SparkSession, tmp_path: Path) -> None:
    base = tmp_path / "with space" / "orders"

    def process(df: DataFrame, batch: Batch) -> str:
        write(base, df, batch)
        assert not list(base.glob("[!_]*"))
        assert not batch.already_done(path=str(base))
        return batch.id

    name = run(process, ORDERS, spark=session).returned
    rows = session.read.parquet(str(base)).collect()
    assert sorted(row["id"] for row in rows) == list(range(10))
    assert {row["batch"] for row in rows} == {name}
    assert not list((base / "_penstock").iterdir())


def test_a_batch_that_is_run_again_leaves_the_files_of_the_first_time(spark: SparkSession, tmp_path: Path) -> None:
    run(lambda df, batch: write(tmp_path, df, batch), ORDERS, spark=spark)
    first = sorted(tmp_path.rglob("*.parquet"))

    def again(df: DataFrame, batch: Batch) -> bool:
        write(tmp_path, df, batch)
        return batch.already_done(path=str(tmp_path))

    assert run(again, ORDERS, spark=spark).returned
    assert sorted(tmp_path.rglob("*.parquet")) == first
    assert not list((tmp_path / "_penstock").iterdir())


@pytest.mark.parametrize("kind", ["local", "hadoop"])
def test_rejections_of_the_attempt_whose_files_stay_are_those_that_count(
    kind: str, spark: SparkSession, tmp_path: Path, subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the attempts a table that the code looks into has changed, or the code itself."""
    if kind == "hadoop":
        monkeypatch.setattr("penstock_worker.api.staging.store_of", lambda base, spark: HadoopFiles(spark, base))

    def attempt(base: Path, *rejected: int) -> set[int]:
        def process(df: DataFrame, batch: Batch) -> None:
            batch.parse(df.where(~df.seq.isin(*rejected, 0)), "id BIGINT").write.parquet(batch.path(str(base)))
            batch.reject(rejected, "unknown customer é")

        return set(run(process, ORDERS, spark=spark).rejected)

    def written(base: Path) -> set[int]:
        return {row["seq"] for row in spark.read.parquet(str(base)).collect()}

    everything = set(range(1, 11))
    for number, (first, second) in enumerate((((2, 3), ()), ((), (2,)), ((2,), (3,)), ((), ()))):
        with subtests.test(f"{first}, then {second}"):
            base = tmp_path / str(number)
            assert attempt(base, *first) == set(first)
            assert attempt(base, *second) == set(first)
            assert written(base) == everything - set(first)
    with subtests.test("an attempt asks, and returns"):
        base = tmp_path / "asks"
        attempt(base, 2)
        result = run(lambda _, batch: batch.already_done(path=str(base)), ORDERS, spark=spark)
        assert (result.returned, set(result.rejected)) == (True, {2})
    with subtests.test("of two folders, one was published"):
        base = tmp_path / "two"
        attempt(base / "first", 2)

        def both(df: DataFrame, batch: Batch) -> None:
            batch.reject([3], "no")
            for name in ("first", "second"):
                df.where("seq != 3").select("seq").write.parquet(batch.path(str(base / name)))

        assert set(run(both, ORDERS, spark=spark).rejected) == {2, 3}


def test_parts_of_a_batch_that_was_published_add_nothing_and_reject_what_it_rejected(
    spark: SparkSession, tmp_path: Path
) -> None:
    """It was published, and then its run failed, or its worker was lost: so it was halved."""
    done: dict[str, bool] = {}

    def process(df: DataFrame, batch: Batch) -> None:
        done[batch.id] = batch.already_done(path=str(tmp_path))
        df.where("seq NOT IN (3, 8)").select("seq").write.parquet(batch.path(str(tmp_path)))
        batch.reject([each for each in (3, 8) if batch.first_seq <= each <= batch.last_seq], "no")

    run(process, ORDERS, spark=spark)
    (name,) = done
    half = run(process, ORDERS[:5], spark=spark, ancestors=["S.etl.0-99.unknown", name])
    assert (list(done.values()), half.rejected) == ([False, True], {3: "no"})
    assert [found.name for found in tmp_path.glob("batch=*")] == [f"batch={name}"]


@pytest.mark.parametrize("kind", ["local", "hadoop"])
def test_a_batch_of_which_a_part_was_published_is_refused_and_its_other_parts_are_not(
    kind: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two workers had it: one cut it, and the other still runs it."""
    if kind == "hadoop":
        monkeypatch.setattr("penstock_worker.api.staging.store_of", lambda base, spark: HadoopFiles(spark, base))
    base = tmp_path / "orders"
    whole = str(run(lambda _, batch: batch.id, ORDERS, spark=spark).returned)

    def attempt(orders: list[dict[str, int]], *ancestors: str, first: int = 1) -> None:
        messages = [Message(order, seq=number) for number, order in enumerate(orders, first)]
        run(lambda df, batch: write(base, df, batch), messages, spark=spark, ancestors=ancestors)

    attempt(ORDERS[:5], whole)
    with pytest.raises(BatchCutError, match=r"Another worker has cut .* has written a part of it to .*orders"):
        attempt(ORDERS)
    attempt(ORDERS[5:], whole, first=6)
    attempt(ORDERS[5:], whole, first=6)
    rows = spark.read.parquet(str(base)).collect()
    assert sorted(row["id"] for row in rows) == list(range(10))
    assert whole not in {row["batch"] for row in rows}
    assert not list((base / "_penstock").iterdir())


def test_what_a_failing_function_wrote_is_removed(spark: SparkSession, tmp_path: Path) -> None:
    def process(df: DataFrame, batch: Batch) -> None:
        write(tmp_path, df, batch)
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        run(process, ORDERS, spark=spark)
    assert not [found for found in tmp_path.rglob("*") if found.is_file()]


def write_with_another(base: Path) -> Process:
    """Return a process whose two attempts begin and end to write at the same time."""
    start, finish = Barrier(2), Barrier(2)

    def process(df: DataFrame, batch: Batch) -> None:
        start.wait(60)
        write(base, df, batch)
        finish.wait(60)

    return process


def test_attempts_that_overlap_leave_each_row_once(spark: SparkSession, tmp_path: Path) -> None:
    """A zombie and its successor write and publish at the same time, and both succeed."""
    for overlap in range(OVERLAPS):
        base = tmp_path / str(overlap)
        process = write_with_another(base)
        with ThreadPoolExecutor(2) as pool:
            attempts = [pool.submit(run, process, ORDERS, spark=spark) for _ in range(2)]
            for attempt in attempts:
                attempt.result()
        assert sorted(row["id"] for row in spark.read.parquet(str(base)).collect()) == list(range(10))


def test_part_of_a_batch_is_not_published_after_its_folder_was_moved_away(spark: SparkSession, tmp_path: Path) -> None:
    """An attempt writes on while another publishes, which removes what the first had written, and readers move that."""
    late, other = StagedFiles(spark, ["S.etl.1-2"]), StagedFiles(spark, ["S.etl.1-2"])
    folders = [Path(files.folder(str(tmp_path)).removeprefix("file://")) for files in (late, other)]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "first").touch()
    other.publish({})
    (tmp_path / "batch=S.etl.1-2").rename(tmp_path / "processed")
    folders[0].mkdir(parents=True)
    (folders[0] / "second").touch()
    late.publish({})
    assert [found.name for found in tmp_path.rglob("*") if found.is_file()] == ["first"]
    assert not (tmp_path / "batch=S.etl.1-2").exists()


@pytest.mark.parametrize("kind", ["local", "hadoop"])
def test_one_of_many_attempts_that_publish_at_once_succeeds(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    """Hadoop's own local files rename in two steps, so there the attempts follow one another."""
    store: Store = HadoopFiles(spark, f"file://{tmp_path}") if kind == "hadoop" else LocalFiles()
    base = f"file://{tmp_path}"
    place = f"{base}/place"
    for number in range(8):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "part").write_text(str(number))
    with ThreadPoolExecutor(1 if kind == "hadoop" else 8) as pool:
        moved = list(pool.map(lambda number: store.move(f"{base}/{number}", place), range(8)))
    assert sorted(moved) == [False] * 7 + [True]
    assert [found.name for found in (tmp_path / "place").iterdir()] == ["part"]
    assert not store.move(f"{base}/gone", place), "an attempt whose files are gone because another has published"
    assert store.exists(place)
    store.remove(place)
    store.remove(place)
    assert not store.exists(place)
    store.make(f"{base}/new/folder")
    assert store.exists(f"{base}/new/folder")
    with pytest.raises(PublishError, match="Nothing was written"):
        store.move(f"{base}/gone", place)


def test_unused_paths_and_stores_without_rename_are_refused_with_advice(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PublishError, match=r"Nothing was written to .*\. Write to what batch\.path\(\) returned"):
        run(lambda _, batch: batch.path(str(tmp_path)), ORDERS, spark=spark)
    for scheme in ("s3a", "viewfs", "ofs"):
        with pytest.raises(ValueError, match=rf"{scheme} has no rename .* batch\.delta\(\) or batch\.iceberg\(\)"):
            run(lambda _, batch: batch.path(f"{scheme}://lake/orders"), ORDERS, spark=spark)  # noqa: B023


@pytest.mark.full
def test_a_file_system_of_the_server_is_refused_through_connect(connect_session: SparkSession) -> None:
    with pytest.raises(ValueError, match=r"through Spark Connect: .* use a classic master"):
        store_of("hdfs://name/orders", connect_session)


def test_the_name_of_a_batch_is_safe_in_a_path(spark: SparkSession, tmp_path: Path) -> None:
    """A stream's name may contain almost anything; readers see the name unchanged."""
    files = StagedFiles(spark, ["50%=half é.etl.1-2"])
    spark.range(3).write.parquet(files.folder(str(tmp_path)))
    files.publish({})
    assert {row["batch"] for row in spark.read.parquet(str(tmp_path)).collect()} == {"50%=half é.etl.1-2"}


def test_files_are_on_the_disk_before_they_get_their_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "attempt" / "day=1").mkdir(parents=True)
    (tmp_path / "attempt" / "day=1" / "part").write_text("rows")
    synced: list[str] = []

    def fsync(opened: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{opened}").readlink()).removeprefix(f"{tmp_path}"))

    monkeypatch.setattr(os, "fsync", fsync)
    assert LocalFiles().move(f"file://{tmp_path}/attempt", f"file://{tmp_path}/place")
    assert sorted(synced[:-1]) == ["/attempt", "/attempt/day=1", "/attempt/day=1/part"]
    assert synced[-1] == "", "the folder with the new name"
