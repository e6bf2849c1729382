"""Logs on standard error: one JSON object per line for machines, or a line of text for people.

Knows the standard library's logging; `extra={"resource": …, "reason": …}` says which object a line is about, and why.
Does not know who logs what. kopf speaks only when something is wrong: what it does is told by our handlers. Nothing
logs a Secret's content or an object's body; should a library's error quote a Secret, it is hidden here.
"""

import json
import logging
import sys
from collections.abc import Iterable
from datetime import UTC, datetime

from typing_extensions import override

TEXT_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


HIDDEN = "[hidden]"
SHORTEST_HIDDEN = 6
"""Shorter ones are no secrets, and would hide half of every other line."""
MOST_HIDDEN = 10_000
"""Lines that are kept to be hidden; beyond that, the oldest are forgotten, as their Secrets are."""


class Hidden:
    """What no line may show: the contents of Secrets that were read, line by line, as errors may quote a part."""

    def __init__(self) -> None:
        self._parts: dict[str, None] = {}

    def hide(self, values: Iterable[bytes]) -> None:
        for value in values:
            for part in value.decode(errors="replace").splitlines():
                if len(part.strip()) >= SHORTEST_HIDDEN:
                    self._parts[part.strip()] = None
        while len(self._parts) > MOST_HIDDEN:
            del self._parts[next(iter(self._parts))]

    def forget(self) -> None:
        """Hide nothing any more."""
        self._parts.clear()

    def without(self, text: str) -> str:
        for part in self._parts:
            text = text.replace(part, HIDDEN)
        return text


hidden = Hidden()
"""Of the process, as its logs are."""


class TextFormatter(logging.Formatter):
    """Formats a record as text for people."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        return hidden.without(super().format(record))


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": hidden.without(record.getMessage()),
        }
        for field in ("resource", "reason"):
            if getattr(record, field, None):
                line[field] = getattr(record, field)
        if record.exc_info:
            line["error"] = hidden.without(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False, default=str)


def configure(*, as_json: bool, level: int = logging.INFO) -> None:
    """Send this process's logs to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else TextFormatter(TEXT_FORMAT))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.getLogger("kopf").setLevel(logging.WARNING)
