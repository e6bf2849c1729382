"""API server and models agree about any manifest: refused with a sentence, or accepted and planned."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as some

from penstock_jetstream.config import CONSUMER as CONSUMER_TABLE
from penstock_jetstream.config import STREAM as STREAM_TABLE
from penstock_jetstream.config import Facts, Problem, Severity, validate
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.reconcile import plan
from penstock_operator.plan.surroundings import Surroundings
from penstock_operator.resources import CONSUMER, KINDS, STREAM, ConsumerSpec, Kind, StreamSpec
from penstock_operator.resources.translation import consumer_config, stream_config
from tests.operator.resources.judging import INVALID
from tests.operator.resources.manifests import manifests
from tests.testbed.kubernetes.access import Access
from tests.testbed.kubernetes.client import Client, RefusedError

every_kind = pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[] if kind is CONSUMER else pytest.mark.full, id=kind.name) for kind in KINDS],
)

EXAMPLES = 150
HINTS: dict[str, dict[str, some.SearchStrategy[Any]]] = {
    "Connection": {
        "spec.servers[]": some.sampled_from(["nats://a:4222", "tls://b", "tls://c:443/", "wss://d", "nats://x@y"])
    },
    "QueueGroup": {
        "spec.handler": some.sampled_from(
            [
                {"entrypoint": "etl:process", "image": "example/etl"},
                {"entrypoint": "etl:process", "configMapRef": {"name": "etl"}, "env": [{"name": "A"}]},
            ]
        ),
        "spec.spark.conf": some.sampled_from([{"spark.ui.enabled": "false"}, {"spark.master": "local"}]),
        "spec.template.spec.restartPolicy": some.none(),
        "spec.template.spec.activeDeadlineSeconds": some.none(),
        "spec.template.metadata.labels": some.sampled_from([{"team": "orders"}, {"penstock.dev/a": "b"}]),
        "spec.ordering": some.just({"mode": "None"}),
    },
}
"""What is right, or nearly, where a schema does not tell."""
BASES: dict[str, some.SearchStrategy[Any]] = {
    "Connection": some.just({"servers": ["nats://nats.nats:4222"]}),
    "Stream": some.just({"connectionRef": {"name": "nats"}}),
    "Consumer": some.sampled_from(
        [
            {"streamRef": {"name": "orders"}, "connectionRef": None, "stream": None},
            {"streamRef": None, "connectionRef": {"name": "nats"}, "stream": "ORDERS"},
        ]
    ),
    "QueueGroup": some.just({"consumerRef": {"name": "etl"}, "replicas": None}),
}
TRANSFORMS = (".src", ".dest")
"""Fields whose grammar no schema can express: what is wrong there is reported in the object's conditions."""
THERE = Facts(exists=True)
"""What may not be said at creation may be said later: no rule about a manifest alone can tell."""


def kept(client: Client, manifest: dict[str, Any]) -> dict[str, Any] | str:
    """Return what the API server would keep, or why it refuses."""
    try:
        return client.create(manifest, dry_run=True)
    except RefusedError as refused:
        if refused.status not in INVALID:
            raise
        return str(refused)


def with_kept_numbers(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return JSON as an API server keeps it: integers of more than 64 bits become floating-point numbers."""
    match value:
        case dict():
            return {key: with_kept_numbers(each) for key, each in value.items()}
        case list():
            return [with_kept_numbers(each) for each in value]
        case int() if not -(2**63) <= value < 2**63:
            return int(Decimal(repr(float(value))))
        case _:
            return value


def problems(declared: Declared, name: str) -> list[Problem]:
    """Return what the server would refuse of what is declared, as far as that can be known without it."""
    match declared.spec:
        case StreamSpec():
            found = validate(STREAM_TABLE, stream_config(declared.spec, name), THERE)
        case ConsumerSpec():
            found = validate(CONSUMER_TABLE, consumer_config(declared.spec, name), THERE)
        case _:
            found = []
    return [problem for problem in found if problem.severity is Severity.ERROR]


@pytest.mark.timeout(600)
@every_kind
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(data=some.data())
def test_api_server_and_models_agree_about_any_manifest(
    penstock_plane: Access, kind: Kind, data: some.DataObject
) -> None:
    manifest = data.draw(manifests(kind, HINTS.get(kind.name, {}), BASES[kind.name]), label="manifest")
    declared, answer = Declared.read(manifest), kept(penstock_plane.client, manifest)
    event("refused" if isinstance(answer, str) else "accepted")
    if isinstance(answer, str):
        assert declared.spec is None, answer
        assert declared.fault.endswith("."), declared.fault
        assert "evaluation error" not in answer
    else:
        assert declared.fault == ""
        assert Declared.read(answer).spec == Declared.read(with_kept_numbers(manifest)).spec
        found = problems(declared, str(manifest["metadata"]["name"]))
        assert all(problem.field.endswith(TRANSFORMS) for problem in found)
        if kind in (STREAM, CONSUMER):
            reasons = {verdict.reason for verdict in plan(declared, Surroundings()).verdicts}
            assert reasons
            assert Reason.INVALID in reasons or not found
