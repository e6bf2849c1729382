"""A message's size, as the server counts it."""

import pytest

from penstock_jetstream.core.sizes import header_bytes_without_pin, pin_id, size_bytes

REPLY = b"$JS.ACK.V.c.1.1.1.1700000000000000000.0"
PIN = b"Nats-Pin-Id: iuJwuuJHSx5AbrWWzYpQKl\r\n"


@pytest.mark.requirement("C-36")
def test_a_size_is_subject_and_reply_and_headers_and_payload() -> None:
    assert len(REPLY) == 39
    assert size_bytes(b"m.1", REPLY, b"", b"x" * 50) == 92
    assert size_bytes(b"m.1", REPLY, b"NATS/1.0\r\nA: b\r\n\r\n", b"x" * 50) == 92 + 18


@pytest.mark.requirement("C-36", "G-08")
def test_the_pin_that_the_server_adds_is_not_counted() -> None:
    assert len(PIN) == 37
    assert header_bytes_without_pin(b"NATS/1.0\r\nA: b\r\n" + PIN + b"\r\n") == 18
    assert header_bytes_without_pin(b"NATS/1.0\r\n" + PIN + b"\r\n") == 0, "the block is the pin's alone"
    assert header_bytes_without_pin(b"NATS/1.0\r\nA: b\r\n\r\n") == 18
    assert header_bytes_without_pin(b"") == 0


@pytest.mark.requirement("C-36", "G-08")
def test_only_the_line_that_the_server_adds_is_a_pin() -> None:
    """It is the last one. Naive: the first, which whoever copies a message with its headers publishes anew."""
    copied = b"NATS/1.0\r\nNats-Pin-Id: OfAnotherConsumer\r\n"
    assert pin_id(copied + PIN + b"\r\n") == "iuJwuuJHSx5AbrWWzYpQKl"
    assert header_bytes_without_pin(copied + PIN + b"\r\n") == len(copied) + 2
    assert pin_id(copied + b"A: b\r\n\r\n") == ""
    assert header_bytes_without_pin(copied + b"A: b\r\n\r\n") == len(copied) + 8
    assert pin_id(b"NATS/1.0\r\nNats-Pin-Id: \xff\r\n\r\n") == ""


@pytest.mark.requirement("G-08")
def test_the_pin_is_read_from_the_headers() -> None:
    assert pin_id(b"NATS/1.0\r\nA: b\r\n" + PIN + b"\r\n") == "iuJwuuJHSx5AbrWWzYpQKl"
    assert pin_id(b"NATS/1.0\r\nA: b\r\n\r\n") == ""
    assert pin_id(b"") == ""
