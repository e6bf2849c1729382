"""The settings file: what is left out has its default, and what cannot be is said by the file's own words."""

import json
from typing import Any

import pytest

from penstock_worker.policy.settings import BatchSettings
from penstock_worker.policy.telling import named, read_settings
from penstock_worker.policy.typed import MalformedError


def settings(**changed: object) -> dict[str, Any]:
    """Return the least that a file may say, with other values by dotted name."""
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


def test_what_is_left_out_has_its_default() -> None:
    read = read_settings(json.dumps(settings(engine__batch__in_flight=3)))
    assert read.engine.batch == BatchSettings(in_flight=3)
    assert read.connection.servers == ("nats://localhost:4222",)
    assert read.driver.conf == {}


def test_maps_and_whole_numbers_for_durations_are_read() -> None:
    read = read_settings(json.dumps(settings(driver__conf={"spark.a": "b"}, engine__grace_seconds=7)))
    assert read.driver.conf == {"spark.a": "b"}
    assert read.engine.grace_seconds == 7.0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"engine__batch__max_mesages": 7}, "engine.batch: there is no field 'max_mesages'; there are max_messages,"),
        ({"engine__batch__max_messages": 0}, "engine.batch.max_messages: it is 0, and has to be 1 or more."),
        ({"engine__batch__max_messages": 1.5}, "engine.batch.max_messages: a whole number should stand there, not 1.5"),
        ({"connection__servers": []}, "connection.servers: it is empty; name at least one"),
        ({"connection__servers": "nats://x"}, 'connection.servers: a list should stand there, not "nats://x"'),
        ({"engine": {"group": "g"}}, "engine.consumer: it is missing."),
        ({"socket": "/" + "s" * 104}, "socket: a path of a socket has at most 103 bytes"),
    ],
)
def test_what_cannot_be_is_said_by_the_words_of_the_file(changed: dict[str, object], said: str) -> None:
    with pytest.raises(MalformedError) as caught:
        read_settings(json.dumps(settings(**changed)))
    assert str(caught.value).startswith(said)


def test_a_name_that_is_told_goes_before_the_one_in_the_file() -> None:
    read = read_settings(json.dumps(settings()))
    assert named(read, "etl-7").engine.worker == "etl-7"
    assert named(read, None).engine.worker == "etl-0"


def test_a_file_without_a_name_needs_one_that_is_told() -> None:
    read = read_settings(json.dumps(settings(engine__worker="")))
    assert named(read, "etl-7").engine.worker == "etl-7"
    with pytest.raises(MalformedError, match=r"engine\.worker: it is missing; write it there, or say --worker NAME"):
        named(read, None)
