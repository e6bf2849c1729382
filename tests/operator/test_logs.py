"""Lines of the log: one object each, with what a line is about, and without what Secrets hold."""

import json
import logging
import sys
from collections.abc import Iterator

import pytest

from penstock_operator.logs import HIDDEN, TEXT_FORMAT, JsonFormatter, TextFormatter, hidden

PASSWORD = "hunter2-hunter2"
CREDENTIALS = f"-----BEGIN NATS USER JWT-----\neyJ0eXAi.eyJqdGki\n{PASSWORD}\n"


@pytest.fixture(autouse=True)
def secret() -> Iterator[None]:
    hidden.hide([CREDENTIALS.encode(), b"ann", b"\xff\xfe not text \xff"])
    yield
    hidden.forget()


def record(message: str, *arguments: object, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("penstock_operator.test", logging.WARNING, __file__, 1, message, arguments, None)
    vars(made).update(extra)
    return made


def failure(message: str) -> logging.LogRecord:
    made = record("It failed.")
    try:
        int(message)
    except ValueError:
        made.exc_info = sys.exc_info()
    return made


def test_one_line_has_time_level_logger_message_resource_and_reason() -> None:
    resource = {"kind": "Stream", "namespace": "a", "name": "orders"}
    line = json.loads(JsonFormatter().format(record("Made %s.", "it", resource=resource, reason="Created")))
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "warning",
        "logger": "penstock_operator.test",
        "message": "Made it.",
        "resource": resource,
        "reason": "Created",
    }
    assert "\n" not in JsonFormatter().format(failure("one\ntwo"))


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter(TEXT_FORMAT)], ids=["json", "text"])
def test_secrets_are_hidden_wherever_they_are_quoted(formatter: logging.Formatter) -> None:
    for made in (record("refused: %s", PASSWORD), record(CREDENTIALS), failure(f"cannot read {PASSWORD!r}")):
        shown = formatter.format(made)
        assert PASSWORD not in shown
        assert "eyJ0eXAi" not in shown
        assert HIDDEN in shown


def test_text_too_short_to_be_a_secret_does_not_hide_other_words() -> None:
    assert "anniversary" in JsonFormatter().format(record("anniversary"))
