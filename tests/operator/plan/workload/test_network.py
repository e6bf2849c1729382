"""NetworkPolicies of a group: who may connect to its workers, and where they may connect to."""

from typing import Any

from penstock_worker.spark import kubernetes
from tests.operator.plan.workload.workloads import CONNECTION, declared, group, made, with_master

Json = dict[str, Any]
METRICS: Json = {"ports": [{"port": 8081, "protocol": "TCP"}]}
EXECUTORS: Json = {"podSelector": {"matchLabels": {"penstock.dev/executors-of": "etl"}}}
NAMES: Json = {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]}
K8S = "k8s://https://kubernetes.default.svc"


def policy(of: Any, connection: Any = None) -> Json:  # noqa: ANN401 - declared objects
    [found] = [each for each in made(of, connection).others if each["kind"] == "NetworkPolicy"]
    return dict(found["spec"])


def to_ports(*ports: int) -> Json:
    return {"ports": [{"port": port, "protocol": "TCP"} for port in ports]}


def test_workers_accept_only_requests_for_metrics() -> None:
    for master in ("local[*]", "local-cluster[2,1,1024]", "sc://connect"):
        found = policy(with_master(master))
        assert (found["policyTypes"], found["ingress"]) == (["Ingress"], [METRICS])


def test_executors_may_connect_to_their_driver() -> None:
    came = {"from": [EXECUTORS], **to_ports(7078, 7079)}
    assert policy(with_master(K8S))["ingress"] == [METRICS, came]
    conf = {"spark.driver.port": "5000", "spark.driver.blockManager.port": "5001"}
    account = {"spec": {"serviceAccountName": "spark"}}
    chosen = policy(group(spark={"master": K8S, "conf": conf}, template=account))
    assert chosen["ingress"][1] == {"from": [EXECUTORS], **to_ports(5000, 5001)}
    assert policy(with_master("spark://spark.spark:7077"))["ingress"] == [METRICS, {}], "from anywhere"


def test_driver_has_the_ports_and_label_of_the_policy() -> None:
    told = {"PENSTOCK_POD_NAME": "etl-0", "PENSTOCK_NAMESPACE": "shop", "PENSTOCK_GROUP": "etl"}
    assert (kubernetes.DRIVER_PORT, kubernetes.BLOCKS_PORT) == (7078, 7079)
    assert kubernetes.template({}, told)["metadata"]["labels"] == EXECUTORS["podSelector"]["matchLabels"]


EGRESS: list[tuple[str, tuple[int, ...], list[Json]]] = [
    ("local[*]", (4222,), []),
    ("sc://connect:443,connect-2", (443, 4222, 15002), []),
    ("sc://connect:15003/;use_ssl=true", (4222, 15003), []),
    ("spark://spark.spark", (4222, 7077), []),
    (K8S, (443, 4222, 6443), [{"to": [EXECUTORS]}]),
    ("k8s://10.0.0.1:16443", (443, 4222, 6443, 16443), [{"to": [EXECUTORS]}]),
]


def test_egress_is_limited_to_what_workers_need_and_the_group_allows() -> None:
    rule = {"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}], "ports": [{"port": 9000}]}
    for master, ports, more in EGRESS:
        found = policy(with_master(master, network={"egress": [rule]}))
        assert found["policyTypes"] == ["Ingress", "Egress"]
        assert found["egress"] == [NAMES, to_ports(*ports), *more, rule]


def test_egress_to_nats_has_the_ports_of_its_connection() -> None:
    connection = declared("Connection", "nats", {**CONNECTION, "servers": ["nats://a:4333", "tls://b"]})
    assert policy(group(network={"egress": []}), connection)["egress"] == [NAMES, to_ports(4222, 4333)]
