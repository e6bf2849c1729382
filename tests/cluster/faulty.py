"""Queue groups that cannot work, each for a reason of its own, and one beside them that can.

Knows manifests. Does not know what is said of them.
"""

from typing import Any

from penstock_operator.constants import API_VERSION

Json = dict[str, Any]
SMALL: Json = {
    "initContainers": [{"name": "engine", "resources": {"requests": {"cpu": "10m"}}}],
    "containers": [{"name": "driver", "resources": {"requests": {"cpu": "50m"}}}],
}
"""So that a small node takes all of them at once."""
GOOD = "def process(df, batch):\n    df.count()\n"
BAD = "import pandas_of_another_name\n\n\ndef process(df, batch):\n    df.count()\n"


def manifest(kind: str, name: str, spec: Json, version: str = API_VERSION) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def code(name: str, text: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"job.py": text}}


def ground(stream: str) -> list[Json]:
    """Return what all groups of a namespace share: a stream of this name, and code."""
    stored = {"connectionRef": {"name": "nats"}, "name": stream, "subjects": [f"{stream}.>"]}
    return [
        manifest("Connection", "nats", {"servers": ["nats://nats.nats:4222"]}),
        manifest("Stream", "stream", stored),
        code("good", GOOD),
        code("bad", BAD),
    ]


def group(name: str, *, consumer: Json | None = None, template: Json = SMALL, **spec: Any) -> list[Json]:  # noqa: ANN401
    """Return a group with a consumer of its own, and at least one worker."""
    pull = {"filterSubjects": [f"*.{name}"], "ackPolicy": "Explicit", "ackWait": "60s"}
    whole: Json = {
        "consumerRef": {"name": name},
        "handler": {"entrypoint": "job:process", "configMapRef": {"name": "good"}},
        "scaling": {"minReplicas": 1, "maxReplicas": 1},
        "template": {"spec": template},
        **spec,
    }
    return [
        manifest("Consumer", name, {"streamRef": {"name": "stream"}, "name": name, **pull, **(consumer or {})}),
        manifest("QueueGroup", name, whole),
    ]


def driver(**fields: Any) -> Json:  # noqa: ANN401
    """Return a template whose driver has these fields besides."""
    [small] = SMALL["containers"]
    return {**SMALL, "containers": [{**small, **fields}]}


def handler(**fields: Any) -> Json:  # noqa: ANN401
    return {"handler": {"entrypoint": "job:process", **fields}}
