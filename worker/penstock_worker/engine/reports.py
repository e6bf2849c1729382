"""What the machine reports, told: a line of the log each, counters, and how the engine stands.

Knows how loud each kind of report is. Decides nothing.
"""

import logging
from dataclasses import dataclass

from penstock_worker.engine.metrics import Metrics
from penstock_worker.engine.standing import RANGES_LETTERS, Standing
from penstock_worker.policy.machine.actions import HandOver, Note, Report
from penstock_worker.policy.outcome import Verdict
from penstock_worker.policy.ranges import as_text

logger = logging.getLogger(__name__)

LEVELS = {
    Note.OPENED: logging.DEBUG,
    Note.RETRIED: logging.WARNING,
    Note.SPLIT: logging.WARNING,
    Note.SUSPECTED: logging.WARNING,
    Note.GIVEN_BACK: logging.WARNING,
    Note.DEAD_LETTERED: logging.WARNING,
    Note.CIRCUIT_OPEN: logging.ERROR,
    Note.DRIVER_LOST: logging.ERROR,
    Note.STALLED: logging.ERROR,
    Note.FAILED: logging.ERROR,
}
"""All others are of interest to those who look, and no more."""


@dataclass(slots=True)
class Reporter:
    """Everything that people hear of."""

    standing: Standing
    metrics: Metrics

    def began(self, handed: HandOver) -> None:
        self.standing.began(handed)
        logger.info(
            "A batch runs.",
            extra={"facts": _facts_of(handed)},
        )

    def report(self, report: Report) -> None:
        self.metrics.noted(report.note)
        if report.note is Note.ENDED:
            self.standing.ended(report.batch_id, report.verdict, report.seconds, report.detail)
            self.metrics.ran(report.verdict, report.seconds)
        if report.note is Note.DRIVER_LOST:
            self.standing.driver_lost()
        logger.log(self._level(report), "%s", _sentence(report), extra={"facts": _facts(report)})

    def _level(self, report: Report) -> int:
        if report.note is Note.ENDED and report.verdict != Verdict.OK:
            return logging.WARNING
        return LEVELS.get(report.note, logging.INFO)


def _sentence(report: Report) -> str:
    said = report.note.replace("-", " ").capitalize()
    return f"{said}: {report.detail}" if report.detail else f"{said}."


def _facts_of(handed: HandOver) -> dict[str, object]:
    ranges = as_text(handed.ranges)[:RANGES_LETTERS]
    return {"batch": handed.batch_id, "ranges": ranges, "messages": handed.count, "run": handed.run}


def _facts(report: Report) -> dict[str, object]:
    facts = {
        "batch": report.batch_id,
        "verdict": report.verdict,
        "messages": report.messages,
        "seconds": round(report.seconds, 3),
    }
    return {name: value for name, value in facts.items() if value}
