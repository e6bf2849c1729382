"""What is said of a QueueGroup: that it can be declared, and that this version does not serve it.

Pure. Knows no more of queue groups than that. Called by services.
"""

from penstock_operator.plan.decision import ConditionType, Next, Note, Plan, Verdict
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.reasons import Reason

NOT_SERVED = (
    "QueueGroups are not served yet by this version of Penstock: it checks what is declared and starts no workers."
)


def plan_queue_group(declared: Declared) -> Plan:
    """Decide what to say about a QueueGroup: there is nothing to do."""
    if declared.deleting:
        return Plan(next=Next.WHEN_IT_CHANGES)
    reason = Reason.INVALID if declared.spec is None else Reason.NOT_IMPLEMENTED
    message = declared.fault or NOT_SERVED
    return Plan(
        verdicts=(Verdict(ConditionType.READY, "False", reason, message),),
        notes=(Note(reason, message, is_warning=True),),
        next=Next.WHEN_IT_CHANGES,
    )
