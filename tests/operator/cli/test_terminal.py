"""The screen on a real terminal: it is drawn there, resized, put aside, and the terminal is left as it was found."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PATIENCE_SECONDS = 60.0
ALTERNATE, NORMAL = b"\033[?1049h", b"\033[?1049l"
LOCAL_FLAGS = 3
SHOW = [sys.executable, "-m", "tests.operator.cli.snapshots"]
OWN_TERMINAL = [
    sys.executable,
    "-c",
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])",
]
"""Has what follows run as a shell's first program does, so that Ctrl-Z and the end of the window are told to it."""
CTRL_C, CTRL_Z = b"\x03", b"\x1a"


class Window:
    """A terminal with a program on it."""

    def __init__(self, columns: int, command: list[str], **environment: str) -> None:
        self.master, slave = pty.openpty()
        self.slave = slave
        self._open = [self.master, slave]
        self.resize(columns)
        self.before = termios.tcgetattr(slave)
        self.shown = b""
        self.process = subprocess.Popen(
            [*OWN_TERMINAL, *command],
            cwd=ROOT,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "", **environment},
            start_new_session=True,
        )

    def resize(self, columns: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))

    def until(self, text: bytes) -> bytes:
        """Read until something is shown, and return all since the last time."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while text not in self.shown:
            ready, _, _ = select.select([self.master], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"{text!r} is not shown, but {self.shown[-2000:]!r}"
            self.shown += os.read(self.master, 65536)
        before, _, self.shown = self.shown.partition(text)
        return before + text

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def echoes(self) -> bool:
        return bool(termios.tcgetattr(self.slave)[LOCAL_FLAGS] & termios.ECHO)

    def close(self) -> None:
        while self._open:
            os.close(self._open.pop())


@contextmanager
def running(columns: int, command: list[str], **environment: str) -> Iterator[Window]:
    opened = Window(columns, command, **environment)
    try:
        yield opened
    finally:
        opened.process.kill()
        opened.process.wait()
        opened.close()


def window(columns: int, *arguments: str, **environment: str) -> AbstractContextManager[Window]:
    return running(columns, [*SHOW, *arguments], **environment)


def test_the_screen_is_drawn_and_in_the_end_left_with_the_last_of_it_to_read() -> None:
    with window(120, "0.01", "5") as terminal:
        terminal.until(ALTERNATE)
        terminal.until(b"41 ok")
        terminal.until(NORMAL)
        assert b"\033" in terminal.until(b"41 ok"), "it is in colour"
        terminal.until(b"The code is wrong.")
        assert terminal.process.wait(PATIENCE_SECONDS) == 0
        assert termios.tcgetattr(terminal.slave) == terminal.before


def test_a_program_that_fails_or_is_interrupted_leaves_the_terminal_as_it_was() -> None:
    with window(120) as terminal:
        terminal.until(b"41 ok")
        assert not terminal.echoes()
        terminal.process.send_signal(signal.SIGINT)
        terminal.until(NORMAL)
        terminal.until(b"KeyboardInterrupt")
        terminal.process.wait(PATIENCE_SECONDS)
        assert termios.tcgetattr(terminal.slave) == terminal.before


def test_it_is_drawn_anew_for_the_columns_that_there_are() -> None:
    with window(120, "0.05", NO_COLOR="1") as terminal:
        terminal.until(b"BATCHES")
        terminal.resize(40)
        terminal.until(b"NameError: name\033[K")  # a message is broken
        terminal.resize(120)
        terminal.until(b"BATCHES")


def test_while_it_is_suspended_the_terminal_is_the_shells() -> None:
    with running(120, ["bash", "--norc", "--noprofile", "--noediting", "-i"]) as shell:
        shell.type(" ".join([*SHOW, "0.05"]).encode() + b"\n")
        shell.until(ALTERNATE)
        shell.until(b"41 ok")
        assert not shell.echoes()
        shell.type(CTRL_Z)
        shell.until(NORMAL)
        shell.until(b"Stopped")
        assert shell.echoes()
        shell.type(b"bg\n")
        shell.until(b"&")
        shell.type(b"fg\n")
        shell.until(ALTERNATE)
        shell.until(b"41 ok")
        assert not shell.echoes()
        shell.type(CTRL_C)  # else it lives on where hangups are ignored
        shell.until(b"KeyboardInterrupt")


def test_a_window_that_is_closed_does_not_disturb_the_work() -> None:
    ignoring_the_hangup = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh"]  # as `up` does, until all has ended
    with running(120, [*ignoring_the_hangup, *SHOW, "0.05", "20"]) as terminal:
        terminal.until(b"41 ok")
        terminal.close()
        assert terminal.process.wait(PATIENCE_SECONDS) == 0


def test_no_colours_are_shown_to_whom_wants_none() -> None:
    with window(120, "0.01", "3", NO_COLOR="1") as terminal:
        terminal.until(NORMAL)
        assert b"\033[3" not in terminal.until(b"The code is wrong.")


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}])
def test_a_terminal_that_cannot_draw_gets_lines(environment: dict[str, str]) -> None:
    with window(120, "0.01", "3", **environment) as terminal:
        assert b"\033" not in terminal.until(b"batches: 41 ok, 1 data")


def test_what_is_no_terminal_gets_lines() -> None:
    command = [sys.executable, "-m", "tests.operator.cli.snapshots", "0", "3"]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS).stdout
    lines = out.splitlines()
    assert len(lines) == 6, "three events, two groups, and how the first stands in the end"
    assert lines[-1].endswith("batches: 41 ok, 1 data")
