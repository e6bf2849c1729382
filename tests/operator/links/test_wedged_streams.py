"""A stream that a server made over the files of one that it was still deleting: recognised by the server's answer."""

import pytest

from penstock_jetstream.core.facts import Facts
from penstock_jetstream.core.stream_info import StreamInfo
from penstock_operator.services.nats.presence import is_of_deleted_stream

NONE, BEFORE, SINCE = "0001-01-01T00:00:00Z", "2026-11-20T01:57:31.502631224Z", "2026-11-20T01:57:31.701157532Z"
CREATED = "2026-11-20T01:57:31.701157531Z"


def test_stream_with_the_state_of_a_deleted_one_is_recognised(subtests: pytest.Subtests) -> None:
    """The first is the answer of nats-server 2.15.1 to such a creation; each publication timed out after it."""
    for name, first, last, last_time, more, expected in (
        ("messages of the deleted stream", 1, 3000, BEFORE, {}, True),
        ("numbers of the deleted stream", 8001, 8000, NONE, {}, True),
        ("an empty stream", 0, 0, NONE, {}, False),
        ("an empty stream with a first sequence", 500, 499, NONE, {"config": {"name": "S", "first_seq": 500}}, False),
        ("messages since the creation", 1, 2, SINCE, {}, False),
        ("a stream that was there already", 1, 3000, BEFORE, {"did_create": False}, False),
        ("a mirror, whose messages keep their times", 1, 9, BEFORE, {"mirror": {"name": "ORIGIN"}}, False),
        ("sources", 1, 9, BEFORE, {"sources": [{"name": "ORIGIN"}]}, False),
    ):
        with subtests.test(name):
            state = {
                "messages": max(0, last - first + 1),
                "bytes": 0,
                "first_seq": first,
                "first_ts": NONE,
                "last_seq": last,
                "last_ts": last_time,
            }
            answer = {"config": {"name": "S"}, "created": CREATED, "state": state, "did_create": True, **more}
            assert is_of_deleted_stream(StreamInfo.read(Facts(answer, "stream S"))) is expected
