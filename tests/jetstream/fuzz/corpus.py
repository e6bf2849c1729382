"""What fuzzers have found to be worth trying: a text file for each target, one input per line, as Python writes bytes.

Text, so that a change of the corpus can be read; small, as only what reaches code that nothing else reaches is kept.
"""

import ast
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parent / "corpus"


def read(target: str) -> list[bytes]:
    lines = (FOLDER / f"{target}.txt").read_text().splitlines()
    return [bytes(ast.literal_eval(line)) for line in lines]


def write(target: str, inputs: Iterable[bytes]) -> None:
    lines = [repr(data) for data in sorted(set(inputs), key=lambda data: (len(data), data))]
    (FOLDER / f"{target}.txt").write_text("\n".join(lines) + "\n")
