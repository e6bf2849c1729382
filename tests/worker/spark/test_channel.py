"""Whether the channel to a Spark Connect server is encrypted: by default wherever a token leaves the cluster."""

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
