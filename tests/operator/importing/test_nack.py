"""NACK's manifests become ours: what NACK adds is said, what has no equivalent is said, and nothing is dropped."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock_operator.plan.importing import CommandLine, Imported, Imports, from_nack

API = "jetstream.nats.io/v1beta2"


def nacks(kind: str, name: str = "orders", /, **spec: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name, "namespace": "shop"}, "spec": spec}


def stream(**spec: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return nacks("Stream", **{"name": "orders", "storage": "file", "maxAge": "1h", "preventDelete": True, **spec})


def consumer(**spec: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    said = {"durableName": "etl", "streamName": "orders", "ackPolicy": "explicit", "ackWait": "30s"}
    return nacks("Consumer", "etl", **{**said, "preventDelete": True, **spec})


def only(imports: Imports, kind: str) -> Imported:
    [found] = [each for each in imports.objects if each.manifest["kind"] == kind]
    return found


def spec_of(*documents: dict[str, Any], kind: str) -> dict[str, Any]:
    spec: dict[str, Any] = only(from_nack(documents), kind).manifest["spec"]
    return spec


def remarks_of(*documents: dict[str, Any], kind: str) -> str:
    return " ".join(only(from_nack(documents), kind).remarks)


def test_a_stream_is_spelt_as_ours_and_keeps_its_names() -> None:
    document = stream(name="ORDERS", subjects=["orders.>"], retention="workqueue", maxMsgs=10, duplicateWindow="1m30s")
    manifest = only(from_nack([document]), "Stream").manifest
    assert manifest["apiVersion"] == "penstock.dev/v1alpha1"
    assert manifest["metadata"] == {"name": "orders", "namespace": "shop"}
    assert manifest["spec"] == {
        "connectionRef": {"name": "nats"},
        "name": "ORDERS",
        "subjects": ["orders.>"],
        "retention": "WorkQueue",
        "maxMessages": 10,
        "maxAge": "1h",
        "duplicateWindow": "1m30s",
    }


def test_a_consumer_refers_to_the_stream_that_is_declared_beside_it() -> None:
    spec = spec_of(stream(), consumer(), kind="Consumer")
    assert spec == {"streamRef": {"name": "orders"}, "name": "etl"}


def test_a_consumer_of_a_stream_that_is_declared_nowhere_names_it() -> None:
    spec = spec_of(consumer(), kind="Consumer")
    assert spec == {"connectionRef": {"name": "nats"}, "stream": "orders", "name": "etl"}


def test_a_consumer_of_another_account_does_not_refer_to_the_stream_of_that_name() -> None:
    documents = [nacks("Account", "b", servers=["nats://b:4222"]), stream(), consumer(account="b")]
    spec = spec_of(*documents, kind="Consumer")
    assert spec["connectionRef"] == {"name": "b"}
    assert "streamRef" not in spec


def test_what_nack_does_where_a_stream_is_silent_is_said_with_a_remark() -> None:
    silent = nacks("Stream", name="orders")
    spec = spec_of(silent, kind="Stream")
    assert spec["storage"] == "Memory"
    assert "maxAge" not in spec
    said = remarks_of(silent, kind="Stream")
    assert "storage: Memory is NACK's default" in said
    assert "NACK deletes it from the server when its manifest is deleted; Penstock keeps it." in said


def test_the_year_that_nacks_control_loop_gives_a_stream_is_said_with_a_remark() -> None:
    silent = only(from_nack([nacks("Stream", name="orders")], CommandLine(control_loop=True)), "Stream")
    assert silent.manifest["spec"]["maxAge"] == "365d"
    assert "maxAge: 365d is what NACK's control loop gives a stream that says none" in " ".join(silent.remarks)


def test_what_nack_does_where_a_consumer_is_silent_is_said_with_a_remark() -> None:
    silent = nacks("Consumer", "etl", durableName="etl", streamName="orders")
    spec = spec_of(silent, kind="Consumer")
    assert spec["ackPolicy"] == "None"
    assert spec["ackWait"] == "1ns"
    said = remarks_of(silent, kind="Consumer")
    assert "ackPolicy: None is NACK's default" in said
    assert "ackWait: 1ns is NACK's default" in said


def test_what_says_all_that_matters_needs_no_remark() -> None:
    assert from_nack([stream(), consumer()], CommandLine(servers=("nats://nats:4222",))).left_out == ()
    assert remarks_of(stream(), kind="Stream") == ""
    assert remarks_of(stream(), consumer(), kind="Consumer") == ""


def test_what_nack_never_updates_is_observed() -> None:
    assert spec_of(stream(preventUpdate=True), kind="Stream")["management"] == {"policy": "Observe"}
    assert "preventUpdate became policy: Observe" in remarks_of(stream(preventUpdate=True), kind="Stream")


def test_a_pinned_client_without_a_time_is_no_policy_as_with_nack() -> None:
    document = consumer(priorityPolicy="pinned_client", priorityGroups=["one"])
    assert "priorityPolicy" not in spec_of(document, kind="Consumer")
    assert "NACK drops it where there is no pinnedTtl" in remarks_of(document, kind="Consumer")


def test_a_start_that_the_policy_does_not_use_is_left_out_with_a_remark() -> None:
    document = consumer(optStartSeq=5, optStartTime="2026-01-01T00:00:00Z")
    assert spec_of(document, kind="Consumer").keys() == {"connectionRef", "stream", "name"}
    said = remarks_of(document, kind="Consumer")
    assert "optStartSeq is left out" in said
    assert "optStartTime is left out" in said


def test_a_field_that_nack_does_not_know_is_remarked_on() -> None:
    assert "spec.maxMessages is not a field that NACK knows" in remarks_of(stream(maxMessages=1), kind="Stream")


def test_a_value_that_nack_cannot_read_is_remarked_on() -> None:
    said = remarks_of(stream(maxAge="1d", maxMsgs="many", subjects="orders"), kind="Stream")
    assert "spec.maxAge is left out, as NACK could not use it: '1d' is not a duration" in said
    assert "'many' is not a whole number." in said
    assert "'orders' is not a list of texts." in said


def test_labels_and_what_people_annotated_stay() -> None:
    document = stream()
    document["metadata"] |= {
        "labels": {"team": "orders"},
        "annotations": {
            "owner": "us",
            "stream.nats.io/state": "{}",
            "kubectl.kubernetes.io/last-applied-configuration": "",
        },
        "resourceVersion": "12",
    }
    assert only(from_nack([document]), "Stream").manifest["metadata"] == {
        "name": "orders",
        "namespace": "shop",
        "labels": {"team": "orders"},
        "annotations": {"owner": "us"},
    }


def test_an_account_becomes_a_connection_with_its_secrets() -> None:
    account = nacks(
        "Account",
        "a",
        servers=["nats://nats.nats:4222"],
        creds={"secret": {"name": "nats-user"}, "file": "user.creds"},
        tls={"secret": {"name": "nats-tls"}, "ca": "ca.crt", "cert": "tls.crt", "key": "tls.key"},
    )
    imports = from_nack([account, stream(account="a")])
    connection = only(imports, "Connection")
    assert connection.manifest["metadata"] == {"name": "a", "namespace": "shop"}
    assert connection.manifest["spec"] == {
        "servers": ["nats://nats.nats:4222"],
        "auth": {"credentialsSecretRef": {"name": "nats-user", "key": "user.creds"}},
        "tls": {
            "caSecretRef": {"name": "nats-tls", "key": "ca.crt"},
            "clientCertificateSecretRef": {
                "name": "nats-tls",
                "certificateKey": "tls.crt",
                "privateKeyKey": "tls.key",
            },
        },
    }
    assert connection.remarks == ()
    assert only(imports, "Stream").manifest["spec"]["connectionRef"] == {"name": "a"}


def test_an_accounts_other_ways_to_log_in_become_ours() -> None:
    secret = {"secret": {"name": "s"}}
    ways = {
        "nkey": ({"seed": "seed"}, {"nkeySecretRef": {"name": "s", "key": "seed"}}),
        "token": ({"token": "t"}, {"tokenSecretRef": {"name": "s", "key": "t"}}),
        "user": (
            {"user": "u", "password": "p"},
            {"userPasswordSecretRef": {"name": "s", "usernameKey": "u", "passwordKey": "p"}},
        ),
    }
    for way, (keys, ours) in ways.items():
        account = nacks("Account", "a", servers=["nats://nats:4222"], **{way: secret | keys})
        assert spec_of(account, kind="Connection")["auth"] == ours


def test_of_two_ways_to_log_in_the_one_that_nack_prefers_stays() -> None:
    account = nacks(
        "Account",
        servers=["nats://nats:4222"],
        token={"secret": {"name": "s"}, "token": "t"},
        creds={"secret": {"name": "s"}, "file": "f"},
    )
    assert spec_of(account, kind="Connection")["auth"] == {"credentialsSecretRef": {"name": "s", "key": "f"}}
    assert "NACK prefers creds to token" in remarks_of(account, kind="Connection")


def test_files_in_nacks_pod_become_secrets_that_a_remark_says_how_to_make() -> None:
    document = stream(
        servers=["tls://nats.example:4222"],
        creds="/etc/jsc-creds/my.creds",
        tls={"clientCert": "/certs/c.pem", "clientKey": "/certs/k.pem", "rootCas": ["/certs/ca.pem"]},
        tlsFirst=True,
        jsDomain="hub",
    )
    assert spec_of(document, kind="Connection") == {
        "servers": ["tls://nats.example:4222"],
        "auth": {"credentialsSecretRef": {"name": "nats-creds", "key": "my.creds"}},
        "tls": {
            "caSecretRef": {"name": "nats-tls", "key": "ca.crt"},
            "clientCertificateSecretRef": {"name": "nats-tls"},
            "handshakeFirst": True,
        },
        "jetStream": {"domain": "hub"},
    }
    said = remarks_of(document, kind="Connection")
    assert "kubectl create secret generic nats-creds --from-file=my.creds=/etc/jsc-creds/my.creds" in said
    in_one_command = (
        "--from-file=ca.crt=/certs/ca.pem --from-file=tls.crt=/certs/c.pem --from-file=tls.key=/certs/k.pem"
    )
    assert f"kubectl create secret generic nats-tls {in_one_command}" in said


def test_of_an_object_that_is_said_in_two_ways_the_last_is_taken_as_kubectl_would() -> None:
    imports = from_nack([stream(maxMsgs=1), stream(maxMsgs=2)])
    assert only(imports, "Stream").manifest["spec"]["maxMessages"] == 2
    assert imports.left_out == ("Stream shop/orders stands there more than once: what the last says is taken.",)


def test_a_server_that_is_named_without_its_namespace_is_remarked_on() -> None:
    remarked = remarks_of(stream(servers=["nats://nats:4222"]), kind="Connection")
    assert "write nats.NAMESPACE" in remarked
    for full in ("nats://nats.shop:4222", "nats://10.1.2.3:4222", "nats://[::1]:4222", "nats://localhost:4222"):
        assert remarks_of(stream(servers=[full]), kind="Connection") == ""


def test_each_server_has_one_connection_in_each_namespace() -> None:
    elsewhere = stream()
    elsewhere["metadata"] = {"name": "orders", "namespace": "other"}
    other = {**stream(jsDomain="hub"), "metadata": {"name": "other", "namespace": "shop"}}
    imports = from_nack([stream(), consumer(), elsewhere, other])
    connections = [each.manifest["metadata"] for each in imports.objects if each.manifest["kind"] == "Connection"]
    assert connections == [
        {"name": "nats", "namespace": "shop"},
        {"name": "nats", "namespace": "other"},
        {"name": "nats-2", "namespace": "shop"},
    ]


def test_servers_that_only_nacks_command_line_knows_are_asked_for() -> None:
    assert "put them here, in place of this guess" in remarks_of(stream(), kind="Connection")
    known = from_nack([stream()], CommandLine(servers=("nats://nats.nats:4222",)))
    assert only(known, "Connection").manifest["spec"]["servers"] == ["nats://nats.nats:4222"]
    assert only(known, "Connection").remarks == ()


def test_an_account_that_is_not_among_the_manifests_is_asked_for() -> None:
    assert "The Account a is not among the manifests" in remarks_of(stream(account="a"), kind="Connection")


def test_buckets_are_left_out_and_said() -> None:
    imports = from_nack([nacks("KeyValue", "settings", bucket="SETTINGS"), nacks("ObjectStore", "files", bucket="F")])
    assert imports.objects == ()
    assert imports.left_out[0].startswith("KeyValue shop/settings is left out: Penstock does not declare buckets.")
    assert imports.left_out[1].startswith("ObjectStore shop/files is left out")


def test_what_is_not_nacks_is_left_out_and_said() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "natscli"}}
    assert from_nack([pod]).left_out == ("Pod natscli (v1) is not NACK's; it is left out.",)
    values_of_a_chart = {"config": {"jetstream": {"enabled": True}}}
    [told] = from_nack([values_of_a_chart]).left_out
    assert told == "What is no manifest, as it has no kind, is not NACK's; it is left out."


def test_what_penstock_refuses_is_remarked_on() -> None:
    assert "Penstock refuses it as it is: " in remarks_of(stream(replicas=7), kind="Stream")


TEXT = st.text("aé1.*/: \u2028", max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.sampled_from(
    [
        *("name", "subjects", "maxAge", "mirror", "sources", "placement", "metadata", "consumerLimits"),
        *("streamName", "backoff", "priorityPolicy", "ackWait", "sampleFreq", "preventUpdate"),
        *("account", "servers", "creds", "nkey", "token", "user", "tls"),
    ]
)
DOCUMENTS = st.fixed_dictionaries(
    {
        "apiVersion": st.just(API),
        "kind": st.sampled_from(["Stream", "Consumer", "Account", "KeyValue"]) | JSON,
        "metadata": JSON | st.dictionaries(st.sampled_from(["name", "namespace", "labels", "annotations"]), JSON),
        "spec": JSON | st.dictionaries(FIELDS, JSON, max_size=6),
    }
)


@given(st.lists(DOCUMENTS, max_size=3))
def test_whatever_stands_in_a_manifest_becomes_ours_or_a_sentence(documents: list[dict[str, Any]]) -> None:
    imports = from_nack(documents)
    kept = [each for each in imports.objects if each.manifest["kind"] != "Connection"]
    accounts = [document for document in documents if document["kind"] == "Account"]
    again = [sentence for sentence in imports.left_out if sentence.startswith("Account")]
    assert len(kept) + len(imports.left_out) + len(accounts) - len(again) == len(documents)
