"""Whether the line to a Spark Connect server is encrypted: by default wherever a token goes beyond what is near."""

import pytest

from penstock_worker.spark import master
from penstock_worker.spark.channel import IN_A_CLUSTER, Channel

TOKEN = "secret"


@pytest.fixture(params=[True, False], ids=["in a cluster", "elsewhere"])
def is_in_cluster(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.delenv(IN_A_CLUSTER, raising=False)
    if request.param:
        monkeypatch.setenv(IN_A_CLUSTER, "10.96.0.1")
    return bool(request.param)


def channel(url: str, token: str | None = TOKEN) -> Channel:
    (address,) = master.addresses(url)
    return Channel(address, token)


@pytest.mark.parametrize("host", ["spark-connect", "connect.spark.svc", "connect.spark.svc.cluster.local"])
def test_a_service_of_the_cluster_that_we_are_in_is_reached_without_tls_and_that_is_known(
    host: str, *, is_in_cluster: bool
) -> None:
    made = channel(f"sc://{host}:15002")
    assert made.is_encrypted is not is_in_cluster
    assert made.bares_its_token is is_in_cluster
    assert ("authorization", f"Bearer {TOKEN}") in made.metadata()


@pytest.mark.parametrize("host", ["spark.example", "spark.example.com", "connect.svc", "10.1.2.3"])
def test_a_token_goes_anywhere_else_by_tls_only(host: str, *, is_in_cluster: bool) -> None:
    del is_in_cluster
    assert channel(f"sc://{host}").is_encrypted


def test_who_writes_the_url_may_say_otherwise(*, is_in_cluster: bool) -> None:
    del is_in_cluster
    assert channel("sc://spark-connect/;use_ssl=true").is_encrypted
    assert not channel("sc://spark.example.com/;use_ssl=false").is_encrypted


def test_without_a_token_there_is_none_to_bare(*, is_in_cluster: bool) -> None:
    del is_in_cluster
    made = channel("sc://spark-connect", None)
    assert (made.is_encrypted, made.bares_its_token) == (False, False)
