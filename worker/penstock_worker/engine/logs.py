"""Logs on standard error, one JSON object per line.

Knows the standard library's logging; `extra={"batch": …, "ranges": …}` says which batch a line is about, and which
messages of the stream those are. Does not know who logs what. No line has a message's content.
"""

import json
import logging
import sys
from datetime import UTC, datetime

from typing_extensions import override

FIELDS = ("batch", "ranges", "verdict", "messages", "seconds")


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON; what all lines have in common is given once."""

    def __init__(self, **common: str) -> None:
        super().__init__()
        self._common = common

    @override
    def format(self, record: logging.LogRecord) -> str:
        facts = {field: value for field in FIELDS if (value := getattr(record, field, None))}
        trace = {"error": self.formatException(record.exc_info)} if record.exc_info else {}
        line = {**_head(record), **self._common, **facts, **trace}
        return json.dumps(line, ensure_ascii=False, default=str)


def _head(record: logging.LogRecord) -> dict[str, str]:
    """Return what every line begins with."""
    time = datetime.fromtimestamp(record.created, UTC)
    said = record.getMessage()
    return {"time": time.isoformat(timespec="milliseconds"), "level": record.levelname.lower(), "message": said}


def configure(**common: str) -> None:
    """Send this process's logs to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter(**common))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
