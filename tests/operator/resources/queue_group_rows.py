"""QueueGroups that keep each rule, QueueGroups that break it, and what the API server refuses without one."""

from typing import Any

from penstock_operator.resources.ranges import holding, lasting

Json = dict[str, Any]
IMAGE = {"entrypoint": "etl:process", "image": "example/etl:1.4"}
SMALLEST: Json = {"consumerRef": {"name": "orders-etl"}, "handler": IMAGE}

ENTRYPOINT = "An entrypoint is module:function, as in etl:process or company.etl:process."
CODE = "The code is in a ConfigMap or in an image: choose exactly one of configMapRef and image."
SOURCE = "Choose exactly one of configMapKeyRef, secretKeyRef and fieldRef."
VALUE = "Choose value or valueFrom."
VARIABLE = "Variables whose names begin with PENSTOCK_ are Penstock's own."
MASTER = (
    "A Spark master is local, local[4], local[*], local-cluster[2,1,1024], spark://host:port, k8s://https://host:port"
    " or sc://host:port, and spark:// and sc:// take several host:port with commas between; a token has a Secret."
)
TOKEN = "A token is for a Spark Connect server: tokenSecretRef needs a master that begins with sc://."
SETTING = "The name of a Spark setting begins with spark. and has at most 253 letters."
MASTER_IN_CONF = "spark.master and spark.remote are said in the field master, not in conf."
ORDERING = "The ordering modes Partition and Key are not built yet: choose None, or leave ordering out."
ORDERING_PARTS = "partitions and key belong to the ordering modes Partition and Key, which are not built yet."
KEY = "Choose exactly one of subjectToken and header."
DELAYS = "initialDelay is not longer than maxDelay."
BOUNDS = "minReplicas is not greater than maxReplicas."
NEEDS_REPLICAS = "scaling.mode External needs replicas: the number of workers to begin with, which /scale changes."
NO_REPLICAS = "replicas and /scale belong to scaling.mode External; with Internal, Penstock decides how many there are."
RESTARTS = "Leave out restartPolicy and activeDeadlineSeconds: workers run until Penstock ends them."
DRIVER = "Leave out image, command and args of the driver: handler.image is its image, the rest is Penstock's."
ENGINE = "Leave out image, command and args of the engine: they are Penstock's."
PLACES = "The driver is one of the containers, and the engine one of the initContainers."
VOLUMES = "Volumes whose names begin with penstock- are Penstock's own."
MARKS = "Labels and annotations with penstock.dev/ are Penstock's, and none has more than 317 letters."
EGRESS = "A rule of egress says to, or ports, or both; where all is allowed, leave out egress itself."


def with_(**fields: Any) -> Json:  # noqa: ANN401 - JSON is anything
    return {**SMALLEST, **fields}


def with_env(*variables: Json) -> Json:
    return with_(handler={**IMAGE, "env": [*variables]})


def with_pod(**fields: Any) -> Json:  # noqa: ANN401 - JSON is anything
    return with_(template={"spec": fields})


ACCEPTED: dict[str, Json] = {
    "the smallest": SMALLEST,
    "code in a ConfigMap": with_(handler={"entrypoint": "company.etl:process", "configMapRef": {"name": "etl-code"}}),
    "variables": with_env(
        {"name": "REGION", "value": "eu"},
        {"name": "EMPTY"},
        {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "lake", "key": "id", "optional": True}}},
        {"name": "MODE", "valueFrom": {"configMapKeyRef": {"name": "modes", "key": "etl"}}},
        {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ),
    **{
        f"the master {master}": with_(spark={"master": master})
        for master in (
            "local",
            "local[4]",
            "local[*,3]",
            "local-cluster[2,1,1024]",
            "spark://a:7077,b:7077",
            "k8s://https://kubernetes.default.svc:443",
            "sc://connect:15002",
            "sc://[::1]:15002,b",
            "sc://connect:443,b/;use_ssl=true",
        )
    },
    "a token": with_(spark={"master": "sc://connect:15002", "tokenSecretRef": {"name": "connect", "key": "token"}}),
    "Spark's settings": with_(spark={"conf": {"spark.sql.shuffle.partitions": "2"}}),
    "batches": with_(
        batch={"maxMessages": 10_000, "maxBytes": "1Gi", "maxWait": "0s", "inFlight": 1, "deadline": "24h"}
    ),
    "no order": with_(ordering={"mode": "None"}),
    "retries": with_(retry={"maxAttempts": 1, "initialDelay": "5s", "maxDelay": "5000ms"}),
    "dead letters": with_(deadLetter={"streamRef": {"name": "orders-dead"}}),
    "scaling": with_(
        scaling={
            "mode": "Internal",
            "minReplicas": 2,
            "maxReplicas": 2,
            "targetDrain": "1m",
            "stabilization": {"up": "10s", "down": "1h"},
            "idle": "1h30m",
        }
    ),
    "scaling by others": with_(scaling={"mode": "External"}, replicas=3),
    "suspended": with_(suspend=True),
    "workers that may go nowhere": with_(network={"egress": []}),
    "workers that may go to a store": with_(
        network={
            "egress": [
                {"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}], "ports": [{"port": 443}]},
                {"to": [{"podSelector": {"matchLabels": {"app": "store"}}, "namespaceSelector": {}}]},
            ]
        }
    ),
    "a template": with_(
        template={
            "metadata": {"labels": {"team": "orders"}, "annotations": {"example.com/note": "a b"}},
            "spec": {
                "nodeSelector": {"disk": "ssd"},
                "containers": [
                    {"name": "driver", "resources": {"limits": {"memory": "4Gi"}}, "volumeMounts": [{"name": "data"}]},
                    {"name": "proxy", "image": "example/proxy", "args": ["--quiet"]},
                ],
                "initContainers": [{"name": "engine", "resources": {"requests": {"cpu": 0.5}}}],
                "volumes": [{"name": "data", "emptyDir": {}}],
            },
        }
    ),
    "null for nothing": with_(suspend=None, spark=None, batch={"maxWait": None}),
}

BROKEN: dict[str, tuple[Json, str]] = {
    "no function": (with_(handler={**IMAGE, "entrypoint": "etl"}), ENTRYPOINT),
    "a file": (with_(handler={**IMAGE, "entrypoint": "etl.py:process()"}), ENTRYPOINT),
    "no code": (with_(handler={"entrypoint": "etl:process"}), CODE),
    "two places for the code": (with_(handler={**IMAGE, "configMapRef": {"name": "etl"}}), CODE),
    "a variable from nowhere": (with_env({"name": "A", "valueFrom": {}}), SOURCE),
    "a variable with two values": (
        with_env({"name": "A", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}),
        VALUE,
    ),
    "a variable of ours": (with_env({"name": "PENSTOCK_SOCKET", "value": "a"}), VARIABLE),
    "yarn": (with_(spark={"master": "yarn"}), MASTER),
    "no workers": (with_(spark={"master": "local[0]"}), MASTER),
    "a token in the master": (with_(spark={"master": "sc://connect:15002/;token=abc"}), MASTER),
    "a token after TLS": (with_(spark={"master": "sc://connect:15002/;use_ssl=true;token=abc"}), MASTER),
    "a token without a server": (with_(spark={"tokenSecretRef": {"name": "connect", "key": "token"}}), TOKEN),
    "a setting of something else": (with_(spark={"conf": {"hive.metastore.uris": "thrift://a"}}), SETTING),
    "the master in conf": (with_(spark={"conf": {"spark.master": "local"}}), MASTER_IN_CONF),
    "a duration with a blank": (with_(batch={"maxWait": "1 s"}), lasting("0s", "5m").sentence),
    "a size without a meaning": (with_(batch={"maxBytes": "32MB"}), holding("1Ki", "1Gi").sentence),
    "a long wait": (with_(batch={"maxWait": "1h"}), lasting("0s", "5m").sentence),
    "no time": (with_(batch={"deadline": "0s"}), lasting("1s", "24h").sentence),
    "days": (with_(retry={"maxDelay": "1d"}), lasting("0s", "24h").sentence),
    "days of retrying": (with_(retry={"maxDelay": "24h1s"}), lasting("0s", "24h").sentence),
    "a slow start": (with_(scaling={"stabilization": {"up": "2h"}}), lasting("0s", "1h").sentence),
    "huge batches": (with_(batch={"maxBytes": "2Gi"}), holding("1Ki", "1Gi").sentence),
    "tiny batches": (with_(batch={"maxBytes": "1023"}), holding("1Ki", "1Gi").sentence),
    "partitions": (with_(ordering={"mode": "Partition", "partitions": 16}), ORDERING),
    "order by key": (with_(ordering={"mode": "Key", "key": {"subjectToken": 2}}), ORDERING),
    "a key without a mode": (with_(ordering={"key": {"header": "Customer"}}), ORDERING_PARTS),
    "two keys": (with_(ordering={"key": {"header": "Customer", "subjectToken": 2}}), KEY),
    "delays that shrink": (with_(retry={"initialDelay": "1m", "maxDelay": "30s"}), DELAYS),
    "an empty range": (with_(scaling={"minReplicas": 3, "maxReplicas": 2}), BOUNDS),
    "External without a number": (with_(scaling={"mode": "External"}), NEEDS_REPLICAS),
    "a number with Internal": (with_(replicas=3), NO_REPLICAS),
    "another restart policy": (with_pod(restartPolicy="Never"), RESTARTS),
    "a lifetime": (with_pod(activeDeadlineSeconds=600), RESTARTS),
    "another driver": (with_pod(containers=[{"name": "driver", "image": "example/mine"}]), DRIVER),
    "another engine": (with_pod(initContainers=[{"name": "engine", "command": ["sleep"]}]), ENGINE),
    "a second engine": (with_pod(containers=[{"name": "engine"}]), PLACES),
    "our volume": (with_pod(volumes=[{"name": "penstock-socket", "emptyDir": {}}]), VOLUMES),
    "a way to anywhere": (with_(network={"egress": [{}]}), EGRESS),
    "our label": (with_(template={"metadata": {"labels": {"penstock.dev/queue-group": "a"}}}), MARKS),
}

REFUSED: dict[str, Json] = {
    "nothing": {},
    "no consumer": {"handler": IMAGE},
    "no handler": {"consumerRef": {"name": "orders-etl"}},
    "a field that does not exist": with_(batchSize=5),
    "a pod with a name": with_(template={"metadata": {"name": "mine"}}),
    "a mode that does not exist": with_(scaling={"mode": "Automatic"}),
    "an order that does not exist": with_(ordering={"mode": "Random"}),
    "a number for a setting": with_(spark={"conf": {"spark.sql.shuffle.partitions": 2}}),
    "words for a number": with_(batch={"maxMessages": "many"}),
    "a number in words": with_(batch={"maxMessages": "100"}),
    "words for a yes": with_(suspend="true"),
    "too many workers": with_(scaling={"maxReplicas": 1001}),
    "no batches": with_(batch={"inFlight": 0}),
    "a variable twice": with_env({"name": "A", "value": "1"}, {"name": "A", "value": "2"}),
    "a way in": with_(network={"ingress": []}),
    "an image with a blank": with_(handler={"entrypoint": "etl:process", "image": "example/etl: 1.4"}),
    "a container without a name": with_pod(containers=[{"image": "example/proxy"}]),
}
