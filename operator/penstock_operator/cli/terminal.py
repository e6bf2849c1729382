"""Shows snapshots where `penstock up` writes: a screen that is redrawn on a terminal, plain lines anywhere else.

Knows terminals: the alternate screen, what is typed meanwhile, Ctrl-Z, resizing, and that a terminal has to be left as
it was found, however the work ends. Does not know what is shown (screen.py, plain_lines.py).
"""

import errno
import os
import signal
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from penstock_operator.cli.plain_lines import PlainLines
from penstock_operator.cli.screen import last_screen, screen
from penstock_operator.local.snapshot import Snapshot

Show = Callable[[Snapshot], None]

ENTER = "\033[?1049h\033[?25l"
"""The alternate screen, without a cursor."""
LEAVE = "\033[?25h\033[?1049l"
BEGIN, END = "\033[?2026h\033[H", "\033[K\033[J\033[?2026l"
"""To the top; and from here on nothing. A terminal that can shows all that is between them at once."""
LINE_END = "\033[K\r\n"
LOCAL_FLAGS, INPUT_FLAGS = 3, 0
DUMB = "dumb"


@contextmanager
def showing(out: TextIO) -> Iterator[Show]:
    """Show each snapshot that is handed over while the block runs; afterwards the last one stays to be read."""
    if out.isatty() and os.environ.get("TERM") != DUMB:
        with _Terminal(out, colour=not os.environ.get("NO_COLOR")).taken() as terminal:
            yield terminal.show
    else:
        said = PlainLines()
        last: Snapshot | None = None

        def show(snapshot: Snapshot) -> None:
            nonlocal last
            last = snapshot
            _write(out, said.of(snapshot))

        try:
            yield show
        finally:
            if last is not None:
                _write(out, said.how_groups_stand(last))


def _write(out: TextIO, lines: list[str]) -> None:
    if lines:
        out.write("".join(f"{line}\n" for line in lines))
        out.flush()


class _Terminal:
    """A terminal that is ours while a block runs, but for the times when somebody has suspended us."""

    def __init__(self, out: TextIO, *, colour: bool) -> None:
        self._out = out
        self._colour = colour
        self._last: Snapshot | None = None
        self._drawn: list[str] = []
        self._settings: list[int | list[bytes | int]] | None = None
        """How the terminal was; while it is ours."""
        self._is_sending = self._is_to_stop = self._is_gone = False

    @contextmanager
    def taken(self) -> Iterator["_Terminal"]:
        former = signal.signal(signal.SIGTSTP, lambda *_: self._stop_when_whole())
        resized = signal.signal(signal.SIGWINCH, lambda *_: self._drawn.clear())
        try:
            yield self
        finally:
            signal.signal(signal.SIGWINCH, resized)
            signal.signal(signal.SIGTSTP, former)
            with self._unless_gone():
                self._leave()
                self._print_last()

    def show(self, snapshot: Snapshot) -> None:
        self._last = snapshot
        with self._unless_gone():
            if not self._is_gone and self._is_in_front():
                self._draw(snapshot)

    @contextmanager
    def _unless_gone(self) -> Iterator[None]:
        """A terminal whose window was closed takes nothing more, and nobody looks."""
        try:
            yield
        except (OSError, termios.error) as problem:
            if problem.args[0] != errno.EIO:
                raise
            self._is_gone = True

    def _print_last(self) -> None:
        if self._last is not None and not self._is_gone:
            lines = last_screen(self._last, columns=self._size().columns, colour=self._colour)
            self._send("".join(f"{line}\n" for line in lines))

    def _draw(self, snapshot: Snapshot) -> None:
        if self._settings is None:
            self._enter()
        columns, rows = self._size()
        lines = screen(snapshot, columns=columns, rows=rows, colour=self._colour)
        if lines != self._drawn:
            self._drawn = lines
            self._send(BEGIN + LINE_END.join(lines) + END)

    def _size(self) -> os.terminal_size:
        return os.get_terminal_size(self._out.fileno())

    def _is_in_front(self) -> bool:
        """Tell whether what is written and typed there is ours: a shell may have put us into the background."""
        try:
            return os.tcgetpgrp(self._out.fileno()) == os.getpgrp()
        except OSError as problem:
            if problem.errno != errno.ENOTTY:
                raise
            return True  # it controls nobody's jobs

    def _enter(self) -> None:
        self._settings = termios.tcgetattr(self._out.fileno())
        quiet = termios.tcgetattr(self._out.fileno())
        quiet[LOCAL_FLAGS] = _flags(quiet[LOCAL_FLAGS]) & ~termios.ECHO
        quiet[INPUT_FLAGS] = _flags(quiet[INPUT_FLAGS]) & ~termios.IXON  # Ctrl-S would stop us in the middle of a write
        termios.tcsetattr(self._out.fileno(), termios.TCSADRAIN, quiet)
        self._drawn = []
        self._send(ENTER)

    def _leave(self) -> None:
        settings, self._settings = self._settings, None
        if settings is not None and not self._is_gone:
            self._send(LEAVE)
            termios.tcsetattr(self._out.fileno(), termios.TCSADRAIN, settings)

    def _stop_when_whole(self) -> None:
        """Ctrl-Z came; not in the middle of what is being written."""
        self._is_to_stop = True
        if not self._is_sending:
            self._stop()

    def _stop(self) -> None:
        """Leave the terminal as it was, stop, and come back to the screen when the shell lets us go on."""
        self._is_to_stop = False
        self._leave()
        ours = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, ours)
        if self._last is not None:
            self.show(self._last)

    def _send(self, text: str) -> None:
        self._is_sending = True
        try:
            self._out.write(text)
            self._out.flush()
        finally:
            self._is_sending = False
        if self._is_to_stop:
            self._stop()


def _flags(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"A terminal's flags are a number, not {value!r}.")
    return value
