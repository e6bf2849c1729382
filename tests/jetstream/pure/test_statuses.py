"""Every status of the servers is recognised, in each of its wordings."""

import pytest

from penstock_jetstream.core.statuses import kind_of, read_status
from tests.jetstream.pure.driving import STATUSES


@pytest.mark.requirement("C-42", "C-55")
def test_each_status_of_the_servers_has_its_kind(subtests: pytest.Subtests) -> None:
    for text, kind in STATUSES.items():
        with subtests.test(text):
            code, _, description = text.partition(" ")
            assert kind_of(int(code), description) is kind


@pytest.mark.requirement("C-34")
def test_what_was_left_of_a_request_is_read_and_malformed_numbers_are_ignored() -> None:
    left = {"Nats-Pending-Messages": "3", "Nats-Pending-Bytes": "66"}
    status = read_status(408, "Request Timeout", left, request=9)
    assert (status.request, status.left_messages, status.left_bytes) == (9, 3, 66)
    for text in ("", "x", "-1", "1.5", "٣"):
        assert read_status(408, "Request Timeout", {"Nats-Pending-Messages": text}).left_messages is None
