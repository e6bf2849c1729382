"""The size of a message as the server counts it, and the pin that it adds."""

import pytest

from penstock_jetstream.core.sizes import header_bytes_without_pin, pin_id, size_bytes

REPLY = b"$JS.ACK.V.c.1.1.1.1700000000000000000.0"
ID = "iuJwuuJHSx5AbrWWzYpQKl"
PIN = f"Nats-Pin-Id: {ID}\r\n".encode()
OWN = b"NATS/1.0\r\nA: b\r\n"


@pytest.mark.requirement("C-36")
def test_a_size_is_that_of_subject_reply_headers_and_payload() -> None:
    assert len(REPLY) == 39
    assert size_bytes(b"m.1", REPLY, b"", b"x" * 50) == 92
    assert size_bytes(b"m.1", REPLY, OWN + b"\r\n", b"x" * 50) == 92 + 18


@pytest.mark.requirement("C-36", "G-08")
def test_the_pin_is_the_last_line_of_the_headers_and_is_not_counted(subtests: pytest.Subtests) -> None:
    """Naive: the first line, which a publisher that copies a message with its headers would publish again."""
    assert len(PIN) == 37
    copied = b"NATS/1.0\r\nNats-Pin-Id: OfAnotherConsumer\r\n"
    cases = {
        OWN + PIN + b"\r\n": (ID, 18),
        b"NATS/1.0\r\n" + PIN + b"\r\n": (ID, 0),  # the block is only for the pin
        OWN + b"\r\n": ("", 18),
        b"": ("", 0),
        copied + PIN + b"\r\n": (ID, len(copied) + 2),
        copied + b"A: b\r\n\r\n": ("", len(copied) + 8),
    }
    for block, (pin, header_bytes) in cases.items():
        with subtests.test(repr(block)):
            assert (pin_id(block), header_bytes_without_pin(block)) == (pin, header_bytes)
    assert pin_id(b"NATS/1.0\r\nNats-Pin-Id: \xff\r\n\r\n") == ""
