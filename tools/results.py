"""What a stage of testing came to, kept in a file, so that .ci/run can add them up.

usage: python3 tools/results.py STAGE=EXIT_CODE …     (prints the closing line; a stage that broke counts as a failure)

Knows counts. Does not know what was counted. Called by tools/check.py, tools/test.py and .ci/run.
"""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / ".cache" / "results"


@dataclass(frozen=True)
class Result:
    stage: str
    passed: int
    failed: int

    @property
    def line(self) -> str:
        return f"{self.stage}: {self.passed} passed, {self.failed} failed"


def record(result: Result) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{result.stage}.json").write_text(json.dumps(asdict(result)))


def recorded() -> list[Result]:
    """Return the results of all stages that have been run since the folder was emptied."""
    return [Result(**json.loads(file.read_text())) for file in sorted(FOLDER.glob("*.json"))]


def total(results: list[Result], exit_codes: dict[str, int]) -> tuple[int, int]:
    """Add up; a stage that ended badly without a failure of its own to show for it is one failure more."""
    passed = sum(result.passed for result in results)
    failed = sum(result.failed for result in results)
    for stage, exit_code in exit_codes.items():
        told = sum(result.failed for result in results if result.stage.startswith(stage))
        ran = any(result.stage.startswith(stage) for result in results)
        if (exit_code and not told) or not ran:
            failed += 1
    return passed, failed


def main(stages: list[str]) -> int:
    exit_codes = {name: int(code) for name, _, code in (stage.partition("=") for stage in stages)}
    passed, failed = total(recorded(), exit_codes)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
