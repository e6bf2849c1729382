"""How a benchmark says what came out: a table for people and, last, one line of JSON for machines."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from bench.harness import machine


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay rows out under their columns: the first to the left, all others to the right."""
    widths = [max(len(row[index]) for row in (columns, *rows)) for index in range(len(columns))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if index else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in (columns, ["─" * width for width in widths], *rows)
    )


def progress(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def final_line(name: str, *, ours: Any, peers: Mapping[str, Any], ratio: Mapping[str, float], **more: Any) -> str:  # noqa: ANN401 - whatever was measured
    """Return the line of JSON. A ratio is above 1 where ours is the better."""
    rounded = {peer: round(value, 3) for peer, value in ratio.items()}
    facts = {
        "bench": name,
        "ours": ours,
        "peers": dict(peers),
        "ratio": rounded,
        **more,
        "machine": machine.described(),
    }
    return json.dumps(facts)
