"""The program `penstock-driver`: wrong input is reported in one sentence, and its probe fails only if nothing moves."""

import json
import subprocess
from pathlib import Path

import pytest

from penstock_worker.driver.ground import copy_code
from penstock_worker.driver.liveness import liveness
from penstock_worker.driver.runs import Run
from penstock_worker.policy.outcome import Verdict
from tests.testbed import ports
from tests.testbed.waiting import eventually
from tests.worker.driver.driving import LONG_SECONDS, RunningDriver, handed, rows
from tests.worker.probing import fetched

ALIVE = (200, "Alive.\n")
HANG_SECONDS = 10.0
QUICK_SECONDS = 2.0


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


def publish_as_the_kubelet_does(folder: Path, revision: str) -> None:
    """Write a revision of a ConfigMap to a volume, and have the files of it replace those before by one rename."""
    (folder / revision).mkdir(parents=True)
    (folder / revision / "etl.py").write_text(revision)
    link = folder / "..data_tmp"
    link.symlink_to(revision)
    link.replace(folder / "..data")
    if not (folder / "etl.py").is_symlink():
        (folder / "etl.py").symlink_to("..data/etl.py")


def test_drivers_of_a_pod_keep_the_code_that_the_first_of_them_found(tmp_path: Path) -> None:
    source, code = tmp_path / "config-map", tmp_path / "code"
    publish_as_the_kubelet_does(source, "..first")
    code.mkdir(mode=0o700)
    (code / "etl.py").write_text("half of")  # a driver was killed while it copied
    for revision in ("..second", "..third"):
        copy_code(source, code)
        assert [path.name for path in code.glob("*.py")] == ["etl.py"]
        assert (code / "etl.py").read_text() == "..first"
        publish_as_the_kubelet_does(source, revision)
    assert code.stat().st_mode & 0o777 == 0o700, "a volume is root's, and a driver is not"


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


@pytest.mark.interpreter
def test_a_driver_is_not_alive_while_user_code_holds_the_interpreter(driver: RunningDriver) -> None:
    place = str(driver.settings.driver.probes)

    def is_alive() -> bool:
        try:
            return fetched(place, "/healthz", seconds=QUICK_SECONDS) == ALIVE
        except OSError:
            return False

    eventually(is_alive, "it answers", LONG_SECONDS)
    outcome = driver.begin_and_wait(handed("hold_the_interpreter"))
    eventually(lambda: not is_alive(), "it stops answering", LONG_SECONDS)
    (driver.jobs_folder / "held").write_text("go on")
    assert outcome.result().verdict is Verdict.OK
    eventually(is_alive, "it answers again", LONG_SECONDS)
    assert fetched(place, "/readyz")[0] == 404


@pytest.mark.full
def test_a_driver_whose_code_cannot_be_imported_is_alive() -> None:
    """A new process could not import it either, so restarting the driver would not help."""
    place = f"{ports.LOOPBACK}:{ports.free_port()}"
    with RunningDriver("driver-without-code", entrypoint="no_such_module:process", probes=place) as driver:
        assert "There is no module 'no_such_module'" in driver.wait_unusable()
        assert fetched(place, "/healthz") == ALIVE


def test_probes_that_cannot_be_served_end_the_driver_with_a_sentence(subtests: pytest.Subtests) -> None:
    for place in ("localhost", "256.0.0.1:8082"):
        with subtests.test(place), RunningDriver("driver-refused", master="sc://localhost", probes=place) as driver:
            assert driver.program.wait_ended(LONG_SECONDS) == 2
            assert f"Probes cannot be served at {place}" in driver.program.log_tail(5).replace("'", "")


def test_a_run_past_its_deadline_or_a_dead_thread_fails_the_probe() -> None:
    batch = handed("count")
    run = Run(batch, rows(("a", "b")), 100.0)
    assert liveness([run], [], HANG_SECONDS, now=139.0).holds
    late = liveness([run], [], HANG_SECONDS, now=141.0)
    assert not late.holds
    assert late.sentence == f"Batch {run.name.batch_id} is at work 41 s past its deadline."
    dead = liveness([], ["Spark", "the clock"], HANG_SECONDS, now=0.0)
    assert (dead.holds, dead.sentence) == (False, "Nobody sees to Spark and the clock any more.")
