"""What benchmarks of jobs make of their measurements: shares, times, and the line of JSON that machines read."""

import json
import signal
import subprocess
import sys

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


def test_the_pipelines_line_has_a_ratio_for_each_peer_and_size_of_batches_above_1_where_ours_is_better() -> None:
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


def test_the_pipelines_table_has_a_row_for_each_contender_and_size_and_a_dash_where_there_is_no_such_process() -> None:
    titles = {name: name for name, _ in RUNS}
    *_, kafka = pipeline.as_table(titles, RUNS).splitlines()
    assert kafka.split() == ["kafka", "100,000", "45", "45", "1000.0", "-", "2000.0"]


def test_latencies_are_told_without_those_of_messages_published_before_all_was_warm() -> None:
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


PROGRESS = [
    {"numInputRows": 0, "timestamp": "2026-01-01T00:00:00.000Z", "durationMs": {"triggerExecution": 900}},
    {
        "batchId": 0,
        "numInputRows": 3,
        "timestamp": "2026-01-01T00:00:01.000Z",
        "durationMs": {"triggerExecution": 1000},
        "sources": [{"startOffset": None, "endOffset": {"t": {"0": 2, "1": 1}}}],
    },
    {
        "batchId": 1,
        "numInputRows": 1,
        "timestamp": "2026-01-01T00:00:02.500Z",
        "durationMs": {"triggerExecution": 250},
        "sources": [{"startOffset": {"t": {"0": 2, "1": 1}}, "endOffset": {"t": {"0": 2, "1": 2}}}],
    },
]


def test_kafkas_clock_runs_from_the_start_of_its_first_batch_to_the_end_of_its_last() -> None:
    assert lasted(PROGRESS) == pytest.approx(1.75)


def test_a_message_in_kafka_was_written_with_the_batch_that_has_its_offset() -> None:
    written = written_at(PROGRESS[1:], {0: 10.0, 1: 20.0}, "t")
    assert written == {(0, 0): 10, (0, 1): 10, (1, 0): 10, (1, 1): 20}


def test_messages_are_the_same_whenever_they_are_made_and_of_about_185_bytes() -> None:
    messages = payloads(1000)
    assert messages[:10] == payloads(10)
    assert 180 <= sum(map(len, messages)) / len(messages) <= 190
    assert json.loads(messages[7]).keys() == {"id", "user", "region", "amount", "note"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_benchmark_that_is_told_to_end_has_no_figures_and_ends_without_an_error_of_its_own(number: int) -> None:
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline().startswith("nats://")
        program.send_signal(number)
        said, errors = program.communicate(timeout=60)
    assert (program.returncode, said) == (130, "")
    assert "Traceback" not in errors
