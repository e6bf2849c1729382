"""Fuzz one target for a while, then keep what was found: `python -m tests.jetstream.fuzz frames 180` (seconds).

Needs atheris, which is not among our dependencies: docs/contributing.md says how to have it. What breaks a target is
printed, with the input; put that into a test.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.jetstream.fuzz import corpus

MAX_INPUT_BYTES = 256


def main(arguments: list[str]) -> int:
    match arguments:
        case ["--libfuzzer", target, *command]:
            _fuzz(target, command)
            return 0
        case [target, seconds]:
            return _campaign(target, int(seconds))
        case _:
            raise SystemExit(__doc__)


def _campaign(target: str, seconds: int) -> int:
    """Run the fuzzer on what there is, and merge what it adds into the corpus."""
    with tempfile.TemporaryDirectory() as made:
        fuzzer, found, kept = (Path(made, name) for name in ("fuzzer", "found", "kept"))
        fuzzer.write_text(f'#!/bin/sh\nexec {sys.executable} -m tests.jetstream.fuzz --libfuzzer {target} "$0" "$@"\n')
        fuzzer.chmod(0o700)  # a program of its own, as libFuzzer starts itself again to merge
        found.mkdir()
        kept.mkdir()
        for number, data in enumerate(corpus.read(target)):
            (found / str(number)).write_bytes(data)
        limits = [f"-max_total_time={seconds}", f"-max_len={MAX_INPUT_BYTES}"]
        verdict = subprocess.run([fuzzer, *limits, found], check=False).returncode
        if verdict == 0:
            subprocess.run([fuzzer, "-merge=1", kept, found], check=True)
            corpus.write(target, [file.read_bytes() for file in kept.iterdir()])
        return verdict


def _fuzz(target: str, command: list[str]) -> None:
    import atheris  # noqa: PLC0415 - who only reads this module need not have it

    with atheris.instrument_imports(include=["penstock_jetstream.core", "tests.jetstream.fuzz"]):
        from tests.jetstream.fuzz.targets import TARGETS  # noqa: PLC0415 - what is imported here is watched

    atheris.Setup(command, TARGETS[target])
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
