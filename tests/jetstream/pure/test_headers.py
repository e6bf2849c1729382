"""Header blocks: reading and writing them without losing a byte."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_jetstream.core.headers import Headers, encode
from penstock_jetstream.errors import ProtocolError, UsageError
from tests.jetstream.streams import header_names, header_values

stripped_values = header_values.map(str.strip)


def test_a_name_has_its_values_in_order() -> None:
    headers = Headers.parse(b"NATS/1.0\r\nA: 1\r\nB: x: y\r\nA:2\r\n\r\n")
    assert headers["A"] == "1"
    assert headers.all("A") == ["1", "2"]
    assert headers["B"] == "x: y"
    assert dict(headers) == {"A": "1", "B": "x: y"}
    assert "a" not in headers
    assert headers.all("a") == []
    assert headers.status is None
    assert (dict(Headers()), Headers().status, Headers().raw) == ({}, None, b"")


def test_a_status_has_a_code_and_optionally_a_description_and_headers() -> None:
    headers = Headers.parse(b"NATS/1.0 409 Message Size Exceeds MaxBytes\r\nNats-Pending-Messages: 5\r\n\r\n")
    assert (headers.status, headers.description) == (409, "Message Size Exceeds MaxBytes")
    assert headers["Nats-Pending-Messages"] == "5"
    bare = Headers.parse(b"NATS/1.0 503\r\n\r\n")
    assert (bare.status, bare.description, len(bare)) == (503, "", 0)


def test_a_block_that_is_none_is_a_protocol_error(subtests: pytest.Subtests) -> None:
    broken = [b"NATS/1.0", b"NATS/1.0\r\n", b"NATS/2.0\r\n\r\n", b"NATS/1.0 5\r\n\r\n", b"NATS/1.0 abc\r\n\r\n"]
    for block in (*broken, b"NATS/1.0\r\nno colon\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"):
        with subtests.test(repr(block)):
            with pytest.raises(ProtocolError):
                Headers.parse(block)
            with pytest.raises(ProtocolError):
                len(Headers(block))


def test_names_and_values_that_would_break_the_block_or_are_no_text_are_refused(subtests: pytest.Subtests) -> None:
    for name in ("", "a b", "a:b", "a\r\nb", "ü", "\x00", "a\tb"):
        with subtests.test(name=name), pytest.raises(UsageError):
            encode({name: "value"})
    for value in ("a\r\nb", "a\nb", "\r"):
        with pytest.raises(UsageError, match="The header A has a value with a line break"):
            encode({"A": value})
    no_text: list[Any] = ["\ud800", 7, [7], None]
    for value in no_text:
        with subtests.test(value=ascii(value)), pytest.raises(UsageError, match="The header A has a"):
            encode({"A": value})


@given(st.dictionaries(header_names, st.lists(stripped_values, min_size=1, max_size=3), max_size=4))
def test_encoded_headers_are_parsed_to_the_same(wanted: dict[str, list[str]]) -> None:
    block = encode(wanted)
    headers = Headers.parse(block)
    assert {name: headers.all(name) for name in headers} == wanted
    assert headers.raw == block


def test_bytes_that_are_no_text_are_encoded_unchanged() -> None:
    headers = Headers.parse(b"NATS/1.0\r\nA: \xff\xfe\r\n\r\n")
    assert encode({"A": headers["A"]}) == headers.raw
