"""The screen on a real terminal: drawn, resized, suspended, and the terminal restored."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from typing import Self

import pytest

from tests.testbed.run import ROOT
from tests.testbed.waiting import WITHIN_SECONDS, eventually

pytestmark = pytest.mark.interpreter
ALTERNATE, NORMAL = b"\033[?1049h", b"\033[?1049l"
LOCAL_FLAGS = 3
SHOW = [sys.executable, "-m", "tests.operator.cli.snapshots"]
OWN_TERMINAL = [
    sys.executable,
    "-c",
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])",
]
"""Runs its arguments with the terminal as their controlling one, so that Ctrl-Z and hangups reach them."""
CTRL_C, CTRL_Z = b"\x03", b"\x1a"


class Window:
    """A terminal with a program, which is killed at the end of the block."""

    def __init__(self, columns: int, command: list[str], **environment: str) -> None:
        self.master, self.slave = pty.openpty()
        self._open = [self.master, self.slave]
        self.resize(columns)
        self.before = termios.tcgetattr(self.slave)
        self.shown = b""
        self.process = subprocess.Popen(
            [*OWN_TERMINAL, *command],
            cwd=ROOT,
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "", **environment},
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_problem: object) -> None:
        self.process.kill()
        self.process.wait()
        self.close()

    def resize(self, columns: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))

    def until(self, text: bytes) -> bytes:
        """Read until a text is shown, and return all since the last call."""

        def is_shown() -> bool:
            if select.select([self.master], [], [], 0)[0]:
                self.shown += os.read(self.master, 65536)
            return text in self.shown

        try:
            eventually(is_shown, f"{text!r} is shown")
        except TimeoutError as late:
            late.add_note(f"shown: {self.shown[-2000:]!r}")
            raise
        before, _, self.shown = self.shown.partition(text)
        return before + text

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def echoes(self) -> bool:
        return bool(termios.tcgetattr(self.slave)[LOCAL_FLAGS] & termios.ECHO)

    def close(self) -> None:
        while self._open:
            os.close(self._open.pop())


def window(columns: int, *arguments: str, **environment: str) -> Window:
    return Window(columns, [*SHOW, *arguments], **environment)


def test_the_last_screen_stays_readable_after_the_end() -> None:
    with window(120, "0.01", "5") as terminal:
        terminal.until(ALTERNATE)
        terminal.until(b"41 ok")
        terminal.until(NORMAL)
        assert b"\033" in terminal.until(b"41 ok"), "it is in colour"
        terminal.until(b"The code is wrong.")
        assert terminal.process.wait(WITHIN_SECONDS) == 0
        assert termios.tcgetattr(terminal.slave) == terminal.before


def test_an_interrupted_program_restores_the_terminal() -> None:
    with window(120) as terminal:
        terminal.until(b"41 ok")
        assert not terminal.echoes()
        terminal.process.send_signal(signal.SIGINT)
        terminal.until(NORMAL)
        terminal.until(b"KeyboardInterrupt")
        terminal.process.wait(WITHIN_SECONDS)
        assert termios.tcgetattr(terminal.slave) == terminal.before


def test_it_is_redrawn_when_the_terminal_is_resized() -> None:
    with window(120, "0.05", NO_COLOR="1") as terminal:
        terminal.until(b"BATCHES")
        terminal.resize(40)
        terminal.until(b"NameError: name\033[K")  # a message is broken
        terminal.resize(120)
        terminal.until(b"BATCHES")


def test_a_suspended_program_gives_the_terminal_back_to_the_shell() -> None:
    with Window(120, ["bash", "--norc", "--noprofile", "--noediting", "-i"]) as shell:
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


def test_a_closed_window_does_not_end_the_program() -> None:
    ignoring_the_hangup = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh"]  # as `up` does, until all has ended
    with Window(120, [*ignoring_the_hangup, *SHOW, "0.05", "20"]) as terminal:
        terminal.until(b"41 ok")
        terminal.close()
        assert terminal.process.wait(WITHIN_SECONDS) == 0


def test_no_color_and_dumb_terminals_are_respected() -> None:
    with window(120, "0.01", "3", NO_COLOR="1") as terminal:
        terminal.until(NORMAL)
        assert b"\033[3" not in terminal.until(b"The code is wrong.")
    with window(120, "0.01", "3", TERM="dumb") as terminal:
        assert b"\033" not in terminal.until(b"batches: 41 ok, 1 data")


def test_without_a_terminal_lines_are_printed() -> None:
    command = [sys.executable, "-m", "tests.operator.cli.snapshots", "0", "3"]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines = out.splitlines()
    assert len(lines) == 6, "three events, two groups, and how the first stands in the end"
    assert lines[-1].endswith("batches: 41 ok, 1 data")
