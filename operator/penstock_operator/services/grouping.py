"""One step for a QueueGroup: say that this version does not serve it, or what is wrong with what was declared.

Does not decide what is said (plan.queue_groups does). Called by the reconciler.
"""

from penstock_operator.plan.conditions import is_news
from penstock_operator.plan.decision import Next
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.queue_groups import plan_queue_group
from penstock_operator.services.workshop import Workshop


async def look_after(shop: Workshop, declared: Declared) -> Next:
    """Take the step, and tell when to take the next."""
    decided = plan_queue_group(declared)
    if decided.verdicts:
        notes = decided.notes if is_news(declared, decided.verdicts) else ()
        await shop.say(declared, decided.verdicts, None, notes)
    return decided.next
