"""`penstock logs`: lines of workers in the order of time, followed across restarts."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Timer
from typing import IO

import pytest

from penstock_operator.cli.log_lines import log_line, readable
from penstock_operator.local.log_files import Source
from tests.operator.cli.commands import penstock
from tests.operator.running import PENSTOCK
from tests.testbed.waiting import WITHIN_SECONDS

SOURCE = Source("default/orders", "orders-0", "engine")


class State:
    """A state folder with logs as workers write them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, group: str, worker: str, process: str) -> Path:
        path = self.folder / "groups" / group / worker / f"{process}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def write(self, second: int, message: str, group: str = "default.orders", process: str = "engine") -> None:
        self.write_text(line(second, message), group, process)

    def write_text(self, text: str, group: str = "default.orders", process: str = "engine") -> None:
        with self.file(group, f"{group.partition('.')[2]}-0", process).open("a") as log:
            log.write(text + "\n")

    def logs(self, *arguments: str) -> list[str]:
        outcome = penstock("logs", *arguments, "--state", self.folder)
        assert outcome.exit_code == 0, outcome.stderr
        return outcome.stdout.splitlines()


def line(second: int, message: str, level: str = "info", **facts: object) -> str:
    told = {"time": f"2026-01-31T12:00:{second:02d}.250+00:00", "level": level, "logger": "l", "message": message}
    return json.dumps({**told, "group": "default/orders", "worker": "orders-0", **facts})


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(tmp_path)


def test_lines_of_all_processes_are_in_the_order_of_time(state: State) -> None:
    state.write(1, "first")
    state.write(3, "third")
    state.write(2, "second", process="driver")
    state.write(4, "fourth", group="shop.more")
    assert [each.split()[-1] for each in state.logs()] == ["first", "second", "third", "fourth"]


def test_options_select_a_group_a_worker_or_a_kind_of_process(state: State) -> None:
    state.write(1, "engine")
    state.write(2, "driver", process="driver")
    state.write(3, "more", group="shop.more")
    chosen = {
        ("orders",): 2,
        ("default/orders",): 2,
        ("--worker", "more-0"): 1,
        ("--driver",): 1,
        ("--engine",): 2,
        ("--tail", "1"): 1,
        ("--tail", "0"): 0,
    }
    assert {arguments: len(state.logs(*arguments)) for arguments in chosen} == chosen


def test_a_line_is_readable_and_an_error_has_its_level_and_its_trace_below() -> None:
    found = log_line(SOURCE, line(1, "A batch runs.", batch="ORDERS.etl.1-9", messages=9))
    assert readable(found, UTC) == (
        "2026-01-31 12:00:01.250 \x1b[2morders-0 engine\x1b[0m A batch runs. "
        "\x1b[2mbatch=ORDERS.etl.1-9 messages=9\x1b[0m"
    )
    text = readable(log_line(SOURCE, line(1, "It failed.", "error", error="Traceback\n  line 3")), UTC)
    assert "error: It failed." in text
    assert text.splitlines()[1:] == ["    Traceback", "      line 3"]


def test_a_line_that_is_not_json_stays_after_the_line_before_it(state: State) -> None:
    state.write(1, "before")
    state.write_text("java.lang.OutOfMemoryError: \x1b[31mheap")
    state.write(2, "after", process="driver")
    lines = state.logs()
    assert [each.split()[-1] for each in lines] == ["before", "\N{REPLACEMENT CHARACTER}[31mheap", "after"]


def test_lines_of_spark_are_where_their_own_times_or_their_neighbours_put_them(state: State) -> None:
    zoned = datetime(2026, 1, 31, 12, 0, 2, tzinfo=UTC).astimezone()
    state.write_text("Using Spark's default log4j profile", process="driver")
    state.write_text(f"{zoned:%y/%m/%d %H:%M:%S} WARN Utils: warned", process="driver")
    state.write_text("\tat its trace", process="driver")
    state.write(4, "ready", process="driver")
    state.write_text(f"{zoned:%y/%m/%d %H:%M:%S} WARN Utils: late", process="driver")
    state.write_text("Exception without a time", "shop.more")
    state.write(1, "first")
    state.write(3, "third")
    last = [each.split()[-1] for each in state.logs()]
    assert last == ["first", "profile", "warned", "trace", "third", "ready", "late", "time"]


def test_raw_lines_are_as_they_were_written(state: State) -> None:
    state.write(1, "first")
    assert state.logs("--json") == [line(1, "first")]


@contextmanager
def following(state: State) -> Iterator[IO[str]]:
    """Follow the logs in a process, which Ctrl-C ends without a failure."""
    command: list[str | Path] = [PENSTOCK, "logs", "-f", "--state", state.folder]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    giving_up = Timer(WITHIN_SECONDS, process.kill)
    giving_up.start()
    try:
        yield process.stdout
        process.send_signal(signal.SIGINT)
        assert process.wait(WITHIN_SECONDS) == 0
        assert process.stderr.read() == ""
    finally:
        giving_up.cancel()
        process.kill()
        process.communicate()


@pytest.mark.interpreter
def test_following_goes_on_across_restarts_and_with_new_workers(state: State) -> None:
    state.write(1, "before")
    with following(state) as printed:
        assert printed.readline().endswith("before\n")
        state.write(2, "more")
        assert printed.readline().endswith("more\n")
        log = state.file("default.orders", "orders-0", "engine")
        log.rename(log.with_suffix(".log.1"))
        state.write(3, "restarted")
        assert printed.readline().endswith("restarted\n")
        state.write(4, "another worker", group="shop.more")
        assert printed.readline().endswith("another worker\n")
        whole = line(5, "whole")
        with log.open("a") as half:
            half.write(whole[:20])
            half.flush()
            state.write(6, "another process", process="driver")
            assert printed.readline().endswith("another process\n")
            half.write(whole[20:] + "\n")
        assert printed.readline().endswith("whole\n")


def test_logs_of_workers_that_never_ran_are_an_error(state: State) -> None:
    outcome = penstock("logs", "--state", state.folder)
    assert (outcome.exit_code, "no worker has run" in outcome.stderr) == (1, True)
    state.write(1, "first")
    assert penstock("logs", "missing", "--state", state.folder).exit_code == 1
