"""The program `penstock-driver`: bad input is one sentence, and nothing is left of a process before it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.testbed.waiting import eventually
from tests.worker.driver.driving import LONG_SECONDS, START_SECONDS, RunningDriver

pytestmark = pytest.mark.timeout(2 * START_SECONDS)


def ended(driver: RunningDriver) -> "subprocess.CompletedProcess[str]":
    """Run a driver that ends by itself."""
    command = [sys.executable, "-m", "penstock_worker.driver.main", "--settings", str(driver.folder / "settings.json")]
    return subprocess.run(command, capture_output=True, text=True, timeout=LONG_SECONDS, check=False)


def test_settings_that_are_wrong_are_told_by_their_place() -> None:
    driver = RunningDriver()
    file = driver.folder / "settings.json"
    document = json.loads(file.read_text())
    del document["driver"]["entrypoint"]
    file.write_text(json.dumps(document))
    result = ended(driver)
    (line,) = result.stderr.splitlines()
    assert result.returncode == 2
    assert json.loads(line)["message"] == f"{file}: driver.entrypoint: it is missing."


def test_a_missing_settings_file_is_named() -> None:
    driver = RunningDriver()
    (driver.folder / "settings.json").unlink()
    result = ended(driver)
    assert result.returncode == 2
    assert "No such file or directory" in result.stderr


def test_a_master_that_is_none_is_told_at_once() -> None:
    with RunningDriver(master="sc://host:port:1", conf={}) as driver:
        eventually(lambda: is_told(driver, "is no address of a Spark Connect server"), "why it cannot", LONG_SECONDS)


def test_a_folder_is_not_shared_and_is_emptied_at_the_start() -> None:
    driver = RunningDriver(entrypoint="no_such_module:process")
    left = Path(driver.settings.driver.work_folder) / "spark-1234"
    left.mkdir(parents=True)
    with driver:
        eventually(lambda: is_told(driver, "There is no module 'no_such_module'"), "why it cannot", START_SECONDS)
        assert not left.exists()
        result = ended(driver)
        assert result.returncode == 2
        assert "Another driver works in" in result.stderr


def is_told(driver: RunningDriver, what: str) -> bool:
    said = driver.describe()
    return said is not None and said.permanent and what in said.why_not
