"""A worker's logs: lines of JSON that name their batch."""

import io
import json
import logging

import pytest

from penstock_worker import logs


def test_a_line_is_one_json_object_with_its_batch_and_its_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    root, lines = logging.getLogger(), io.StringIO()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", logging.WARNING)
    monkeypatch.setattr("sys.stderr", lines)
    logs.configure()
    logging.captureWarnings(capture=False)  # pytest turns them into failures
    with logs.about(batch="ORDERS.etl.1-2.0f"):
        logging.getLogger("etl").info("read\n%d rows", 2)
        logging.getLogger("etl").info("wrote", extra={"facts": {"seconds": 0.5}})
    try:
        int("no é")
    except ValueError:
        logging.getLogger("etl").exception("it failed")
    first, second, third = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert first["message"] == "read\n2 rows"
    assert (first["batch"], first["level"], first["logger"]) == ("ORDERS.etl.1-2.0f", "info", "etl")
    assert (second["batch"], second["seconds"]) == ("ORDERS.etl.1-2.0f", 0.5)
    assert "batch" not in third
    assert third["error"].endswith("'no é'")
