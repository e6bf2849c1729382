"""Whether a worker that runs long stays as small as it was: memory, threads and open files over 4 000 batches.

One engine, one driver with Spark in it, small batches, one after the other without a pause; some messages are bad. What
the processes have is looked at ten times. Flat is what is no more at the end than after the first third, but for a
little: the JVM takes heap as it likes, up to its limit.
"""

import asyncio

from bench.harness import report
from bench.harness.stream import server
from bench.soaking.worker import Stage, soak

BATCHES = 4_000
STAGES = 10


def main() -> None:
    with server() as nats:
        stages = asyncio.run(soak(nats.url, BATCHES, STAGES))
    print(as_table(stages))
    print(f"\n{final_line(stages)}")


def as_table(stages: list[Stage]) -> str:
    names = list(stages[0].samples)
    columns = ["batches", "seconds", *(f"{name} {what}" for name in names for what in ("MiB", "threads", "files"))]
    rows = [
        [f"{stage.batches:,}", f"{stage.seconds:.0f}"]
        + [
            cell
            for sample in stage.samples.values()
            for cell in (f"{sample.memory_mib:.0f}", str(sample.threads), str(sample.files))
        ]
        for stage in stages
    ]
    return report.table(columns, rows)


def final_line(stages: list[Stage]) -> str:
    settled, last = stages[len(stages) // 3], stages[-1]
    ours = {
        name: {
            "memory_mib": [stage.samples[name].memory_mib for stage in stages],
            "threads": [stage.samples[name].threads for stage in stages],
            "files": [stage.samples[name].files for stage in stages],
            "growth": round(last.samples[name].memory_mib / settled.samples[name].memory_mib, 3),
        }
        for name in last.samples
    }
    return report.final_line("soak", ours=ours, peers={}, ratio={}, batches=last.batches)


if __name__ == "__main__":
    main()
