"""How large a message is, as the server counts it against a request's max_bytes (C-36).

Knows that the server counts the message's subject, ack reply, header block and payload, and that it does so before it
adds the `Nats-Pin-Id` of a pinned consumer. Does not know who counts.
"""

PIN_HEADER = b"\r\nNats-Pin-Id: "
_NO_HEADERS = len(b"NATS/1.0\r\n\r\n")


def size_bytes(subject: bytes, reply: bytes, header_block: bytes, payload: bytes) -> int:
    return len(subject) + len(reply) + len(payload) + counted_header_bytes(header_block)


def counted_header_bytes(header_block: bytes) -> int:
    """Return the length without the pin's line; a block that was made for the pin alone does not count at all."""
    if not header_block or (start := header_block.find(PIN_HEADER)) < 0:
        return len(header_block)
    line = header_block.index(b"\r\n", start + 2) - start
    remains = len(header_block) - line
    return 0 if remains == _NO_HEADERS else remains


def pin_id(header_block: bytes) -> str:
    """Return the pin's id, or nothing."""
    start = header_block.find(PIN_HEADER)
    if start < 0:
        return ""
    start += len(PIN_HEADER)
    return header_block[start : header_block.index(b"\r\n", start)].decode()
