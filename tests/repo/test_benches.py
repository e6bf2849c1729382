"""What benchmarks of jobs make of their measurements: shares, times, and the line of JSON that machines read."""

import json
import signal
import subprocess
import sys
from typing import Any

import pytest

from bench import latency, pipeline
from bench.running.messages import payloads
from bench.running.peers.kafka import lasted, written_at
from bench.running.runs import Run
from tests.testbed.run import ROOT

INTERRUPTED = """
from bench.harness.stream import server
import time
with server() as nats:
    print(nats.url, flush=True)
    time.sleep(3600)
    figures = 1
print(figures)
"""


def of(rate: float, *, driver: float, **cpu_seconds: float) -> Run:
    return Run(1000, 1000 / rate, {"driver": driver, **cpu_seconds})


RUNS = {
    ("ours", 10_000): [of(40, driver=3, server=1, engine=2), of(60, driver=4, server=2, engine=1)],
    ("naive", 10_000): [of(10, driver=5, server=1), of(20, driver=6, server=1)],
    ("spark_alone", 10_000): [of(80, driver=6)],
    ("ours", 100_000): [of(90, driver=1, server=1, engine=1)],
    ("kafka", 100_000): [of(45, driver=2, server=1)],
}


def test_the_pipelines_line_has_ratios_above_1_where_ours_is_better() -> None:
    line = json.loads(pipeline.final_line(RUNS))
    assert line["bench"] == "pipeline"
    assert line["ratio"] == {"naive": 3, "spark_alone": 0.75, "spark_alone_driver_cpu": 2, "kafka_100k": 2}
    assert line["ratio_median"]["naive"] == pytest.approx(50 / 15, abs=0.001)
    assert line["ours"]["10000"] == {
        "best": 60,
        "median": 50,
        "cpu_us_per_message": {"server": 1000, "engine": 1000, "driver": 3000},
    }
    assert line["peers"].keys() == {"naive", "spark_alone", "kafka"}


def test_the_pipelines_table_has_a_row_for_each_contender_and_a_dash_for_a_missing_process() -> None:
    titles = {name: name for name, _ in RUNS}
    *_, kafka = pipeline.as_table(titles, RUNS).splitlines()
    assert kafka.split() == ["kafka", "100,000", "45", "45", "1000.0", "-", "2000.0"]


def test_latencies_leave_out_messages_published_before_all_was_warm() -> None:
    cold = [(second, second + 100.0) for second in range(latency.WARM_SECONDS)]
    warm = [
        (latency.WARM_SECONDS + number / 10, latency.WARM_SECONDS + number / 10 + 0.001 * number)
        for number in range(100)
    ]
    found = latency.spread([(float(at), written) for at, written in (*cold, *warm)])
    assert {percent: round(value) for percent, value in found.percentiles.items()} == {50: 50, 90: 90, 99: 99}
    assert found.most == pytest.approx(99)


def test_a_message_was_published_when_its_publisher_says_and_written_with_its_batch() -> None:
    sent_at = [1.0, 2.0, 3.0, 4.0]
    notes = [(5.0, [(1, 1), (3, 3)]), (6.0, [(2, 2), (4, 4)])]
    assert sorted(latency.times(sent_at, notes)) == [(1, 5), (2, 6), (3, 5), (4, 6)]


def test_the_latencys_line_has_the_peers_latency_over_ours() -> None:
    def one(p50: float, p99: float) -> latency.Spread:
        return latency.Spread({50: p50, 90: p99, 99: p99}, p99)

    line = json.loads(latency.final_line({"ours": [one(100, 300), one(90, 400)], "kafka": [one(300, 600)]}))
    assert line["ratio"] == {"kafka": 3, "kafka_p99": 2}
    assert line["ours"]["best_ms"] == {"p50": 100, "p90": 300, "p99": 300, "max": 300}
    assert line["ours"]["median_ms"]["p50"] == 95


def progress(second: float, rows: int, lasted_ms: int, *offsets: dict[str, int] | None) -> dict[str, Any]:
    """Return Spark's report of a batch: when it began, and the offsets that it began and ended with, if any."""
    names = ("startOffset", "endOffset")
    source = {name: {"t": each} if each else None for name, each in zip(names, offsets, strict=False)}
    times = {"timestamp": f"2026-01-01T00:00:{second:06.3f}Z", "durationMs": {"triggerExecution": lasted_ms}}
    return {"batchId": int(second) - 1, "numInputRows": rows, "sources": [source], **times}


PROGRESS = [
    progress(0, 0, 900),
    progress(1, 3, 1000, None, {"0": 2, "1": 1}),
    progress(2.5, 1, 250, {"0": 2, "1": 1}, {"0": 2, "1": 2}),
]


def test_kafkas_time_and_latencies_come_from_the_progress_of_its_batches() -> None:
    assert lasted(PROGRESS) == pytest.approx(1.75), "from the start of its first batch to the end of its last"
    written = written_at(PROGRESS[1:], {0: 10.0, 1: 20.0}, "t")
    assert written == {(0, 0): 10, (0, 1): 10, (1, 0): 10, (1, 1): 20}, "with the batch that has the offset"


def test_messages_are_the_same_whenever_they_are_made_and_of_about_185_bytes() -> None:
    messages = payloads(1000)
    assert messages[:10] == payloads(10)
    assert 180 <= sum(map(len, messages)) / len(messages) <= 190
    assert json.loads(messages[7]).keys() == {"id", "user", "region", "amount", "note"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_benchmark_prints_no_figures_and_no_traceback(number: int) -> None:
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline().startswith("nats://")
        program.send_signal(number)
        said, errors = program.communicate(timeout=60)
    assert (program.returncode, said) == (130, "")
    assert "Traceback" not in errors
