"""Logs of a worker's processes on standard error: one JSON object per line.

Knows the standard library's logging; `extra={"facts": {…}}` puts facts into a line, and `about(batch=…)` puts them into
all lines that a thread writes meanwhile, the user's own among them. Does not know who logs what.
"""

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType

from typing_extensions import override

_facts: ContextVar[Mapping[str, object]] = ContextVar("facts", default=MappingProxyType({}))

CHATTY = ("py4j", "pyspark", "grpc")
"""Libraries that are heard only when something is wrong."""


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC)
        told = {"time": at.isoformat(timespec="milliseconds"), "level": record.levelname.lower()}
        told |= {"logger": record.name, "message": record.getMessage()}
        trace = {"error": self.formatException(record.exc_info)} if record.exc_info else {}
        return json.dumps({**told, **_facts.get(), **getattr(record, "facts", {}), **trace}, default=str)


@contextmanager
def about(**facts: object) -> Iterator[None]:
    """Put facts into all lines that this thread writes meanwhile."""
    before = _facts.set({**_facts.get(), **facts})
    try:
        yield
    finally:
        _facts.reset(before)


def configure(level: int = logging.INFO) -> None:
    """Send this process's logs to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.captureWarnings(capture=True)
    for name in CHATTY:
        logging.getLogger(name).setLevel(max(level, logging.ERROR))
