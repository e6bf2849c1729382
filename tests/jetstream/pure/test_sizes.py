"""A message's size, as the server counts it."""

import pytest

from penstock_jetstream.core.sizes import pin_id, size_bytes

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
    assert size_bytes(b"m.1", REPLY, b"NATS/1.0\r\nA: b\r\n" + PIN + b"\r\n", b"x" * 50) == 92 + 18
    assert size_bytes(b"m.1", REPLY, b"NATS/1.0\r\n" + PIN + b"A: b\r\n\r\n", b"x" * 50) == 92 + 18
    assert size_bytes(b"m.1", REPLY, b"NATS/1.0\r\n" + PIN + b"\r\n", b"x" * 50) == 92, "the block is the pin's alone"


@pytest.mark.requirement("G-08")
def test_the_pin_is_read_from_the_headers() -> None:
    assert pin_id(b"NATS/1.0\r\nA: b\r\n" + PIN + b"\r\n") == "iuJwuuJHSx5AbrWWzYpQKl"
    assert pin_id(b"NATS/1.0\r\nA: b\r\n\r\n") == ""
    assert pin_id(b"") == ""
