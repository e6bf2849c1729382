"""`penstock-engine --settings FILE [--worker NAME]`: pulls, settles and reports for one worker until it is told to end.

Exit codes: 0 when it ended as it was told to, 1 when it failed and may be started again, 2 when what it was told cannot
be, 3 when the code cannot process what it is given.
"""

import argparse
import asyncio
import logging
import os
import sys
from pathlib import Path

from penstock_jetstream.errors import JetStreamError, UsageError
from penstock_worker import logs
from penstock_worker.engine.ground import NotThereError, UnfitError
from penstock_worker.engine.lean import do_without_pandas
from penstock_worker.engine.process import run
from penstock_worker.policy.settings import WorkerSettings
from penstock_worker.policy.telling import named, read_settings
from penstock_worker.policy.typed import MalformedError
from penstock_worker.probes import CannotServeError

DONE, FAILED, BAD_INPUT = 0, 1, 2

logger = logging.getLogger("penstock_worker.engine")


def main() -> None:
    """Run it, and end the process."""
    do_without_pandas()
    parser = argparse.ArgumentParser(prog="penstock-engine", description="Pulls and settles for one worker.")
    parser.add_argument("--settings", required=True, type=Path, metavar="FILE", help="what it is told, as JSON")
    parser.add_argument("--worker", metavar="NAME", help="this worker's name, instead of the one in the file")
    arguments = parser.parse_args()
    file = arguments.settings
    try:
        settings = named(read_settings(file.read_bytes()), arguments.worker)
    except OSError as problem:
        sys.exit(_refused(f"{file} cannot be read: {problem.strerror}."))
    except MalformedError as problem:
        sys.exit(_refused(f"{file}: {problem}"))
    logs.configure()
    with logs.about(group=settings.engine.group, worker=settings.engine.worker):
        code = _run(settings)
    logging.shutdown()
    os._exit(code)  # a thread that waits for a driver that hangs must not keep the process from ending


def _run(settings: WorkerSettings) -> int:
    try:
        stop = asyncio.run(run(settings))
    except (UnfitError, CannotServeError, UsageError) as problem:
        logger.error("%s", problem)  # noqa: TRY400 - a sentence for people, who need no trace
        return BAD_INPUT
    except (NotThereError, JetStreamError) as problem:
        logger.error("%s", problem)  # noqa: TRY400
        return FAILED
    except Exception:
        logger.exception("The engine has a fault; what it held is delivered again. Please report it.")
        return FAILED
    about = {"why": stop.trouble.value} if stop.trouble else {}
    logger.log(logging.ERROR if stop.code else logging.INFO, "%s", stop.sentence, extra={"facts": about})
    return stop.code


def _refused(sentence: str) -> int:
    sys.stderr.write(f"penstock-engine: {sentence}\n")
    return BAD_INPUT


if __name__ == "__main__":
    main()
