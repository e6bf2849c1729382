"""Header blocks: what is in them, what goes into them, and that every byte is kept."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_jetstream.core.headers import Headers, encode
from penstock_jetstream.errors import ProtocolError, UsageError
from tests.jetstream.streams import header_names, header_values

stripped_values = header_values.map(str.strip)


def test_a_name_has_its_values_in_their_order() -> None:
    headers = Headers.parse(b"NATS/1.0\r\nA: 1\r\nB: x: y\r\nA:2\r\n\r\n")
    assert headers["A"] == "1"
    assert headers.all("A") == ["1", "2"]
    assert headers["B"] == "x: y"
    assert dict(headers) == {"A": "1", "B": "x: y"}
    assert "a" not in headers
    assert headers.all("a") == []
    assert headers.status is None


def test_a_status_has_digits_and_perhaps_words_and_headers() -> None:
    headers = Headers.parse(b"NATS/1.0 409 Message Size Exceeds MaxBytes\r\nNats-Pending-Messages: 5\r\n\r\n")
    assert (headers.status, headers.description) == (409, "Message Size Exceeds MaxBytes")
    assert headers["Nats-Pending-Messages"] == "5"
    bare = Headers.parse(b"NATS/1.0 503\r\n\r\n")
    assert (bare.status, bare.description, len(bare)) == (503, "", 0)


def test_no_block_is_no_headers() -> None:
    assert (dict(Headers()), Headers().status, Headers().raw) == ({}, None, b"")


@pytest.mark.parametrize(
    "block",
    [
        b"NATS/1.0",
        b"NATS/1.0\r\n",
        b"NATS/2.0\r\n\r\n",
        b"NATS/1.0 5\r\n\r\n",
        b"NATS/1.0 abc\r\n\r\n",
        b"NATS/1.0\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
    ],
)
def test_a_block_that_is_none_is_a_protocol_error(block: bytes) -> None:
    with pytest.raises(ProtocolError):
        Headers.parse(block)
    with pytest.raises(ProtocolError):
        len(Headers(block))


@pytest.mark.parametrize("name", ["", "a b", "a:b", "a\r\nb", "ü", "\x00", "a\tb"])
def test_a_name_that_would_break_the_block_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        encode({name: "value"})


@pytest.mark.parametrize("value", ["a\r\nb", "a\nb", "\r"])
def test_a_value_that_would_break_the_block_is_refused(value: str) -> None:
    with pytest.raises(UsageError, match="The header A has a value with a line break"):
        encode({"A": value})


@pytest.mark.parametrize("value", ["\ud800", 7, [7], None])
def test_a_value_that_is_no_text_is_refused(value: Any) -> None:  # noqa: ANN401 - that is what is tested
    with pytest.raises(UsageError, match="The header A has a"):
        encode({"A": value})


@given(st.dictionaries(header_names, st.lists(stripped_values, min_size=1, max_size=3), max_size=4))
def test_what_was_encoded_is_parsed_again(wanted: dict[str, list[str]]) -> None:
    block = encode(wanted)
    headers = Headers.parse(block)
    assert {name: headers.all(name) for name in headers} == wanted
    assert headers.raw == block


@given(st.binary(max_size=60))
def test_noise_is_headers_or_a_protocol_error_and_nothing_else(noise: bytes) -> None:
    for block in (noise, b"NATS/1.0" + noise + b"\r\n\r\n", b"NATS/1.0\r\n" + noise + b"\r\n\r\n"):
        try:
            headers = Headers.parse(block)
        except ProtocolError:
            continue
        assert encode({name: headers.all(name) for name in headers if _is_sendable(name)})


def _is_sendable(name: str) -> bool:
    try:
        encode({name: ""})
    except UsageError:
        return False
    return True


def test_a_byte_that_is_no_text_comes_back_as_it_was() -> None:
    headers = Headers.parse(b"NATS/1.0\r\nA: \xff\xfe\r\n\r\n")
    assert encode({"A": headers["A"]}) == headers.raw
