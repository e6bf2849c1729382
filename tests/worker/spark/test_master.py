"""Spark's URLs, the settings that follow from them and from the machine, and encryption of channels to Connect."""

from pathlib import Path

import pytest

from penstock_worker import container
from penstock_worker.spark import defaults, master
from penstock_worker.spark.channel import IN_A_CLUSTER, Channel
from penstock_worker.spark.classic import ClassicSpark
from penstock_worker.spark.problems import CannotStartError
from tests.testbed import ports

TOKEN = "secret"
THREADS = {"local": 1, "local[*]": 6, "local[3]": 3, "local-cluster[2,3,1024]": 6, "k8s://h": None}
ONE_TASK: list[tuple[str, int, dict[str, str], bool]] = [
    ("local[2]", 2, {}, True),
    ("local[1]", 2, {}, True),
    ("local[3]", 2, {}, False),
    ("local[2]", 2, {"spark.default.parallelism": "2"}, False),
    ("local[2]", 2, {"spark.sql.leafNodeDefaultParallelism": "4"}, False),
    ("spark://h:7077", 16, {}, False),
]


def test_the_number_of_tasks_at_once_is_known_where_spark_runs_on_this_machine() -> None:
    for url, threads in THREADS.items():
        assert master.threads(url, cores=6) == threads, url
        assert master.is_on_this_machine(url) is (threads is not None), url


def test_a_batch_is_one_task_where_as_many_batches_as_cores_run_at_once_unless_configured_otherwise() -> None:
    for url, at_once, conf, expected in ONE_TASK:
        assert defaults.is_one_task(url, at_once, conf) is expected, (url, conf)


def test_a_connect_url_names_servers_and_their_common_parameters_and_its_token_is_hidden() -> None:
    first, second = master.addresses("sc://a.example:1,[::1]/;use_ssl=true;user_id=etl")
    assert (first.endpoint, second.endpoint) == ("a.example:1", "[::1]:15002")
    assert first.parameters == second.parameters == {"use_ssl": "true", "user_id": "etl"}
    assert (first.is_loopback, second.is_loopback) == (False, True)
    assert master.shown("sc://a:1/;token=secret") == "sc://a:1"


def test_a_standalone_url_names_masters() -> None:
    assert [each.endpoint for each in master.standalone_masters("spark://a:1,[::1]")] == ["a:1", "[::1]:7077"]
    assert master.standalone_masters("local[2]") == ()
    with pytest.raises(CannotStartError, match=r"'a:b' is no address of a Spark master. Write spark://HOST:PORT"):
        master.standalone_masters("spark://a:b")


def test_unreachable_masters_are_reported_at_once_and_tried_again(tmp_path: Path) -> None:
    port = ports.free_port()
    spark = ClassicSpark(f"spark://127.0.0.1:{port},nobody.invalid:7077", tmp_path, {}, 1)
    with pytest.raises(CannotStartError) as told:
        spark.start()
    ports.release(port)
    assert f"No Spark master is reached at 127.0.0.1:{port}: Connection refused." in str(told.value)
    assert "No Spark master is reached at nobody.invalid:7077: " in str(told.value)
    assert not told.value.is_permanent


def test_settings_follow_from_the_master_and_user_settings_win(tmp_path: Path) -> None:
    local = defaults.classic("local[3]", tmp_path, {"spark.sql.session.timeZone": "Europe/Berlin"})
    assert local["spark.sql.session.timeZone"] == "Europe/Berlin"
    assert local["spark.sql.shuffle.partitions"] == "3"
    assert local["spark.driver.host"] == "127.0.0.1"
    cluster = defaults.classic("spark://a:7077", tmp_path, {})
    assert not {"spark.driver.host", "spark.driver.bindAddress", "spark.sql.shuffle.partitions"} & cluster.keys()


def test_a_garbage_collector_that_the_user_chose_stays(tmp_path: Path) -> None:
    ours = defaults.java_options(tmp_path, {})
    theirs = defaults.java_options(tmp_path, {"spark.driver.extraJavaOptions": "-XX:+UseZGC"})
    assert "-XX:+UseParallelGC" in ours
    assert "-XX:+UseParallelGC" not in theirs
    assert "-XX:+ExitOnOutOfMemoryError" in theirs


def test_a_containers_memory_limit_is_read(tmp_path: Path) -> None:
    for number, name in enumerate(container.LIMITS):
        limit = tmp_path / str(number) / name
        limit.parent.mkdir(parents=True)
        limit.write_text("1073741824\n")
        assert container.memory_limit(tmp_path / str(number)) == 1 << 30, name
    for unlimited in ("max", "9223372036854771712"):
        (tmp_path / "memory.max").write_text(unlimited)
        assert container.memory_limit(tmp_path) is None, unlimited
    assert defaults.SMALLEST_HEAP <= defaults.heap() <= max(defaults.LARGEST_HEAP, container.memory())


@pytest.fixture(params=[True, False], ids=["in a cluster", "elsewhere"])
def is_in_cluster(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.delenv(IN_A_CLUSTER, raising=False)
    if request.param:
        monkeypatch.setenv(IN_A_CLUSTER, "10.96.0.1")
    return bool(request.param)


def channel(url: str, token: str | None = TOKEN) -> Channel:
    (address,) = master.addresses(url)
    return Channel(address, token)


def test_a_token_goes_without_tls_only_to_a_service_of_our_own_cluster(*, is_in_cluster: bool) -> None:
    for host in ("spark-connect", "connect.spark.svc", "connect.spark.svc.cluster.local"):
        made = channel(f"sc://{host}:15002")
        assert made.is_encrypted is not is_in_cluster, host
        assert made.bares_its_token is is_in_cluster, host
        assert ("authorization", f"Bearer {TOKEN}") in made.metadata()
    for host in ("spark.example", "spark.example.com", "connect.svc", "10.1.2.3"):
        assert channel(f"sc://{host}").is_encrypted, host
    without = channel("sc://spark-connect", None)
    assert (without.is_encrypted, without.bares_its_token) == (False, False)


@pytest.mark.usefixtures("is_in_cluster")
def test_the_url_can_require_or_forbid_encryption() -> None:
    assert channel("sc://spark-connect/;use_ssl=true").is_encrypted
    assert not channel("sc://spark.example.com/;use_ssl=false").is_encrypted
