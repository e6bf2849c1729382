"""The program `penstock-driver`: wrong input is reported in one sentence, and its work folder is its own."""

import json
import subprocess
from pathlib import Path

from tests.testbed import ports
from tests.worker.driver.driving import LONG_SECONDS, RunningDriver
from tests.worker.probing import fetched

ALIVE = (200, "Alive.\n")


def refusal(driver: RunningDriver) -> str:
    """Run a driver that ends by itself, as its settings are wrong; return its last message."""
    result = subprocess.run(
        driver.program.command,
        env=driver.program.env,
        capture_output=True,
        text=True,
        timeout=LONG_SECONDS,
        check=False,
    )
    assert result.returncode == 2
    return str(json.loads(result.stderr.splitlines()[-1])["message"])


def test_wrong_settings_are_reported_with_their_place() -> None:
    driver = RunningDriver()
    file = driver.folder / "settings.json"
    document = json.loads(file.read_text())
    del document["driver"]["entrypoint"]
    file.write_text(json.dumps(document))
    assert refusal(driver) == f"{file}: driver.entrypoint: it is missing."
    file.unlink()
    assert "No such file or directory" in refusal(driver)


def test_malformed_master_makes_the_driver_unusable() -> None:
    with RunningDriver(master="sc://host:port:1", conf={}) as driver:
        assert "is no address of a Spark Connect server" in driver.wait_unusable()


def test_a_driver_that_waits_for_spark_is_alive_in_an_empty_folder_of_its_own() -> None:
    place, master = (f"{ports.LOOPBACK}:{ports.free_port()}" for _ in range(2))
    driver = RunningDriver("driver-waiting", master=f"spark://{master}", conf={}, probes=place)
    left = Path(driver.settings.driver.work_folder) / "spark-1234"
    left.mkdir(parents=True)
    with driver:
        driver.wait_logged("No Spark master is reached")
        assert not driver.is_ready()
        assert fetched(place, "/healthz") == ALIVE
        assert not left.exists()
        assert "Another driver works in" in refusal(driver)
