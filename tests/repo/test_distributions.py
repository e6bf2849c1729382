"""The distributions as a user gets them: wheels of one version, and a working command in an empty environment."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools.environment import DISTRIBUTIONS, ROOT, ensure_uv, install

pytestmark = pytest.mark.interpreter

VERSION = (ROOT / "VERSION").read_text().strip()
NAMES = {"jetstream": "penstock_jetstream", "worker": "penstock_worker", "operator": "penstock"}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_a_wheel_of_the_one_version_builds_typed_and_without_tests(distribution: str, tmp_path: Path) -> None:
    options = ["--wheel", "--quiet", "--build-constraints=build-constraints.txt", f"--out-dir={tmp_path}"]
    uv("build", *options, distribution)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"{NAMES[distribution]}-{VERSION}-py3-none-any.whl"
    files = zipfile.ZipFile(wheel).namelist()
    assert f"penstock_{distribution}/py.typed" in files
    folders = {f"penstock_{distribution}", f"{NAMES[distribution]}-{VERSION}.dist-info"}
    assert {name.split("/")[0] for name in files} == folders


@pytest.mark.timeout(300)
def test_installed_into_an_empty_environment_the_command_says_its_version(tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    uv("venv", "--quiet", "--python", sys.executable, str(environment))
    install(environment, "ours", "--constraints=constraints.txt", "./jetstream", "./worker", "./operator[local]")
    said = subprocess.run([environment / "bin" / "penstock", "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["penstock", VERSION]
    uv("pip", "check", "--quiet", "--python", str(environment))


def uv(*arguments: str) -> None:
    subprocess.run([ensure_uv(), *arguments], cwd=ROOT, check=True)
