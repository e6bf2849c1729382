"""What is said of a QueueGroup where manifests are looked at, and no workers: whether it fits what it depends on.

Pure. On a laptop `penstock up` runs its workers; of those in a cluster plan.fleet tells. Called by whoever looks at
manifests.
"""

from penstock_operator.plan.decision import ConditionType, Next, Note, Plan, Verdict
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.group_places import GroupPlace
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Waiting
from penstock_operator.plan.verdicts import FALSE, TRUE

SERVED_BY_UP = "It fits its Consumer; `penstock up` runs its workers."


def plan_queue_group(declared: Declared, found: GroupPlace | Waiting) -> Plan:
    """Decide what to say about a QueueGroup: there is nothing to do on a server.

    `found` is where it works, or what is in the way.
    """
    if declared.deleting:
        return Plan(next=Next.WHEN_IT_CHANGES)
    verdict = _verdict(declared, found)
    return Plan(
        verdicts=(verdict,),
        notes=(Note(verdict.reason, verdict.message, is_warning=verdict.status == FALSE),),
        next=Next.WHEN_IT_CHANGES,
    )


def _verdict(declared: Declared, found: GroupPlace | Waiting) -> Verdict:
    match found:
        case _ if declared.spec is None:
            return Verdict(ConditionType.READY, FALSE, Reason.INVALID, declared.fault)
        case Waiting(reason=reason, message=message):
            return Verdict(ConditionType.READY, FALSE, reason, message)
        case GroupPlace():
            return Verdict(ConditionType.READY, TRUE, Reason.FITS, SERVED_BY_UP)
