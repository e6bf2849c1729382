"""NACK's manifests become ours, with remarks on differences and with valid, distinct object names."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_operator.plan.importing import CommandLine, Imported, Imports, from_nack
from penstock_operator.plan.importing.naming import LONGEST, object_names

API = "jetstream.nats.io/v1beta2"


def nacks(kind: str, name: str = "orders", /, **spec: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name, "namespace": "shop"}, "spec": spec}


def stream(**spec: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return nacks("Stream", **{"name": "orders", "storage": "file", "maxAge": "1h", "preventDelete": True, **spec})


def consumer(**spec: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    said = {"durableName": "etl", "streamName": "orders", "ackPolicy": "explicit", "ackWait": "30s"}
    return nacks("Consumer", "etl", **{**said, "preventDelete": True, **spec})


def account(**spec: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return nacks("Account", "a", **{"servers": ["nats://nats:4222"], **spec})


def only(imports: Imports, kind: str) -> Imported:
    [found] = [each for each in imports.objects if each.manifest["kind"] == kind]
    return found


def spec_of(*documents: dict[str, Any], kind: str) -> dict[str, Any]:
    spec: dict[str, Any] = only(from_nack(documents), kind).manifest["spec"]
    return spec


def remarks_of(*documents: dict[str, Any], kind: str) -> str:
    return " ".join(only(from_nack(documents), kind).remarks)


def test_a_stream_keeps_its_names() -> None:
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


def test_a_consumer_refers_to_a_stream_of_the_manifests_or_names_it() -> None:
    assert spec_of(stream(), consumer(), kind="Consumer") == {"streamRef": {"name": "orders"}, "name": "etl"}
    alone = {"connectionRef": {"name": "nats"}, "stream": "orders", "name": "etl"}
    assert spec_of(consumer(), kind="Consumer") == alone
    documents = [nacks("Account", "b", servers=["nats://b:4222"]), stream(), consumer(account="b")]
    assert spec_of(*documents, kind="Consumer") == alone | {"connectionRef": {"name": "b"}}


def test_defaults_of_nack_are_written_out_with_a_remark() -> None:
    silent = nacks("Stream", name="orders")
    spec = spec_of(silent, kind="Stream")
    assert spec["storage"] == "Memory"
    assert "maxAge" not in spec
    remarks = remarks_of(silent, kind="Stream")
    assert "storage: Memory is NACK's default" in remarks
    assert "NACK deletes it from the server when its manifest is deleted; Penstock keeps it." in remarks
    looped = only(from_nack([silent], CommandLine(control_loop=True)), "Stream")
    assert looped.manifest["spec"]["maxAge"] == "365d"
    assert "maxAge: 365d is what NACK's control loop gives a stream that says none" in " ".join(looped.remarks)
    silent = nacks("Consumer", "etl", durableName="etl", streamName="orders")
    spec = spec_of(silent, kind="Consumer")
    assert (spec["ackPolicy"], spec["ackWait"]) == ("None", "1ns")
    remarks = remarks_of(silent, kind="Consumer")
    assert "ackPolicy: None is NACK's default" in remarks
    assert "ackWait: 1ns is NACK's default" in remarks


def test_a_manifest_that_sets_all_defaults_has_no_remarks() -> None:
    assert from_nack([stream(), consumer()], CommandLine(servers=("nats://nats:4222",))).left_out == ()
    assert remarks_of(stream(), kind="Stream") == ""
    assert remarks_of(stream(), consumer(), kind="Consumer") == ""


TWO_LOGINS = {"creds": {"secret": {"name": "s"}, "file": "f"}, "token": {"secret": {"name": "s"}, "token": "t"}}
UNPINNED = consumer(priorityPolicy="pinned_client", priorityGroups=["one"])
UNUSED_START = consumer(optStartSeq=5, optStartTime="2026-01-01T00:00:00Z")
UNREADABLE = stream(maxAge="1d", maxMsgs="many", subjects="orders")
REMARKS: list[tuple[str, dict[str, Any], str]] = [
    ("Stream", stream(preventUpdate=True), "preventUpdate became policy: Observe"),
    ("Stream", stream(maxMessages=1), "spec.maxMessages is not a field that NACK knows"),
    ("Stream", UNREADABLE, "spec.maxAge is left out, as NACK could not use it: '1d' is not a duration"),
    ("Stream", UNREADABLE, "'many' is not a whole number."),
    ("Stream", UNREADABLE, "'orders' is not a list of texts."),
    ("Stream", stream(replicas=7), "Penstock refuses it as it is: "),
    ("Consumer", UNPINNED, "NACK drops it where there is no pinnedTtl"),
    ("Consumer", UNUSED_START, "optStartSeq is left out"),
    ("Consumer", UNUSED_START, "optStartTime is left out"),
    ("Connection", stream(account="a"), "The Account a is not among the manifests"),
    ("Connection", stream(), "put them here, in place of this guess"),
    ("Connection", stream(servers=["nats://nats:4222"]), "write nats.NAMESPACE"),
    ("Connection", account(**TWO_LOGINS), "NACK prefers creds to token"),
]


def test_what_people_should_check_has_a_remark(subtests: pytest.Subtests) -> None:
    for kind, document, sentence in REMARKS:
        with subtests.test(sentence):
            assert sentence in remarks_of(document, kind=kind)


def test_remarked_fields_are_translated_as_nack_uses_them() -> None:
    assert spec_of(stream(preventUpdate=True), kind="Stream")["management"] == {"policy": "Observe"}
    assert "priorityPolicy" not in spec_of(UNPINNED, kind="Consumer")
    assert spec_of(UNUSED_START, kind="Consumer").keys() == {"connectionRef", "stream", "name"}
    auth = spec_of(account(**TWO_LOGINS), kind="Connection")["auth"]
    assert auth == {"credentialsSecretRef": {"name": "s", "key": "f"}}


def test_complete_server_urls_have_no_remark() -> None:
    for full in ("nats://nats.shop:4222", "nats://10.1.2.3:4222", "nats://[::1]:4222", "nats://localhost:4222"):
        assert remarks_of(stream(servers=[full]), kind="Connection") == ""
    known = only(from_nack([stream()], CommandLine(servers=("nats://nats.nats:4222",))), "Connection")
    assert (known.manifest["spec"]["servers"], known.remarks) == (["nats://nats.nats:4222"], ())


def test_an_accounts_other_logins_are_translated() -> None:
    secret = {"secret": {"name": "s"}}
    user = {"name": "s", "usernameKey": "u", "passwordKey": "p"}
    for login, keys, ours in (
        ("nkey", {"seed": "seed"}, {"nkeySecretRef": {"name": "s", "key": "seed"}}),
        ("token", {"token": "t"}, {"tokenSecretRef": {"name": "s", "key": "t"}}),
        ("user", {"user": "u", "password": "p"}, {"userPasswordSecretRef": user}),
    ):
        assert spec_of(account(**{login: secret | keys}), kind="Connection")["auth"] == ours


def test_buckets_and_objects_of_others_are_left_out() -> None:
    imports = from_nack([nacks("KeyValue", "settings", bucket="SETTINGS"), nacks("ObjectStore", "files", bucket="F")])
    assert imports.objects == ()
    assert imports.left_out[0].startswith("KeyValue shop/settings is left out: Penstock does not declare buckets.")
    assert imports.left_out[1].startswith("ObjectStore shop/files is left out")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "natscli"}}
    values_of_a_chart = {"config": {"jetstream": {"enabled": True}}}
    assert from_nack([pod, values_of_a_chart]).left_out == (
        "Pod natscli (v1) is not NACK's; it is left out.",
        "What is no manifest, as it has no kind, is not NACK's; it is left out.",
    )


def test_labels_and_annotations_of_people_stay() -> None:
    document, kept = stream(), {"labels": {"team": "orders"}, "annotations": {"owner": "us"}}
    of_programs = {"stream.nats.io/state": "{}", "kubectl.kubernetes.io/last-applied-configuration": ""}
    document["metadata"] |= {**kept, "annotations": {"owner": "us", **of_programs}, "resourceVersion": "12"}
    metadata = only(from_nack([document]), "Stream").manifest["metadata"]
    assert metadata == {"name": "orders", "namespace": "shop", **kept}


def test_an_account_becomes_a_connection_with_its_secrets() -> None:
    tls = {"secret": {"name": "nats-tls"}, "ca": "ca.crt", "cert": "tls.crt", "key": "tls.key"}
    creds = {"secret": {"name": "nats-user"}, "file": "user.creds"}
    document = account(servers=["nats://nats.nats:4222"], creds=creds, tls=tls)
    imports = from_nack([document, stream(account="a")])
    connection = only(imports, "Connection")
    assert connection.manifest["metadata"] == {"name": "a", "namespace": "shop"}
    certificate = {"name": "nats-tls", "certificateKey": "tls.crt", "privateKeyKey": "tls.key"}
    assert connection.manifest["spec"] == {
        "servers": ["nats://nats.nats:4222"],
        "auth": {"credentialsSecretRef": {"name": "nats-user", "key": "user.creds"}},
        "tls": {
            "caSecretRef": {"name": "nats-tls", "key": "ca.crt"},
            "clientCertificateSecretRef": certificate,
        },
    }
    assert connection.remarks == ()
    assert only(imports, "Stream").manifest["spec"]["connectionRef"] == {"name": "a"}


def test_files_in_nacks_pod_become_secrets_with_a_remark_on_how_to_create_them() -> None:
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


def test_the_last_of_two_manifests_of_one_object_is_used_as_kubectl_does() -> None:
    imports = from_nack([stream(maxMsgs=1), stream(maxMsgs=2)])
    assert only(imports, "Stream").manifest["spec"]["maxMessages"] == 2
    assert imports.left_out == ("Stream shop/orders stands there more than once: what the last says is taken.",)


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
def test_every_manifest_becomes_ours_or_a_sentence(documents: list[dict[str, Any]]) -> None:
    imports = from_nack(documents)
    kept = [each for each in imports.objects if each.manifest["kind"] != "Connection"]
    accounts = [document for document in documents if document["kind"] == "Account"]
    again = [sentence for sentence in imports.left_out if sentence.startswith("Account")]
    assert len(kept) + len(imports.left_out) + len(accounts) - len(again) == len(documents)


VALID = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
SERVER_NAMES = st.text(st.characters(exclude_characters=" .*>/\\", exclude_categories=["Cs", "Cc"]), min_size=1)


def test_invalid_characters_are_replaced() -> None:
    names = {"orders": "orders", "orders-2": "orders-2", "BILLS": "bills", "Daily_Orders": "daily-orders", "-x-": "x"}
    assert object_names(names) == names
    assert object_names(["$$"]) == {"$$": "unnamed"}


def test_two_names_that_would_become_one_both_get_a_digest() -> None:
    names = object_names(["ORDERS", "orders", "billing"])
    assert names["billing"] == "billing"
    assert re.fullmatch(r"orders-[0-9a-f]{6}", names["ORDERS"])
    assert re.fullmatch(r"orders-[0-9a-f]{6}", names["orders"])
    assert names["ORDERS"] != names["orders"]


def test_a_name_that_equals_the_result_for_another_stays_unique() -> None:
    first = object_names(["A_B", "A-B"])
    again = object_names(["A_B", "A-B", first["A_B"]])
    assert again[first["A_B"]] == first["A_B"]
    assert len(set(again.values())) == 3


@given(st.sets(SERVER_NAMES | st.sampled_from(["A_B", "a-b", "A-b", "a_b", "x" * 300, "X" * 300]), max_size=12))
def test_all_names_are_valid_and_distinct(server_names: set[str]) -> None:
    names = object_names(server_names)
    assert names.keys() == server_names
    assert len(set(names.values())) == len(names)
    assert all(VALID.fullmatch(name) and len(name) <= LONGEST for name in names.values())
    assert object_names(sorted(server_names, reverse=True)) == names
