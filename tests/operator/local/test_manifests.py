"""Manifests: which files are read, what they declare, and what is refused."""

import base64
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock_operator.local.manifests import ManifestError, Manifests, read_manifests
from penstock_operator.plan.declared import Identity
from penstock_operator.resources import StreamSpec

NATS = Identity("Connection", "shop", "nats")
ORDERS = Identity("Stream", "shop", "orders")
NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)

CONNECTION = """
apiVersion: penstock.dev/v1alpha1
kind: Connection
metadata: {name: nats}
spec:
  servers: ["nats://127.0.0.1:4222"]
"""
STREAM = """
apiVersion: penstock.dev/v1alpha1
kind: Stream
metadata: {name: orders}
spec:
  connectionRef: {name: nats}
  subjects: ["orders.>"]
"""


def read(folder: Path, **files: str) -> Manifests:
    """Write files, and read the folder."""
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text.lstrip("\n"))
    return read_manifests([str(folder)], "shop", NOW)


def faults(folder: Path, **files: str) -> list[str]:
    """Read what is wrong; the folder's name is left out."""
    try:
        read(folder, **files)
    except ManifestError as refusal:
        return [fault.removeprefix(f"{folder}/") for fault in refusal.faults]
    return []


def test_files_of_a_folder_have_any_number_of_documents_in_any_order_and_lists_of_them(tmp_path: Path) -> None:
    found = read(tmp_path, a=f"{STREAM}---\n---\n", b=CONNECTION)
    assert set(found.declared) == {NATS, ORDERS}
    assert isinstance(found.declared[ORDERS].spec, StreamSpec)
    assert found.places[NATS] == f"{tmp_path}/b.yaml:1"
    (tmp_path / "b.yaml").unlink()
    items = "".join(f"- {document.strip().replace(chr(10), chr(10) + '  ')}\n" for document in (STREAM, CONNECTION))
    found = read(tmp_path, a=f"apiVersion: v1\nkind: List\nitems:\n{items}")
    assert set(found.declared) == {NATS, ORDERS}


def test_only_yaml_and_json_files_are_read_and_subfolders_if_asked_for(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no manifest: [")
    (tmp_path / "list.json").write_text('{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}')
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "b.yaml").write_text(CONNECTION)
    found = read(tmp_path, a=STREAM)
    assert set(found.declared) == {ORDERS}
    assert set(found.namespaces) == {"n"}
    assert set(read_manifests([str(tmp_path)], "shop", NOW, recursive=True).declared) == {NATS, ORDERS}


def test_namespace_of_an_object_is_kept_with_the_labels_of_that_namespace(tmp_path: Path) -> None:
    labelled = "apiVersion: v1\nkind: Namespace\nmetadata: {name: other, labels: {team: blue}}\n"
    found = read(tmp_path, a=STREAM.replace("name: orders", "name: orders, namespace: other"), b=labelled)
    assert set(found.declared) == {Identity("Stream", "other", "orders")}
    assert found.namespaces == {"other": {"team": "blue"}}


def test_secrets_are_kept_by_namespace_and_name(tmp_path: Path) -> None:
    encoded = base64.b64encode(b"\xff\x00").decode()
    head = "apiVersion: v1\nkind: Secret\nmetadata: {name: user}\n"
    found = read(tmp_path, a=f"{head}data: {{key: {encoded}, other: aGk=}}\nstringData: {{other: hello}}\n")
    assert found.secrets == {("shop", "user"): {"key": b"\xff\x00", "other": b"hello"}}


def test_other_kinds_and_a_status_are_ignored(tmp_path: Path) -> None:
    found = read(tmp_path, a="apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n")
    assert found.skipped == [f"{tmp_path}/a.yaml:1: Deployment web is none of Penstock's, and left alone."]
    found = read(tmp_path, a=f"{STREAM}status: {{syncedGeneration: 1}}\n")
    assert found.declared[ORDERS].status == {}
    assert "status" not in found.contents[ORDERS]


SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
REFUSED = (
    ("- a", "a.yaml:1: A manifest is a mapping with apiVersion, kind and metadata."),
    ("kind: Stream", "a.yaml:1: A manifest says its apiVersion, as a string."),
    ("apiVersion: penstock.dev/v1alpha1", "a.yaml:1: A manifest says its kind, as a string."),
    (STREAM.replace("v1alpha1", "v1"), "a.yaml:1: penstock.dev/v1 is not known here: write apiVersion: penstock.dev"),
    (STREAM.replace("Stream", "Steam"), "a.yaml:2: penstock.dev has no kind Steam; it has Connection, Stream, "),
    (STREAM.replace("{name: orders}", "{name: Orders}"), "a.yaml:3: metadata.name is of lower-case letters"),
    (STREAM.replace("{name: orders}", "{}"), "a.yaml:3: metadata.name is of lower-case letters"),
    (STREAM.replace("{name: orders}", "orders"), "a.yaml:3: A manifest has metadata, with a name."),
    (STREAM.replace("orders}", "orders, labels: {a: 1}}"), "a.yaml:3: metadata.labels maps strings to strings"),
    (STREAM.replace("orders}", "orders, namespace: 7}"), "a.yaml:3: metadata.namespace is of lower-case letters"),
    (f"{STREAM}  replicas: six\n", "a.yaml:7: Stream shop/orders: spec.replicas: It should be a valid integer."),
    (f"{STREAM}  size: 6\n", "a.yaml:7: Stream shop/orders: spec.size: There is no such field."),
    (STREAM.replace('"orders.>"', "7"), "a.yaml:6: Stream shop/orders: spec.subjects[0]: It should be a valid string."),
    (STREAM.partition("spec")[0], "a.yaml:1: Stream shop/orders: spec is missing, or it is not a mapping of fields to"),
    ("apiVersion: v1\nkind: List\n", "a.yaml:1: A List has items."),
    (f"{SECRET}data: {{k: '%'}}", "a.yaml:4: The value of data.k is not base64."),
    (f"{SECRET}stringData: {{k: 1}}", "a.yaml:4: The value of stringData.k is"),
)


def test_invalid_manifest_is_refused_with_its_line(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for text, told in REFUSED:
        with subtests.test(told):
            [fault] = faults(tmp_path, a=text)
            assert fault.startswith(told)


def test_all_faults_are_reported_at_once(tmp_path: Path) -> None:
    wrong = STREAM + "  replicas: six\n  maxAge: soon\n"
    told = faults(tmp_path, a=wrong, b="kind: [", c="[]")
    assert sorted(fault.partition(": ")[0] for fault in told) == ["a.yaml:7", "a.yaml:8", "b.yaml:1", "c.yaml:1"]


def test_object_that_is_declared_twice_is_refused(tmp_path: Path) -> None:
    [fault] = faults(tmp_path, a=STREAM, b=f"{CONNECTION}---{STREAM}")
    assert fault == f"b.yaml:7: Stream shop/orders is declared a second time; the first is at {tmp_path}/a.yaml:1."


def test_no_fault_quotes_a_secret(tmp_path: Path) -> None:
    assert "hunter2" not in "".join(
        faults(tmp_path, a=f"{SECRET}data: {{k: hunter2!}}\nstringData: {{l: [hunter2]}}\n")
    )


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    binary = tmp_path / "b.yaml"
    binary.write_bytes(b"a: \xff")
    with pytest.raises(ManifestError) as refusal:
        read_manifests([str(tmp_path / "none.yaml"), str(binary)], "shop", NOW)
    assert refusal.value.faults == (
        f"{tmp_path}/none.yaml: It cannot be read: No such file or directory.",
        f"{binary}: It is no text in UTF-8: byte 3 is part of no letter.",
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=5,
)
IN_ONE_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
FIELDS = (
    ("apiVersion",),
    ("kind",),
    ("metadata",),
    *(("metadata", key) for key in ("name", "namespace", "labels", "annotations", "finalizers", "generation")),
    ("spec",),
    *(("spec", key) for key in ("connectionRef", "subjects", "servers", "replicas", "management", "allowedNamespaces")),
)


@IN_ONE_FOLDER
@given(st.sampled_from([STREAM, CONNECTION]), st.sampled_from(FIELDS), JSON)
def test_any_value_of_any_field_is_valid_or_refused_with_a_sentence(
    tmp_path: Path, manifest: str, field: tuple[str, ...], value: object
) -> None:
    content = yaml.safe_load(manifest)
    parent = content if len(field) == 1 else content[field[0]]
    parent[field[-1]] = value
    assert all(is_sentence(fault) for fault in faults(tmp_path, a=yaml.safe_dump(content)))


@IN_ONE_FOLDER
@given(st.integers(min_value=0, max_value=200), st.text(max_size=3))
def test_damaged_manifest_is_valid_or_refused_with_a_sentence(tmp_path: Path, cut: int, damage: str) -> None:
    for text in (STREAM[:cut] + damage, STREAM[:cut] + damage + STREAM[cut:]):
        assert all(is_sentence(fault) for fault in faults(tmp_path, a=text))


def is_sentence(fault: str) -> bool:
    return re.fullmatch(r"a\.yaml:[0-9]+: .*\.", fault) is not None
