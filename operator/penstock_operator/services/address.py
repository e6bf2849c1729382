"""A place to listen at, as people write it: HOST:PORT. Knows the spelling only."""

from dataclasses import dataclass
from typing import Self

from typing_extensions import override

HIGHEST_PORT = 65535


@dataclass(frozen=True, slots=True)
class Address:
    """A host to listen on, or every one of this machine, and a port; port 0 means any that is free."""

    host: str | None
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > HIGHEST_PORT:
            raise ValueError(f"{text!r} is not HOST:PORT, as in 0.0.0.0:8080, [::1]:8080 or :8080.")
        return cls(host.removeprefix("[").removesuffix("]") or None, int(port))

    @override
    def __str__(self) -> str:
        host = self.host or ""
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"
