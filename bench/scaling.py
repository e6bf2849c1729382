"""How many pods autoscalers need for the same load, how long messages wait with them, and what they kill: a simulation.

Ours, KEDA with Kubernetes' HPA and Numaflow's rater decide, each as its source has it, over the same workers, pods
and messages, in traces that are each there for one thing that autoscalers are known to do badly. Peers run as they
come, and tuned for each trace on a seed of its own (autoscaling/comparing.py). All of it is computed: no server, no
cluster, no clock, so that the figures are the same on each machine.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench.autoscaling.comparing import chosen, cost, geometric_mean, wait
from bench.autoscaling.contenders import OURS, PEERS, Contender, as_it_comes, grid, ours
from bench.autoscaling.measures import Outcome, mean
from bench.autoscaling.picture import picture
from bench.autoscaling.traces import TRACES
from bench.harness import report

TUNING_SEED = 0
SEEDS = (1, 2, 3)

TITLES = {OURS: "ours", "keda_hpa": "KEDA + HPA", "numaflow": "Numaflow"}


@dataclass(frozen=True, slots=True)
class Row:
    """One contender in one trace, on average over all seeds."""

    contender: Contender
    outcome: Outcome

    @property
    def title(self) -> str:
        way = "" if self.contender.name == OURS else ", tuned" if self.contender.is_tuned else ", as it comes"
        return TITLES[self.contender.name] + way


Found = dict[str, list[Row]]
"""By trace: ours first, then each peer tuned, then each as it comes."""


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scaling", description=__doc__)
    parser.add_argument("--picture", type=Path, help="draw the traces into this file of SVG")
    parser.add_argument("--trace", action="append", choices=list(TRACES), help="only this one, may be given again")
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="how many runs are measured of each")
    options = parser.parse_args(arguments)
    found = measured(options.trace or list(TRACES), range(1, options.seeds + 1))
    print(as_table(found))
    if options.picture:
        options.picture.parent.mkdir(parents=True, exist_ok=True)
        options.picture.write_text(drawn(found))
    print(f"\n{final_line(found)}")


def drawn(found: Found) -> str:
    """Draw ours and the tuned peers."""
    shown = 1 + len(PEERS)
    titles = [row.title for row in next(iter(found.values()))[:shown]]
    return picture({name: [row.outcome for row in rows[:shown]] for name, rows in found.items()}, titles)


def measured(traces: Sequence[str], seeds: Sequence[int]) -> Found:
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        tuned = _tuned(pool, traces)
        rivals = {
            name: [ours(), *(tuned[name, peer] for peer in PEERS), *(as_it_comes(peer) for peer in PEERS)]
            for name in traces
        }
        runs = [(name, rival, seed) for name in traces for rival in rivals[name] for seed in seeds]
        report.progress(f"{len(runs)} runs …")
        outcomes = iter(pool.map(_run, runs, chunksize=1))
        return {name: [Row(rival, mean([next(outcomes) for _ in seeds])) for rival in rivals[name]] for name in traces}


def _tuned(pool: ProcessPoolExecutor, traces: Sequence[str]) -> dict[tuple[str, str], Contender]:
    """Choose each peer's settings for each trace."""
    tried = {name: [ours(), *(each for peer in PEERS for each in grid(peer, TRACES[name].job))] for name in traces}
    runs = [(name, contender, TUNING_SEED) for name in traces for contender in tried[name]]
    report.progress(f"{len(runs)} runs to tune the peers …")
    outcomes = dict(zip(((name, contender) for name, contender, _ in runs), pool.map(_run, runs), strict=True))
    found = {}
    for name in traces:
        for peer in PEERS:
            theirs = {each: outcomes[name, each] for each in tried[name] if each.name == peer}
            found[name, peer] = chosen(outcomes[name, ours()], theirs)
    return found


def _run(what: tuple[str, Contender, int]) -> Outcome:
    trace, contender, seed = what
    return contender.run(trace, seed)


def as_table(found: Found) -> str:
    columns = [
        "", "pod-hours", "p50", "p99", "lag p50", "lag p99", "killed", "lost work", "flaps/h", "to first", "settings",
    ]  # fmt: skip
    return "\n\n".join(
        f"{name}: {TRACES[name].about}\n" + report.table(columns, [_cells(row) for row in rows])
        for name, rows in found.items()
    )


def _cells(row: Row) -> list[str]:
    outcome = row.outcome
    return [
        row.title,
        f"{outcome.pod_seconds / 3600:.2f}",
        *(f"{seconds:.1f} s" for seconds in (outcome.p50, outcome.p99, outcome.lag_p50, outcome.lag_p99)),
        f"{outcome.kills:.1f}",
        f"{outcome.lost_seconds:.0f} s",
        f"{outcome.flaps:.1f}",
        f"{outcome.first_worker:.0f} s",
        row.contender.scaler.label,
    ]


def final_line(found: Found) -> str:
    ratio = {}
    for index, peer in enumerate(PEERS, start=1):
        pairs = [(rows[0].outcome, rows[index].outcome) for rows in found.values()]
        ratio[peer] = geometric_mean(cost(*pair) for pair in pairs)
        ratio[f"{peer}_p99"] = geometric_mean(wait(*pair) for pair in pairs)
    return report.final_line(
        "scaling",
        ours={name: _figures(rows[0]) for name, rows in found.items()},
        peers={
            peer: {
                name: {
                    "tuned": _figures(rows[index]),
                    "as_it_comes": _figures(rows[index + len(PEERS)]),
                    "ratio": round(cost(rows[0].outcome, rows[index].outcome), 3),
                    "ratio_p99": round(wait(rows[0].outcome, rows[index].outcome), 3),
                }
                for name, rows in found.items()
            }
            for index, peer in enumerate(PEERS, start=1)
        },
        ratio=ratio,
    )


def _figures(row: Row) -> dict[str, float]:
    outcome = row.outcome
    return {name: round(getattr(outcome, name), 2) for name in Outcome.__dataclass_fields__ if name != "samples"}


if __name__ == "__main__":
    main(sys.argv[1:])
