"""Where a queue group's messages come from and go to, and what its workers are told."""

import json
from typing import Any

import pytest

from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.group_limits import group_limits
from penstock_operator.plan.group_places import GroupPlace, group_place
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Waiting
from penstock_operator.plan.worker_settings import WorkerPlace, secret_keys, worker_settings
from penstock_operator.resources import ConnectionSpec, ConsumerSpec, QueueGroupSpec
from penstock_worker.policy.settings import BatchSettings, RetrySettings, WorkerSettings
from penstock_worker.policy.telling import read_settings

GROUP = Identity("QueueGroup", "shop", "etl")
NATS = Identity("Connection", "shop", "nats")
STREAM = {"connectionRef": {"name": "nats"}, "name": "ORDERS", "subjects": ["orders.>"]}
DEAD = {"connectionRef": {"name": "nats"}, "subjects": ["dead", "dead.*.>", "dead.orders.>"]}
CONSUMER = {"streamRef": {"name": "orders"}, "name": "etl"}


def group(**spec: Any) -> QueueGroupSpec:  # noqa: ANN401 - JSON is anything
    handler = {"entrypoint": "etl:process", "configMapRef": {"name": "code"}}
    return QueueGroupSpec.read({"consumerRef": {"name": "orders-etl"}, "handler": handler, **spec})


def world(consumer: dict[str, Any] | None = CONSUMER, **streams: dict[str, Any]) -> dict[Identity, Declared]:
    """Declare a Consumer, its Stream and others."""
    specs = {("Stream", "orders"): STREAM, **{("Stream", name): spec for name, spec in streams.items()}}
    if consumer is not None:
        specs["Consumer", "orders-etl"] = consumer
    found = {}
    for (kind, name), spec in specs.items():
        metadata = {"name": name, "namespace": "shop"}
        found[Identity(kind, "shop", name)] = Declared.read({"kind": kind, "metadata": metadata, "spec": spec})
    return found


def place(**spec: Any) -> GroupPlace:  # noqa: ANN401
    found = group_place(GROUP, group(**spec), world(dead=DEAD))
    assert isinstance(found, GroupPlace)
    return found


def test_a_group_pulls_where_its_consumer_is_and_has_dead_letters_of_its_own() -> None:
    found = place()
    assert (found.connection, found.stream, found.consumer) == (NATS, "ORDERS", "etl")
    assert (found.dead_letter_stream, found.dead_letter_subject) == ("ORDERS-etl-dead", "dead.ORDERS.etl")
    assert found.dead_letter_identity is None


def test_dead_letters_go_below_a_subject_of_the_stream_that_is_named() -> None:
    found = place(deadLetter={"streamRef": {"name": "dead"}})
    assert (found.dead_letter_stream, found.dead_letter_subject) == ("dead", "dead.orders.ORDERS.etl")
    assert found.dead_letter_identity == Identity("Stream", "shop", "dead")


def test_a_stream_that_is_declared_elsewhere_is_found_over_the_consumers_own_connection() -> None:
    elsewhere = {"connectionRef": {"name": "hub", "namespace": "infra"}, "stream": "ALL"}
    found = group_place(GROUP, group(), world(elsewhere))
    assert isinstance(found, GroupPlace)
    assert (found.connection, found.stream, found.consumer) == (
        Identity("Connection", "infra", "hub"),
        "ALL",
        "orders-etl",
    )


@pytest.mark.parametrize(
    ("consumer", "reason", "said"),
    [
        (None, Reason.CONSUMER_NOT_FOUND, "There is no Consumer shop/orders-etl"),
        ({**CONSUMER, "streamRef": {"name": "gone"}}, Reason.STREAM_NOT_FOUND, "There is no Stream shop/gone"),
        ({**CONSUMER, "deliverSubject": "x"}, Reason.INVALID, "is a push consumer"),
        ({**CONSUMER, "ackPolicy": "All"}, Reason.INVALID, "has ackPolicy: All"),
        (
            {**CONSUMER, "priorityPolicy": "Overflow", "priorityGroups": ["a"]},
            Reason.INVALID,
            "has priorityPolicy: Overflow",
        ),
        ({**CONSUMER, "name": "no.dots"}, Reason.CONSUMER_NOT_READY, "cannot be understood"),
    ],
)
def test_a_consumer_that_does_not_fit_is_told_in_a_sentence(
    consumer: dict[str, Any] | None, reason: Reason, said: str
) -> None:
    found = group_place(GROUP, group(), world(consumer))
    assert isinstance(found, Waiting)
    assert found.reason is reason
    assert said in found.message


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        ({**DEAD, "subjects": ["dead.*"]}, "has no subject that ends in .>"),
        ({**DEAD, "connectionRef": {"name": "other"}}, "over Connection shop/other"),
        ({**DEAD, "name": "ORDERS"}, "they would come again and again"),
    ],
)
def test_a_stream_that_cannot_take_dead_letters_is_told_in_a_sentence(stream: dict[str, Any], said: str) -> None:
    found = group_place(GROUP, group(deadLetter={"streamRef": {"name": "dead"}}), world(dead=stream))
    assert isinstance(found, Waiting)
    assert said in found.message


def test_a_worker_is_told_what_the_group_says_in_words_that_it_understands() -> None:
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


def test_a_worker_has_the_defaults_that_it_would_have_by_itself() -> None:
    told = worked(group(), ConnectionSpec.read({"servers": ["nats://nats"]}))
    assert told.engine.batch == BatchSettings()
    assert told.engine.retry == RetrySettings()
    assert told.driver.master == "local[*]"


@pytest.mark.parametrize(
    ("auth", "named"),
    [
        ({"credentialsSecretRef": {"name": "s", "key": "creds"}}, {"credentials_file": "/s/creds"}),
        ({"nkeySecretRef": {"name": "s", "key": "seed"}}, {"nkey_file": "/s/seed"}),
        ({"tokenSecretRef": {"name": "s", "key": "token"}}, {"token_file": "/s/token"}),
        ({"userPasswordSecretRef": {"name": "s"}}, {"user_file": "/s/username", "password_file": "/s/password"}),
    ],
)
def test_secrets_are_told_as_paths_of_files(auth: dict[str, Any], named: dict[str, str]) -> None:
    tls = {"caSecretRef": {"name": "ca", "key": "ca.crt"}, "clientCertificateSecretRef": {"name": "c"}}
    spec = ConnectionSpec.read({"servers": ["tls://nats"], "auth": auth, "tls": tls, "jetStream": {"domain": "hub"}})
    told = worked(group(), spec).connection
    assert {name: getattr(told, name) for name in named} == named
    assert (told.ca_file, told.certificate_file, told.key_file) == ("/ca/ca.crt", "/c/tls.crt", "/c/tls.key")
    assert told.domain == "hub"


def worked(spec: QueueGroupSpec, connection: ConnectionSpec) -> WorkerSettings:
    """Have a worker read what it is told."""
    files = {(name, key): f"/{name}/{key}" for name, key in secret_keys(connection)}
    worker = WorkerPlace(name="w", socket="/s", work_folder="/w", servers=("nats://here:1",), secret_files=files)
    told = read_settings(json.dumps(worker_settings(GROUP, spec, connection, place(), worker)))
    assert told.connection.servers == ("nats://here:1",)
    return told


def test_limits_are_what_the_group_and_its_consumer_say() -> None:
    consumer = ConsumerSpec.read(CONSUMER)
    scaling = {"minReplicas": 1, "maxReplicas": 3, "targetDrain": "1m", "idle": "10s"}
    limits = group_limits(group(scaling=scaling), consumer, quota=2)
    assert (limits.min_workers, limits.max_workers, limits.quota) == (1, 3, 2)
    assert (limits.target_drain, limits.idle, limits.max_ack_pending) == (60.0, 10.0, 1000)


def test_a_number_that_somebody_else_decides_is_both_limits() -> None:
    limits = group_limits(group(scaling={"mode": "External"}, replicas=4), ConsumerSpec.read(CONSUMER))
    assert (limits.min_workers, limits.max_workers) == (4, 4)
