"""Lines of a worker's logs, made readable: who said when what, with the facts behind it and an error's trace below.

Pure. Knows the JSON that workers write (penstock_worker.logs). What is no JSON, as of a JVM, has the time of the line
before it. Does not know where lines come from (local/log_files.py).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any

import click

from penstock_operator.cli.widths import printable
from penstock_operator.local.log_files import Source

TOLD = ("time", "level", "logger", "message", "error", "group", "worker", "account")
"""What has its own place, or is for programs; all else are facts."""
COLOURS: Mapping[str, str] = {"warning": "yellow", "error": "red", "critical": "red"}
INDENT = "    "
SPARKS_TIME, SPARKS_LETTERS = "%y/%m/%d %H:%M:%S", 17
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class LogLine:
    """One of them."""

    source: Source
    at: datetime
    message: str
    level: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    trace: str = ""
    raw: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether it is no JSON, and has no time of its own."""
        return self.raw == self.message


def log_line(source: Source, text: str, before: datetime = LONG_AGO) -> LogLine:
    """Read a line; `before` is the time of the one before it."""
    try:
        told = json.loads(text)
        at = datetime.fromisoformat(told["time"])
        message = str(told["message"])
    except (ValueError, TypeError, KeyError):
        return LogLine(source, before, text, raw=text)
    return LogLine(
        source,
        at,
        message,
        level=str(told.get("level", "")),
        facts={name: value for name, value in told.items() if name not in TOLD},
        trace=str(told.get("error", "")),
        raw=text,
    )


def time_of_spark(text: str) -> datetime | None:
    """Return the time at which a Spark of this machine wrote a line; None for other lines."""
    try:
        return datetime.strptime(text[:SPARKS_LETTERS], SPARKS_TIME).astimezone()
    except ValueError:
        return None


def readable(line: LogLine, zone: tzinfo | None = None) -> str:
    """Return it for people, on several lines where there is a trace."""
    who = click.style(f"{line.source.worker} {line.source.process}", dim=True)
    if line.is_plain:
        return f"{' ' * len(_time(line, zone))} {who} {printable(line.message)}"
    level = "" if line.level in ("info", "") else f"{line.level}: "
    said = f"{level}{printable(line.message)}"
    said = click.style(said, fg=COLOURS[line.level]) if line.level in COLOURS else said
    facts = " ".join(f"{name}={printable(str(value))}" for name, value in line.facts.items())
    first = " ".join(filter(None, (_time(line, zone), who, said, click.style(facts, dim=True) if facts else "")))
    return "\n".join([first, *(f"{INDENT}{printable(each)}" for each in line.trace.splitlines())])


def _time(line: LogLine, zone: tzinfo | None) -> str:
    at = line.at.astimezone(zone)
    return f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03d}"
