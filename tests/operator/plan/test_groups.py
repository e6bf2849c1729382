"""Where a queue group pulls from and sends dead letters to, its workers' settings, and what a plan says of it."""

import json
from typing import Any

import pytest

from penstock_operator.plan.decision import Next
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.group_limits import group_limits
from penstock_operator.plan.group_places import GroupPlace, group_place
from penstock_operator.plan.queue_groups import plan_queue_group
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Waiting
from penstock_operator.plan.worker_settings import WorkerPlace, secret_keys, worker_settings
from penstock_operator.resources import ConnectionSpec, ConsumerSpec, QueueGroupSpec
from penstock_worker.policy.settings import BatchSettings, RetrySettings, WorkerSettings
from penstock_worker.policy.telling import read_settings
from tests.operator.plan.builders import declared

GROUP = Identity("QueueGroup", "shop", "etl")
NATS = Identity("Connection", "shop", "nats")
STREAM = {"connectionRef": {"name": "nats"}, "name": "ORDERS", "subjects": ["orders.>"]}
DEAD = {"connectionRef": {"name": "nats"}, "subjects": ["dead", "dead.*.>", "dead.orders.>"]}
CONSUMER = {"streamRef": {"name": "orders"}, "name": "etl"}
HANDLER = {"entrypoint": "etl:process", "configMapRef": {"name": "code"}}
SPEC: dict[str, Any] = {"consumerRef": {"name": "orders-etl"}, "handler": HANDLER}


def group(**spec: Any) -> QueueGroupSpec:  # noqa: ANN401 - JSON is anything
    return QueueGroupSpec.read({**SPEC, **spec})


def world(consumer: dict[str, Any] | None = CONSUMER, **streams: dict[str, Any]) -> dict[Identity, Declared]:
    """Declare a Consumer, its Stream and others."""
    specs = {("Stream", "orders"): STREAM, **{("Stream", name): spec for name, spec in streams.items()}}
    if consumer is not None:
        specs["Consumer", "orders-etl"] = consumer
    found = [declared(kind, name, spec) for (kind, name), spec in specs.items()]
    return {each.identity: each for each in found}


def place(**spec: Any) -> GroupPlace:  # noqa: ANN401
    found = group_place(GROUP, group(**spec), world(dead=DEAD))
    assert isinstance(found, GroupPlace)
    return found


def test_group_pulls_from_its_consumer_and_has_its_own_dead_letter_stream_or_uses_the_referenced_one() -> None:
    found = place()
    assert (found.connection, found.stream, found.consumer) == (NATS, "ORDERS", "etl")
    assert (found.dead_letter_stream, found.dead_letter_subject) == ("ORDERS-etl-dead", "dead.ORDERS.etl")
    assert found.dead_letter_identity is None
    found = place(deadLetter={"streamRef": {"name": "dead"}})
    assert (found.dead_letter_stream, found.dead_letter_subject) == ("dead", "dead.orders.ORDERS.etl")
    assert found.dead_letter_identity == Identity("Stream", "shop", "dead")


def test_consumer_of_a_stream_declared_elsewhere_is_reached_over_its_own_connection() -> None:
    elsewhere = {"connectionRef": {"name": "hub", "namespace": "infra"}, "stream": "ALL"}
    found = group_place(GROUP, group(), world(elsewhere))
    assert isinstance(found, GroupPlace)
    hub = Identity("Connection", "infra", "hub")
    assert (found.connection, found.stream, found.consumer) == (hub, "ALL", "orders-etl")


UNFIT: list[tuple[dict[str, Any] | None, Reason, str]] = [
    (None, Reason.CONSUMER_NOT_FOUND, "There is no Consumer shop/orders-etl"),
    ({**CONSUMER, "streamRef": {"name": "gone"}}, Reason.STREAM_NOT_FOUND, "There is no Stream shop/gone"),
    ({**CONSUMER, "deliverSubject": "x"}, Reason.INVALID, "is a push consumer"),
    ({**CONSUMER, "ackPolicy": "All"}, Reason.INVALID, "has ackPolicy: All"),
    (
        {**CONSUMER, "priorityPolicy": "Overflow", "priorityGroups": ["a"]},
        Reason.INVALID,
        "has priorityPolicy: Overflow",
    ),
    ({**CONSUMER, "maxDeliver": 5}, Reason.INVALID, "has maxDeliver: 5"),
    ({**CONSUMER, "name": "no.dots"}, Reason.CONSUMER_NOT_READY, "cannot be understood"),
]
UNUSABLE: list[tuple[dict[str, Any], str]] = [
    ({**DEAD, "subjects": ["dead.*"]}, "has no subject that ends in .>"),
    ({**DEAD, "connectionRef": {"name": "other"}}, "over Connection shop/other"),
    ({**DEAD, "name": "ORDERS"}, "they would come again and again"),
    ({**DEAD, "retention": "Interest"}, "would lose dead letters: retention is interest"),
    ({**DEAD, "noAck": True}, "would lose dead letters: no_ack is set"),
    ({**DEAD, "maxMessagesPerSubject": 1}, "would lose dead letters: max_msgs_per_subject is 1"),
]


def test_unsuitable_consumer_or_dead_letter_stream_is_reported(subtests: pytest.Subtests) -> None:
    for consumer, reason, said in UNFIT:
        with subtests.test(said):
            found = group_place(GROUP, group(), world(consumer))
            assert isinstance(found, Waiting)
            assert found.reason is reason
            assert said in found.message
    for stream, said in UNUSABLE:
        with subtests.test(said):
            found = group_place(GROUP, group(deadLetter={"streamRef": {"name": "dead"}}), world(dead=stream))
            assert isinstance(found, Waiting)
            assert said in found.message


def test_worker_reads_the_settings_of_its_group_or_has_its_own_defaults() -> None:
    spec = group(
        spark={"master": "local[2]", "conf": {"spark.sql.shuffle.partitions": "2"}},
        batch={"maxMessages": 10, "maxBytes": "1Mi", "maxWait": "1s", "inFlight": 3, "deadline": "1m30s"},
        retry={"maxAttempts": 2, "initialDelay": "500ms", "maxDelay": "2m"},
    )
    told = worked(spec, ConnectionSpec.read({"servers": ["nats://nats"]}))
    assert told.engine.group == "shop/etl"
    assert told.engine.batch == BatchSettings(
        max_messages=10, max_bytes=1 << 20, max_wait_seconds=1.0, in_flight=3, deadline_seconds=90.0
    )
    assert told.engine.retry == RetrySettings(max_attempts=2, initial_delay_seconds=0.5, max_delay_seconds=120.0)
    assert (told.driver.master, told.driver.conf) == ("local[2]", {"spark.sql.shuffle.partitions": "2"})
    assert (told.driver.entrypoint, told.driver.in_flight) == ("etl:process", 3)
    defaults = worked(group(), ConnectionSpec.read({"servers": ["nats://nats"]}))
    assert (defaults.engine.batch, defaults.engine.retry) == (BatchSettings(), RetrySettings())
    assert defaults.driver.master == "local[*]"


AUTHS: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"credentialsSecretRef": {"name": "s", "key": "creds"}}, {"credentials_file": "/s/creds"}),
    ({"nkeySecretRef": {"name": "s", "key": "seed"}}, {"nkey_file": "/s/seed"}),
    ({"tokenSecretRef": {"name": "s", "key": "token"}}, {"token_file": "/s/token"}),
    ({"userPasswordSecretRef": {"name": "s"}}, {"user_file": "/s/username", "password_file": "/s/password"}),
]


def test_secrets_reach_workers_as_file_paths() -> None:
    tls = {"caSecretRef": {"name": "ca", "key": "ca.crt"}, "clientCertificateSecretRef": {"name": "c"}}
    for auth, named in AUTHS:
        whole = {"servers": ["tls://nats"], "auth": auth, "tls": tls, "jetStream": {"domain": "hub"}}
        told = worked(group(), ConnectionSpec.read(whole)).connection
        assert {name: getattr(told, name) for name in named} == named
        assert (told.ca_file, told.certificate_file, told.key_file) == ("/ca/ca.crt", "/c/tls.crt", "/c/tls.key")
        assert told.domain == "hub"


def worked(spec: QueueGroupSpec, connection: ConnectionSpec) -> WorkerSettings:
    """Return the settings as the worker reads them."""
    files = {(name, key): f"/{name}/{key}" for name, key in secret_keys(connection)}
    worker = WorkerPlace(name="w", socket="/s", work_folder="/w", servers=("nats://here:1",), secret_files=files)
    told = read_settings(json.dumps(worker_settings(GROUP, spec, connection, place(), worker)))
    assert told.connection.servers == ("nats://here:1",)
    return told


def test_limits_come_from_the_group_and_its_consumer_or_from_fixed_replicas() -> None:
    consumer = ConsumerSpec.read(CONSUMER)
    scaling = {"minReplicas": 1, "maxReplicas": 3, "targetDrain": "1m", "idle": "10s"}
    limits = group_limits(group(scaling=scaling), consumer, quota=2)
    assert (limits.min_workers, limits.max_workers, limits.quota) == (1, 3, 2)
    assert (limits.target_drain, limits.idle, limits.max_ack_pending) == (60.0, 10.0, 1000)
    limits = group_limits(group(scaling={"mode": "External"}, replicas=4), consumer)
    assert (limits.min_workers, limits.max_workers) == (4, 4)


def test_plan_of_a_group_says_that_it_fits_or_what_is_missing_or_unsupported() -> None:
    of, missing = declared("QueueGroup", "etl", SPEC), Waiting(Reason.CONSUMER_NOT_FOUND, "There is none.")
    unsupported = declared("QueueGroup", "etl", {**SPEC, "ordering": {"mode": "Key"}})
    for plan, status, reason, message in (
        (plan_queue_group(of, place()), "True", Reason.FITS, ""),
        (plan_queue_group(of, missing), "False", Reason.CONSUMER_NOT_FOUND, "There is none."),
        (plan_queue_group(unsupported, place()), "False", Reason.INVALID, "not built yet"),
    ):
        [ready] = plan.verdicts
        assert (ready.status, ready.reason, plan.action, plan.next) == (status, reason, None, Next.WHEN_IT_CHANGES)
        assert message in ready.message
    gone = plan_queue_group(declared("QueueGroup", "etl", SPEC, deleting=True), place())
    assert (gone.verdicts, gone.action) == ((), None)
