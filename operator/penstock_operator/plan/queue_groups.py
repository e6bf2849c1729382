"""What is said of a QueueGroup: whether it fits what it depends on, and whether anybody serves it here.

Pure. On a laptop `penstock up` serves it; in a cluster nobody does yet. Knows no more of queue groups than that. Called
by services, and by whoever looks at manifests.
"""

from penstock_operator.plan.decision import ConditionType, Next, Note, Plan, Verdict
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.group_places import GroupPlace
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Waiting
from penstock_operator.plan.verdicts import FALSE, TRUE

NOT_SERVED = (
    "QueueGroups are not served yet by this version of Penstock: it checks what is declared and starts no workers."
)
SERVED_BY_UP = "It fits its Consumer; `penstock up` runs its workers."


def plan_queue_group(declared: Declared, found: GroupPlace | Waiting | None = None) -> Plan:
    """Decide what to say about a QueueGroup: there is nothing to do on a server.

    `found` is where it works, or what is in the way; None where QueueGroups are not served.
    """
    if declared.deleting:
        return Plan(next=Next.WHEN_IT_CHANGES)
    verdict = _verdict(declared, found)
    return Plan(
        verdicts=(verdict,),
        notes=(Note(verdict.reason, verdict.message, is_warning=verdict.status == FALSE),),
        next=Next.WHEN_IT_CHANGES,
    )


def _verdict(declared: Declared, found: GroupPlace | Waiting | None) -> Verdict:
    match found:
        case _ if declared.spec is None:
            return Verdict(ConditionType.READY, FALSE, Reason.INVALID, declared.fault)
        case None:
            return Verdict(ConditionType.READY, FALSE, Reason.NOT_IMPLEMENTED, NOT_SERVED)
        case Waiting(reason=reason, message=message):
            return Verdict(ConditionType.READY, FALSE, reason, message)
        case GroupPlace():
            return Verdict(ConditionType.READY, TRUE, Reason.FITS, SERVED_BY_UP)
