"""Keep the table of the chart's values, in the chart's README, what values.yaml and its comments say.

usage: .venv/bin/python tools/values.py [--check]        (make crds, make check)

Knows how our values.yaml is written: two spaces a level, a value on the line of its key, its meaning in the comment
right above. Does not know what any of them means: the chart's schema does, and a test holds the three together.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

if __package__ is None:  # run as a script
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.console import say
from tools.environment import ROOT

CHART = ROOT / "charts" / "penstock"
VALUES, README = CHART / "values.yaml", CHART / "README.md"
BEGIN, END = "<!-- values -->\n", "<!-- /values -->\n"
KEY = re.compile(r"^(?P<indent> *)(?P<key>\w+):(?: (?P<value>.+))?$")
INDENT = 2


@dataclass(frozen=True)
class Row:
    path: str
    default: str
    """As it stands in the file; nothing for a part that has values of its own."""
    meaning: str


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Write the table of the chart's values into its README.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the table is out of date")
    options = parser.parse_args(arguments)
    text = README.read_text()
    wanted = with_table(text, table(VALUES.read_text()))
    if options.check and text != wanted:
        say(f"{README.relative_to(ROOT)} is out of date\nhint: make crds writes it")
        return 1
    if not options.check:
        README.write_text(wanted)
        say(f"wrote {README.relative_to(ROOT)}")
    return 0


def with_table(text: str, rows: str) -> str:
    """Return the text with these rows between its two marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{rows}{END}{after}"


def table(values: str) -> str:
    lines = ["| value | default | |", "| --- | --- | --- |"]
    for row in rows(values):
        name = f"`{row.path}`" if row.default else f"**`{row.path}`**"
        default = f"`{row.default}`" if row.default else ""
        lines.append(f"| {name} | {default} | {row.meaning.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


def rows(values: str) -> Iterator[Row]:
    """Read what has a value, and what has a comment."""
    comment: list[str] = []
    path: list[str] = []
    for line in values.splitlines():
        if line.strip().startswith("# "):
            comment.append(line.strip().removeprefix("# "))
            continue
        if found := KEY.match(line):
            path = [*path[: len(found["indent"]) // INDENT], found["key"]]
            if found["value"] or comment:
                yield Row(".".join(path), found["value"] or "", " ".join(comment))
        elif line:
            raise ValueError(f"values.yaml: a value stands on the line of its key, and this is neither: {line}")
        comment = []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
