"""Where a group's code and environment come from on a laptop, and what is refused there."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock_operator.local import code_places, edits
from penstock_operator.local.code_places import CannotRunError
from penstock_operator.local.home import LocalHome
from penstock_operator.local.manifests import ManifestError, Manifests, read_manifests
from penstock_operator.plan.declared import Identity
from penstock_operator.resources import QueueGroupSpec
from tests.operator.scene import manifest

GROUP = Identity("QueueGroup", "default", "etl")
HANDLER = {"entrypoint": "etl:process", "configMapRef": {"name": "code"}}
ONE_AND_TWO = {"a.py": "1\n", "b.py": "2\n"}


def declared(folder: Path, *others: dict[str, Any], **spec: Any) -> tuple[QueueGroupSpec, Manifests]:  # noqa: ANN401
    """Declare a group and what else there is, in a file of that folder."""
    group = manifest("QueueGroup", "etl", {"consumerRef": {"name": "etl"}, "handler": HANDLER, **spec})
    (folder / "all.yaml").write_text(yaml.safe_dump_all([group, *others]))
    manifests = read_manifests([str(folder)], "default", datetime.now(UTC))
    found = manifests.declared[GROUP].spec
    assert isinstance(found, QueueGroupSpec)
    return found, manifests


def config_map(**data: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code"}, "data": data}


def test_code_is_next_to_its_manifest_unless_its_config_map_is_a_manifest(tmp_path: Path) -> None:
    spec, manifests = declared(tmp_path)
    assert code_places.code_of(GROUP, spec, manifests, tmp_path / "group").folder == tmp_path
    spec, manifests = declared(tmp_path, config_map(**ONE_AND_TWO))
    code = code_places.code_of(GROUP, spec, manifests, tmp_path / "group")
    code.lay()
    assert {file.name: file.read_text() for file in code.folder.iterdir()} == ONE_AND_TWO
    before = edits.code_print(code.folder)
    code.lay()
    assert edits.code_print(code.folder) == before
    spec, manifests = declared(tmp_path, config_map(**{"a.py": "3\n"}))
    code_places.code_of(GROUP, spec, manifests, tmp_path / "group").lay()
    assert {file.name: file.read_text() for file in code.folder.iterdir()} == {"a.py": "3\n"}


def test_config_map_that_could_not_be_mounted_is_refused_with_its_line(tmp_path: Path) -> None:
    for data in ({"../a.py": ""}, {"a.py": 3}, {"..": ""}):
        with pytest.raises(ManifestError, match=r"all.yaml:\d+: data\..*: a ConfigMap maps names of files to texts"):
            declared(tmp_path, config_map(**data))


async def variables(folder: Path, env: list[dict[str, Any]], *others: dict[str, Any]) -> dict[str, str]:
    spec, manifests = declared(folder, *others, handler={**HANDLER, "env": env})
    home = LocalHome(manifests, lambda *_: None)
    return await code_places.environment(GROUP, spec.handler.env, "etl-0", manifests, home)


async def test_environment_comes_from_values_config_maps_secrets_and_pod_fields(tmp_path: Path) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"key": "hush"}}
    env: list[dict[str, Any]] = [
        {"name": "A", "value": "1"},
        {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "code", "key": "b"}}},
        {"name": "C", "valueFrom": {"secretKeyRef": {"name": "s", "key": "key"}}},
        {"name": "D", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "E", "valueFrom": {"secretKeyRef": {"name": "gone", "key": "key", "optional": True}}},
    ]
    found = await variables(tmp_path, env, config_map(b="2"), secret)
    assert found == {"A": "1", "B": "2", "C": "hush", "D": "etl-0"}


async def test_missing_source_of_a_variable_is_reported(tmp_path: Path) -> None:
    sources: tuple[tuple[dict[str, Any], str], ...] = (
        ({"configMapKeyRef": {"name": "gone", "key": "b"}}, "X: ConfigMap default/gone is not among the manifests"),
        ({"configMapKeyRef": {"name": "code", "key": "b"}}, "X: ConfigMap default/code has no key b"),
        ({"fieldRef": {"fieldPath": "status.podIP"}}, "X: there is no pod on a laptop, and so no status.podIP"),
    )
    for source, said in sources:
        with pytest.raises(CannotRunError, match=said):
            await variables(tmp_path, [{"name": "X", "valueFrom": source}], config_map(a="1"))


def test_fields_without_a_meaning_on_a_laptop_are_reported(tmp_path: Path) -> None:
    spec, _ = declared(tmp_path, handler={"entrypoint": "etl:process", "image": "example/etl"}, template={"spec": {}})
    image, template = code_places.means_nothing(spec, tmp_path)
    assert f"the code is taken from {tmp_path}" in image
    assert "workers are processes, not pods" in template


def test_edit_of_code_or_manifests_changes_its_fingerprint_and_other_files_do_not(tmp_path: Path) -> None:
    (tmp_path / "etl.py").write_text("1")
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    before = edits.code_print(tmp_path)
    for ignored in ("lake.parquet", "venv/b.py", ".hidden/c.py", "__pycache__/d.py"):
        (tmp_path / ignored).parent.mkdir(exist_ok=True)
        (tmp_path / ignored).write_text("2")
    assert edits.code_print(tmp_path) == before
    os.utime(tmp_path / "etl.py", ns=(1, 1))
    assert edits.code_print(tmp_path) != before
    declared(tmp_path)
    paths = [str(tmp_path)]
    before = edits.manifests_print(paths, recursive=False)
    (tmp_path / "notes.txt").touch()
    assert edits.manifests_print(paths, recursive=False) == before
    (tmp_path / "more.yaml").touch()
    assert edits.manifests_print(paths, recursive=False) != before


def test_manifests_are_taken_once_nobody_writes_them_any_more() -> None:
    read, half, whole = ({"m.yaml": (time, time)} for time in range(3))
    looks = [read, half, whole, whole, read, read]
    watched = edits.Edits()
    assert [watched.are_over(read, look) for look in looks] == [False, False, False, True, False, False]
