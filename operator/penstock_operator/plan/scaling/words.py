"""A decision in a sentence, for a condition, an event and a screen.

Knows words. Does not decide.
"""

import math

from penstock_operator.plan.scaling.decision import Why
from penstock_operator.plan.scaling.limits import Limits
from penstock_operator.plan.scaling.observation import Observation

BECAUSE = {
    Why.WORK: "",
    Why.IDLE: "there {nothing}",
    Why.NOT_IDLE_YET: "the last worker stays until there has been nothing to do for {idle:g} s",
    Why.MINIMUM: "minReplicas is {minimum}",
    Why.MAXIMUM: "maxReplicas is {maximum}",
    Why.MAX_ACK_PENDING: "the consumer's maxAckPending of {max_ack_pending} feeds no more with batches of {batch}",
    Why.QUOTA: "there is room for {quota}",
    Why.FUTILE: "more workers did no more, so something that they share is the limit",
    Why.STABILIZING: "a change is made once it has been wanted for a while",
    Why.UNKNOWN: "nobody can say what is pending, so the number stays",
}


def sentence(why: Why, seen: Observation, limits: Limits, workers: int) -> str:
    """Say it: "pending 48,210, 5 batches waiting, 2 held → 4 workers"."""
    because = BECAUSE[why].format(
        idle=limits.idle,
        nothing=f"has been nothing to do for {limits.idle:g} s" if seen.workers else "is nothing to do",
        minimum=limits.min_workers,
        maximum=limits.max_workers,
        max_ack_pending=limits.max_ack_pending,
        batch=limits.batch,
        quota=limits.quota,
    )
    end = f"{seen.workers} → {workers}" if workers != seen.workers else f"{workers} as before"
    return f"{_facts(seen, limits)}: {end}{f', as {because}' if because else ''}"


def _facts(seen: Observation, limits: Limits) -> str:
    if seen.reading is None:
        return "pending unknown"
    batches = math.ceil(seen.reading.pending / limits.batch)
    waiting = f" ({batches} {'batch' if batches == 1 else 'batches'})" if batches else ""
    silent = f", {seen.unheard} silent" if seen.unheard else ""
    return f"pending {seen.reading.pending:,}{waiting}, held {seen.held:,}{silent}"
