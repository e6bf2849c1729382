"""QueueGroups that keep each rule, that break it, or that the schema alone refuses."""

from typing import Any

import yaml

Json = dict[str, Any]
SMALLEST: Json = {
    "consumerRef": {"name": "orders-etl"},
    "handler": {"entrypoint": "etl:process", "image": "example/etl:1.4"},
}
MASTERS = (
    *("local", "local[4]", "local[*,3]", "local-cluster[2,1,1024]", "spark://a:7077,b:7077"),
    *("k8s://https://kubernetes.default.svc:443", "sc://connect:15002", "sc://[::1]:15002,b"),
    "sc://connect:443,b/;use_ssl=true",
)

ACCEPTED: dict[str, Json] = {
    **{f"the master {master}": {"spark": {"master": master}} for master in MASTERS},
    **yaml.safe_load("""
the smallest: {}
code in a ConfigMap: {handler: {entrypoint: "company.etl:process", configMapRef: {name: etl-code}}}
variables:
  handler:
    entrypoint: etl:process
    image: example/etl:1.4
    env:
    - {name: REGION, value: eu}
    - {name: EMPTY}
    - {name: KEY, valueFrom: {secretKeyRef: {name: lake, key: id, optional: true}}}
    - {name: MODE, valueFrom: {configMapKeyRef: {name: modes, key: etl}}}
    - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
a token: {spark: {master: "sc://connect:15002", tokenSecretRef: {name: connect, key: token}}}
Spark's settings: {spark: {conf: {spark.sql.shuffle.partitions: "2"}}}
batches: {batch: {maxMessages: 10000, maxBytes: 1Gi, maxWait: 0s, inFlight: 1, deadline: 24h}}
a whole number with a decimal point: {batch: {inFlight: 2.0}}
no order: {ordering: {mode: None}}
retries: {retry: {maxAttempts: 1, initialDelay: 5s, maxDelay: 5000ms}}
dead letters: {deadLetter: {streamRef: {name: orders-dead}}}
scaling:
  scaling:
    {mode: Internal, minReplicas: 2, maxReplicas: 2, targetDrain: 1m, idle: 1h30m, stabilization: {up: 10s, down: 1h}}
scaling by others: {scaling: {mode: External}, replicas: 3}
suspended: {suspend: true}
workers that may go nowhere: {network: {egress: []}}
workers that may go to a store:
  network:
    egress:
    - {to: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}], ports: [{port: 443}]}
    - {to: [{podSelector: {matchLabels: {app: store}}, namespaceSelector: {}}]}
a template:
  template:
    metadata: {labels: {team: orders}, annotations: {example.com/note: a b}}
    spec:
      nodeSelector: {disk: ssd}
      containers:
      - {name: driver, resources: {limits: {memory: 4Gi}}, volumeMounts: [{name: data}]}
      - {name: proxy, image: example/proxy, args: [--quiet]}
      initContainers: [{name: engine, resources: {requests: {cpu: 0.5}}}]
      volumes: [{name: data, emptyDir: {}}]
null for nothing: {suspend: null, spark: null, batch: {maxWait: null}}
"""),
}

BROKEN: dict[str, list[Json]] = yaml.safe_load("""
Choose at most one of credentialsSecretRef:
- {auth: {credentialsSecretRef: {name: nats-user, key: user.creds}, tokenSecretRef: {name: nats-user, key: token}}}
An entrypoint is module:function:
- {handler: {entrypoint: etl, image: example/etl}}
- {handler: {entrypoint: "etl.py:process()", image: example/etl}}
The code is in a ConfigMap or in an image:
- {handler: {entrypoint: "etl:process"}}
- {handler: {entrypoint: "etl:process", image: example/etl, configMapRef: {name: etl}}}
Choose exactly one of configMapKeyRef:
- {handler: {entrypoint: "etl:process", image: example/etl, env: [{name: A, valueFrom: {}}]}}
Choose value or valueFrom:
- handler:
    entrypoint: etl:process
    image: example/etl
    env: [{name: A, value: "1", valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
Variables whose names begin with PENSTOCK_:
- {handler: {entrypoint: "etl:process", image: example/etl, env: [{name: PENSTOCK_SOCKET, value: a}]}}
A Spark master is local:
- {spark: {master: yarn}}
- {spark: {master: "local[0]"}}
- {spark: {master: "sc://connect:15002/;token=abc"}}
- {spark: {master: "sc://connect:15002/;use_ssl=true;token=abc"}}
A token is for a Spark Connect server:
- {spark: {tokenSecretRef: {name: connect, key: token}}}
The name of a Spark setting begins with spark.:
- {spark: {conf: {hive.metastore.uris: "thrift://a"}}}
spark.master and spark.remote are said in the field master:
- {spark: {conf: {spark.master: local}}}
It is a duration from 0s to 5m,:
- {batch: {maxWait: 1 s}}
- {batch: {maxWait: 1h}}
It is a duration from 1s to 24h,:
- {batch: {deadline: 0s}}
It is a duration from 0s to 24h,:
- {retry: {maxDelay: 1d}}
- {retry: {maxDelay: 24h1s}}
It is a duration from 0s to 1h,:
- {scaling: {stabilization: {up: 2h}}}
It is a size from 1Ki to 1Gi:
- {batch: {maxBytes: 32MB}}
- {batch: {maxBytes: 2Gi}}
- {batch: {maxBytes: "1023"}}
The ordering modes Partition and Key are not built yet:
- {ordering: {mode: Partition, partitions: 16}}
- {ordering: {mode: Key, key: {subjectToken: 2}}}
partitions and key belong to the ordering modes:
- {ordering: {key: {header: Customer}}}
Choose exactly one of subjectToken and header:
- {ordering: {key: {header: Customer, subjectToken: 2}}}
initialDelay is not longer than maxDelay:
- {retry: {initialDelay: 1m, maxDelay: 30s}}
minReplicas is not greater than maxReplicas:
- {scaling: {minReplicas: 3, maxReplicas: 2}}
scaling.mode External needs replicas:
- {scaling: {mode: External}}
replicas and /scale belong to scaling.mode External:
- {replicas: 3}
Leave out restartPolicy and activeDeadlineSeconds:
- {template: {spec: {restartPolicy: Never}}}
- {template: {spec: {activeDeadlineSeconds: 600}}}
Leave out image, command and args of the driver:
- {template: {spec: {containers: [{name: driver, image: example/mine}]}}}
Leave out image, command and args of the engine:
- {template: {spec: {initContainers: [{name: engine, command: [sleep]}]}}}
The driver is one of the containers:
- {template: {spec: {containers: [{name: engine}]}}}
Volumes whose names begin with penstock-:
- {template: {spec: {volumes: [{name: penstock-socket, emptyDir: {}}]}}}
A rule of egress says to, or ports, or both:
- {network: {egress: [{}]}}
Labels and annotations with penstock.dev/:
- {template: {metadata: {labels: {penstock.dev/queue-group: a}}}}
""")
"""By the beginning of a rule."""

REFUSED: dict[str, Json] = yaml.safe_load("""
no consumer: {consumerRef: null}
no handler: {handler: null}
a field that does not exist: {batchSize: 5}
a pod with a name: {template: {metadata: {name: mine}}}
a mode that does not exist: {scaling: {mode: Automatic}}
an order that does not exist: {ordering: {mode: Random}}
a number for a setting: {spark: {conf: {spark.sql.shuffle.partitions: 2}}}
words for a number: {batch: {maxMessages: many}}
a number in words: {batch: {maxMessages: "100"}}
words for a yes: {suspend: "true"}
too many workers: {scaling: {maxReplicas: 1001}}
no batches: {batch: {inFlight: 0}}
a variable twice:
  handler: {entrypoint: "etl:process", image: example/etl, env: [{name: A, value: "1"}, {name: A, value: "2"}]}
a way in: {network: {ingress: []}}
an image with a blank: {handler: {entrypoint: "etl:process", image: "example/etl: 1.4"}}
a container without a name: {template: {spec: {containers: [{image: example/proxy}]}}}
""")
