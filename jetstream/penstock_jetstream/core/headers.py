"""Header blocks: `NATS/1.0`, perhaps a status, and names with values.

Knows the block as the wire has it, and keeps it: its length counts in byte accounting (C-36). Does not know what any
header means. A block is parsed when it is first looked into.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Self

from typing_extensions import override

from penstock_jetstream.errors import ProtocolError, UsageError

HeadersLike = Mapping[str, str | Sequence[str]]
"""What callers give: one value per name, or several."""

VERSION = b"NATS/1.0"
_END = b"\r\n\r\n"
_STATUS_DIGITS = 3
_NAME = re.compile(r"[!-9;-~]+").fullmatch
"""What is printed in ASCII, but for the colon."""


class Headers(Mapping[str, str]):
    """Names (as they were written; case counts) with values. A name with several values gives the first: see `all`."""

    __slots__ = ("_description", "_status", "_values", "raw")

    def __init__(self, raw: bytes = b"") -> None:
        self.raw = raw
        self._values: dict[str, list[str]] | None = None
        self._status: int | None = None
        self._description = ""

    @classmethod
    def parse(cls, raw: bytes) -> Self:
        """Take a block apart now; a malformed one is an error here rather than later."""
        headers = cls(raw)
        headers._parsed()
        return headers

    @property
    def status(self) -> int | None:
        """The three digits of a status line; None for a message."""
        self._parsed()
        return self._status

    @property
    def description(self) -> str:
        """What stands after the status."""
        self._parsed()
        return self._description

    def all(self, name: str) -> list[str]:
        return list(self._parsed().get(name, ()))

    @override
    def __getitem__(self, name: str) -> str:
        return self._parsed()[name][0]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._parsed())

    @override
    def __len__(self) -> int:
        return len(self._parsed())

    @override
    def __repr__(self) -> str:
        return f"Headers({self.raw!r})"

    def _parsed(self) -> dict[str, list[str]]:
        if self._values is None:
            self._values = self._parse() if self.raw else {}
        return self._values

    def _parse(self) -> dict[str, list[str]]:
        if not self.raw.startswith(VERSION) or not self.raw.endswith(_END):
            raise ProtocolError(f"A header block is malformed: {self.raw[:80]!r}.")
        first, *lines = self.raw[len(VERSION) : -len(_END)].split(b"\r\n")
        self._take_status(first.strip())
        values: dict[str, list[str]] = {}
        for line in lines:
            name, colon, value = line.partition(b":")
            if not colon:
                raise ProtocolError(f"A header line has no colon: {line[:80]!r}.")
            values.setdefault(_text(name.strip()), []).append(_text(value.strip()))
        return values

    def _take_status(self, text: bytes) -> None:
        if not text:
            return
        digits, rest = text[:_STATUS_DIGITS], text[_STATUS_DIGITS:]
        if not digits.isdigit() or len(digits) < _STATUS_DIGITS:
            raise ProtocolError(f"A header block has a malformed status: {text[:80]!r}.")
        self._status = int(digits)
        self._description = _text(rest.strip())


def encode(headers: HeadersLike) -> bytes:
    """Return the block as the wire has it."""
    lines = [VERSION]
    for name, values in headers.items():
        several = values if isinstance(values, list | tuple) else (values,)
        lines.extend(_line(name, value) for value in several)
    return b"\r\n".join(lines) + _END


def _line(name: str, value: object) -> bytes:
    if not _NAME(name):
        raise UsageError(
            f"{name!r} cannot be the name of a header.", advice="Use ASCII letters without spaces and colons."
        )
    if not isinstance(value, str):
        raise UsageError(f"The header {name} has a {type(value).__name__} for a value.", advice="Write it as text.")
    if "\r" in value or "\n" in value:
        raise UsageError(f"The header {name} has a value with a line break.", advice="Encode it first, as in base64.")
    try:
        return f"{name}: {value}".encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as problem:
        raise UsageError(
            f"The header {name} has a value that is no Unicode.", advice="Remove lone surrogates."
        ) from problem


def _text(raw: bytes) -> str:
    """Keep every byte: what is not UTF-8 comes back as it was when it is encoded again."""
    return raw.decode("utf-8", "surrogateescape")
