"""How large a message is, as the server counts it against a request's max_bytes (C-36).

Knows that the server counts the message's subject, ack reply, header block and payload, and that it does so before it
adds the `Nats-Pin-Id` of a pinned consumer, always as the last line. A line like it that a publisher has written, as
who copies a message with its headers does, is a header as any other. Does not know who counts, or which consumers are
pinned.
"""

import re

_ADDED_PIN = re.compile(rb"\r\n(Nats-Pin-Id: ([0-9A-Za-z]+)\r\n)\r\n\Z")
_NO_HEADERS = len(b"NATS/1.0\r\n\r\n")


def size_bytes(subject: bytes, reply: bytes, header_block: bytes, payload: bytes) -> int:
    return len(subject) + len(reply) + len(header_block) + len(payload)


def header_bytes_without_pin(header_block: bytes) -> int:
    """Return the length without the line that was added; a block that was made for the pin alone does not count."""
    added = _ADDED_PIN.search(header_block)
    if added is None:
        return len(header_block)
    remains = len(header_block) - len(added[1])
    return 0 if remains == _NO_HEADERS else remains


def pin_id(header_block: bytes) -> str:
    """Return the id that the server has added, or nothing."""
    added = _ADDED_PIN.search(header_block)
    return "" if added is None else added[2].decode()
