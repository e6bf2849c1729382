"""Logs on standard error: one JSON object per line for machines, or a line of text for people.

Knows the standard library's logging; `extra={"resource": …}` says which object a line is about. Does not know who logs
what. kopf speaks only when something is wrong: what it does is told by our handlers. No secret gets here: nothing logs
a Secret's content, nor the body of an object.
"""

import json
import logging
import sys
from datetime import UTC, datetime

from typing_extensions import override

TEXT_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        resource = getattr(record, "resource", None)
        if resource:
            line["resource"] = resource
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def configure(*, as_json: bool, level: int = logging.INFO) -> None:
    """Send this process's logs to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else logging.Formatter(TEXT_FORMAT))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.getLogger("kopf").setLevel(logging.WARNING)
