"""How a run ended, told as an Outcome: by what the user's code raised, why it was stopped, or what Spark complains of.

Knows which of these goes before which, and what may be said of an error where anybody reads it: what Spark says of a
value, or a function of it, quotes payloads. What an error of Spark means is the policy's business (classification.py).
"""

from collections.abc import Sequence
from pathlib import Path

from penstock_worker.api import Reject, Retry
from penstock_worker.api.exceptions import BatchCutError
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
    return Outcome(verdict, seconds, fault=Fault(verdict.name.title().replace("_", ""), sentence, sentence=sentence))


def failed(error: BaseException, code: Sequence[Path], seconds: float) -> Outcome:
    """Return the outcome of a run whose code raised something of its own accord."""
    facts = facts_of(error, code)
    match error:
        case Retry():
            verdict = Verdict.TRANSIENT
        case Reject():
            verdict = Verdict.DATA
        case BatchCutError():
            verdict = Verdict.CUT
        case _:
            verdict = classify(facts.classes, facts.condition, facts.sqlstate, status=facts.status, raised=facts.raised)
    fault = Fault(
        type=facts.type,
        message=facts.text,
        sentence=_sentence(facts, verdict),
        condition=facts.condition,
        sqlstate=facts.sqlstate,
        trace=facts.trace,
        place=facts.place,
    )
    after_seconds = error.after_seconds if isinstance(error, Retry) else None
    return Outcome(verdict, seconds, fault=fault, retry_after_seconds=after_seconds)


def _sentence(facts: ErrorFacts, verdict: Verdict) -> str:
    """Say where something failed and how, in the error's own words if they are of code and not of a value."""
    may_quote = verdict is not Verdict.DATA and (verdict is Verdict.CODE or not facts.is_of_spark)
    quoted = facts.line if not facts.raised else _last_line(facts)
    words = quoted if may_quote else ", ".join(filter(None, (*facts.raised[:1], facts.cause, facts.condition)))
    said = f"{facts.type}: {words}" if words else facts.type
    place = f"{facts.place}: " if facts.place else ""
    return f"{place}{said}" if said.endswith((".", "!", "?")) else f"{place}{said}."


def _last_line(facts: ErrorFacts) -> str:
    """Return what the last exception of a Python traceback says: its first lines are the same each time."""
    lines = [line for line in facts.text.splitlines() if facts.raised[-1] in line and not line.startswith(" ")]
    return lines[-1] if lines else facts.line
