"""Who has a place, if several objects declare it: the oldest of those that would change something there.

Pure. An object that only observes claims nothing, and one that is being deleted holds its place until it is gone, so
that there are never two writers. Knows as well who has it after that. Does not know where objects are
(dependencies.py).
"""

from collections.abc import Iterable
from datetime import datetime

from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.resources.management import Policy


def holder(claimants: Iterable[Declared]) -> Identity | None:
    """Return who has the place that all of these declare; None if nobody does more than look."""
    oldest = min(filter(_claims, claimants), key=_seniority, default=None)
    return oldest.identity if oldest else None


def heir(claimants: Iterable[Declared], leaving: Identity) -> Identity | None:
    """Return who of these has the place when one of them has left it; None if nobody is to have it any more."""
    return holder(each for each in claimants if each.identity != leaving and not each.deleting)


def observes(declared: Declared) -> bool:
    """Tell whether an object does no more than look."""
    return declared.management is not None and declared.management.policy is Policy.OBSERVE


def _claims(declared: Declared) -> bool:
    return declared.management is not None and not observes(declared)


def _seniority(declared: Declared) -> tuple[datetime, str, str]:
    """Of two of the same second, the first by name: any order will do, if it is always the same."""
    return declared.created_at, declared.identity.namespace, declared.identity.name
