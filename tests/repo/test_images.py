"""What builds the images: it notices every change that matters, pins what it installs, and says what it lacks."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools import environment, images
from tools.engines import FINGERPRINT_LABEL, Image
from tools.environment import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text()


def test_uv_in_the_images_is_the_one_used_here() -> None:
    assert f"ARG UV_VERSION={environment.UV_VERSION}\n" in DOCKERFILE


def test_everything_that_goes_into_an_image_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of what the images are made of is changed file by file; each change makes another image."""
    for name in (*images.SHARED, "jetstream", "operator", "worker"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr(images, "ROOT", tmp_path)
    for name in ("constraints.txt", "Dockerfile", "operator/pyproject.toml", "operator/penstock_operator/__init__.py"):
        before = images.fingerprint("operator")
        (tmp_path / name).write_text((tmp_path / name).read_text() + "# changed\n")
        assert images.fingerprint("operator") != before, name
    before = images.fingerprint("operator")
    (tmp_path / "worker" / "pyproject.toml").write_text("# changed\n")
    (tmp_path / "operator" / "__pycache__").mkdir()
    (tmp_path / "operator" / "__pycache__" / "module.pyc").write_text("compiled\n")
    assert images.fingerprint("operator") == before


def test_everything_that_is_copied_into_an_image_counts() -> None:
    copied = set(re.findall(r"^COPY (?!--from)(?:--\S+ )*(.+) \S+$", DOCKERFILE, re.MULTILINE))
    names = {name.split("/")[0] for line in copied for name in line.split()}
    dirs = {"jetstream", "operator", "worker"}
    assert names == {"build-constraints.txt", "constraints.txt", "VERSION", "LICENSE"} | dirs
    allowed = set(re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE))
    assert names == allowed


def test_the_chart_runs_the_images_that_are_built() -> None:
    values = yaml.safe_load((ROOT / "charts/penstock/values.yaml").read_text())
    repositories = {"operator": values["image"]["repository"], "worker": values["worker"]["image"]["repository"]}
    for target, repository in repositories.items():
        assert images.tag(target) == f"docker.io/{repository}:{images.version()}"


def run_images(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:  # noqa: ANN401 - of subprocess
    command = [sys.executable, "tools/images.py", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, **options)


def test_a_machine_that_cannot_build_and_an_image_that_does_not_exist_are_refused() -> None:
    outcome = run_images(env={"PATH": "/nowhere"})
    assert outcome.returncode == 1
    assert "Building images needs docker, podman or buildah" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    outcome = run_images("dashboard")
    assert outcome.returncode == 2
    assert "operator" in outcome.stderr


class Built:
    """An engine that has an image, built from something, and writes it down as such."""

    name = "built"

    def __init__(self, built_from: str) -> None:
        self.built_from = built_from

    def inspect(self, _tag: str) -> Image:
        return Image({FINGERPRINT_LABEL: self.built_from}, 1)

    def archive(self, _tag: str, path: Path) -> None:
        path.write_text(self.built_from)


def test_an_archive_is_named_after_its_contents_though_the_sources_changed_during_the_build(tmp_path: Path) -> None:
    old, new = "0" * 64, "1" * 64
    first = images.archive(Built(old), "operator", tmp_path)  # type: ignore[arg-type]  # all that is asked here
    second = images.archive(Built(new), "operator", tmp_path)  # type: ignore[arg-type]
    assert second.read_text() == new
    assert not first.exists()
