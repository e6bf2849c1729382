"""How a run ended, told as an Outcome: by what the user's code raised, why it was stopped, or what Spark complains of.

Knows which of these goes before which. What an error of Spark means is the policy's business (classification.py).
"""

from collections.abc import Sequence
from pathlib import Path

from penstock_worker.api import Reject, Retry
from penstock_worker.policy.classification import classify
from penstock_worker.policy.outcome import Fault, Outcome, Verdict
from penstock_worker.spark.facts import ErrorFacts, facts_of

SENTENCES = {
    Verdict.DEADLINE: "The run took longer than it may, and was cancelled.",
    Verdict.CANCELLED: "The run was cancelled, as somebody asked for it.",
    Verdict.ENGINE_LOST: "Spark was lost while the run went on.",
}


def stopped(verdict: Verdict, seconds: float, *, detail: str = "") -> Outcome:
    """Return the outcome of a run that was ended from outside."""
    sentence = f"{SENTENCES[verdict]} {detail}".rstrip()
    return Outcome(verdict, seconds, fault=Fault(verdict.name.title().replace("_", ""), sentence))


def failed(error: BaseException, code: Sequence[Path], seconds: float) -> Outcome:
    """Return the outcome of a run whose code raised something of its own accord."""
    facts = facts_of(error, code)
    match error:
        case Retry():
            return Outcome(Verdict.TRANSIENT, seconds, fault=_fault(facts), retry_after_seconds=error.after_seconds)
        case Reject():
            return Outcome(Verdict.DATA, seconds, fault=_fault(facts))
        case _:
            verdict = classify(facts.classes, facts.condition, facts.sqlstate, status=facts.status, raised=facts.raised)
            return Outcome(verdict, seconds, fault=_fault(facts))


def _fault(facts: ErrorFacts) -> Fault:
    return Fault(
        type=facts.type,
        message=facts.text,
        condition=facts.condition,
        sqlstate=facts.sqlstate,
        trace=facts.trace,
        place=facts.place,
    )
