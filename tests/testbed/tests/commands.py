"""A command in a process of its own: its output goes to a file, and the test controls its input and its end."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.testbed import run
from tests.testbed.waiting import eventually

PATIENCE_SECONDS = 200


class Command:
    """Leads a process group of its own, as a shell's job does."""

    def __init__(self, folder: Path, *command: str, environment: Mapping[str, str] | None = None) -> None:
        self._output = folder / "output"
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                command,
                cwd=run.ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        return self._output.read_text()

    def found(self, pattern: str) -> list[str]:
        return re.findall(pattern, self.output, re.MULTILINE)

    def wait_for(self, pattern: str) -> str:
        """Return the first match of a pattern in the output; fail if the command ends without one."""
        eventually(lambda: self.found(pattern) or self.process.poll() is not None, pattern, PATIENCE_SECONDS)
        assert self.found(pattern), self.output
        return self.found(pattern)[0]

    def type(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def close_input(self) -> None:
        if self.process.stdin:
            self.process.stdin.close()

    def end(self, number: signal.Signals | None = None) -> int:
        """Send a signal, if one is given and the command runs; wait for its end, and return its exit code."""
        if number is not None:
            self.process.send_signal(number)
        self.close_input()
        return self.process.wait(PATIENCE_SECONDS)


@contextmanager
def run_by_hand(*arguments: str) -> Iterator[Command]:
    """Run `python -m tests.testbed` with these arguments; end it with the block, if it runs then."""
    folder = run.current().new_folder("command")
    command = Command(folder, sys.executable, "-m", "tests.testbed", *arguments)
    try:
        yield command
    finally:
        command.end(signal.SIGTERM)
