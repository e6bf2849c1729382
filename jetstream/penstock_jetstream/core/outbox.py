"""What waits to be sent: pieces in their order, a bound, and what is worth nothing once the link is lost.

Pure bookkeeping. Knows sizes, and which pieces belong to one link only. Does not know sockets or frames.
"""

from penstock_jetstream.errors import BufferFullError


class Outbox:
    """Collects pieces until they are taken as one."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.elsewhere_bytes = 0
        """What was taken and is known to wait further down; it counts against the bound."""
        self.size_bytes = 0
        self._pieces: list[bytes] = []
        self._perishable: list[int] = []

    def __len__(self) -> int:
        return len(self._pieces)

    def add(self, piece: bytes, *, perishable: bool = False) -> None:
        """Append a message, if the bound allows; a perishable one is dropped if the link is lost before it leaves."""
        waiting_bytes = self.size_bytes + self.elsewhere_bytes
        if waiting_bytes + len(piece) > self.max_bytes:
            raise BufferFullError(
                f"{waiting_bytes} bytes wait to be sent, and {len(piece)} more would exceed {self.max_bytes}.",
                advice="Await flush() now and then, so that servers keep up, or raise max_pending_bytes.",
            )
        if perishable:
            self.add_housekeeping(piece)
        else:
            self._append(piece)

    def add_housekeeping(self, piece: bytes) -> None:
        """Append what concerns this link only and always may be sent, such as a PING."""
        self._perishable.append(len(self._pieces))
        self._append(piece)

    def _append(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self.size_bytes += len(piece)

    def take(self) -> bytes:
        """Return all as one, and be empty."""
        pieces, self._pieces = self._pieces, []
        self._perishable.clear()
        self.size_bytes = 0
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def link_lost(self) -> None:
        """Keep only what is worth sending on another link."""
        perished = set(self._perishable)
        self._pieces = [piece for index, piece in enumerate(self._pieces) if index not in perished]
        self._perishable.clear()
        self.size_bytes = sum(map(len, self._pieces))
        self.elsewhere_bytes = 0
