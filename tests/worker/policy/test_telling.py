"""The settings file: defaults, and errors that name the field."""

import json
from typing import Any

import pytest

from penstock_worker.policy.settings import BatchSettings
from penstock_worker.policy.telling import named, read_settings
from penstock_worker.policy.typed import MalformedError


def settings(**changed: object) -> dict[str, Any]:
    """Return the smallest settings file, with other values by dotted name."""
    facts: dict[str, Any] = {
        "socket": "/run/penstock/driver",
        "connection": {"servers": ["nats://localhost:4222"]},
        "engine": {
            "group": "etl",
            "worker": "etl-0",
            "stream": "ORDERS",
            "consumer": "etl",
            "dead_letter_stream": "ORDERS-DEAD",
            "dead_letter_subject": "dead.orders",
        },
        "driver": {"entrypoint": "etl:process", "work_folder": "/tmp/etl"},  # noqa: S108 - nothing is written there
    }
    for path, value in changed.items():
        *parents, name = path.split("__")
        part = facts
        for parent in parents:
            part = part.setdefault(parent, {})
        part[name] = value
    return facts


def test_fields_have_defaults_and_maps_and_whole_numbers_are_read() -> None:
    read = read_settings(json.dumps(settings(engine__batch__in_flight=3, engine__grace_seconds=7)))
    assert read.engine.batch == BatchSettings(in_flight=3)
    assert read.engine.grace_seconds == 7.0
    assert read.connection.servers == ("nats://localhost:4222",)
    assert read.driver.conf == {}
    assert read_settings(json.dumps(settings(driver__conf={"spark.a": "b"}))).driver.conf == {"spark.a": "b"}


WRONG: list[tuple[dict[str, object], str]] = [
    ({"engine__batch__max_mesages": 7}, "engine.batch: there is no field 'max_mesages'; there are max_messages,"),
    ({"engine__batch__max_messages": 0}, "engine.batch.max_messages: it is 0, and has to be 1 or more."),
    ({"engine__batch__max_messages": 1.5}, "engine.batch.max_messages: a whole number should stand there, not 1.5"),
    ({"connection__servers": []}, "connection.servers: it is empty; name at least one"),
    ({"connection__servers": "nats://x"}, 'connection.servers: a list should stand there, not "nats://x"'),
    ({"engine": {"group": "g"}}, "engine.consumer: it is missing."),
    ({"socket": "/" + "s" * 104}, "socket: a path of a socket has at most 103 bytes"),
]


def test_wrong_values_are_reported_with_their_field(subtests: pytest.Subtests) -> None:
    for changed, report in WRONG:
        with subtests.test(report), pytest.raises(MalformedError) as caught:
            read_settings(json.dumps(settings(**changed)))
        assert str(caught.value).startswith(report)


def test_a_name_on_the_command_line_wins_and_is_needed_if_the_file_has_none() -> None:
    read, unnamed = (read_settings(json.dumps(settings(engine__worker=name))) for name in ("etl-0", ""))
    assert [named(read, name).engine.worker for name in ("etl-7", None)] == ["etl-7", "etl-0"]
    assert named(unnamed, "etl-7").engine.worker == "etl-7"
    with pytest.raises(MalformedError, match=r"engine\.worker: it is missing; write it there, or say --worker NAME"):
        named(unnamed, None)
