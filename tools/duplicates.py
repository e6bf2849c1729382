"""Find runs of code that stand in the tree twice.

usage: python3 tools/duplicates.py [FOLDER]     (exit code 1 if there are any)

Knows lines of Python. Does not know what they mean: blank lines, comments, imports and closing brackets do not count,
and white space is folded. Called by make check.
"""

import ast
import io
import subprocess
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

RUN_LINES = 6
"""Shorter runs are mostly the shape of the language; six equal lines are a thought that was written twice."""


class Place(NamedTuple):
    file: str
    line: int


def main(folder: Path) -> int:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    sources = {name: (folder / name).read_text() for name in listed if (folder / name).exists()}
    pairs = list(find_duplicates(sources))
    for first, second in pairs:
        print(
            f"{first.file}:{first.line} stands again at {second.file}:{second.line}: make one piece of code serve both"
        )
    return 1 if pairs else 0


def find_duplicates(sources: dict[str, str]) -> Iterator[tuple[Place, Place]]:
    """Yield the first run of each pair of places that share `RUN_LINES` lines of code."""
    seen: dict[tuple[str, ...], Place] = {}
    reported: defaultdict[tuple[str, str], int] = defaultdict(lambda: -RUN_LINES)
    for file, source in sources.items():
        lines = list(significant_lines(source))
        for start in range(len(lines) - RUN_LINES + 1):
            window = lines[start : start + RUN_LINES]
            here = Place(file, window[0][0])
            first = seen.setdefault(tuple(text for _, text in window), here)
            if first is here:
                continue
            if start - reported[first.file, file] >= RUN_LINES:  # else the tail of a run that was told already
                yield first, here
            reported[first.file, file] = start


def significant_lines(source: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that say something, with their numbers."""
    ignored = {number for start, end in unsaid(source) for number in range(start, end + 1)}
    for number, line in enumerate(source.splitlines(), start=1):
        text = " ".join(line.split())
        if number not in ignored and any(letter.isalnum() for letter in text):
            yield number, text


def unsaid(source: str) -> Iterator[tuple[int, int]]:
    """Yield the first and last line of each import, docstring and comment that has lines of its own."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Expr) and not says_something(node):
            yield node.lineno, node.end_lineno or node.lineno
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and token.line.strip() == token.string:
            yield token.start[0], token.end[0]


def says_something(node: ast.stmt) -> bool:
    """Tell a call or an await from a docstring or an import."""
    return isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else Path.cwd()))
