"""Management: how far Penstock may go with what is on the server.

Knows the choices that a Stream and a Consumer offer, and the annotations that people decide with. Does not act on them.
"""

from enum import StrEnum

from penstock_operator.constants import GROUP
from penstock_operator.resources.part import Part

PAUSE_ANNOTATION = f"{GROUP}/reconcile"
PAUSED = "paused"
"""penstock.dev/reconcile: paused: leave this object alone, and what it declares."""
ABANDON_ANNOTATION = f"{GROUP}/abandon"
"""penstock.dev/abandon: "true": when this object is deleted, let go of what is on the server, whatever `deletion`."""
RECREATE_ANNOTATION = f"{GROUP}/recreate-generation"
"""penstock.dev/recreate-generation: "3": that generation may delete what is on the server and make it anew."""
FINALIZER = f"{GROUP}/server-object"


class Policy(StrEnum):
    MANAGE = "Manage"
    OBSERVE = "Observe"


class Deletion(StrEnum):
    RETAIN = "Retain"
    DELETE = "Delete"


class Drift(StrEnum):
    CORRECT = "Correct"
    REPORT = "Report"


class ImmutableChange(StrEnum):
    REJECT = "Reject"
    RECREATE = "Recreate"


class Management(Part):
    """How far Penstock may go with what is on the server."""

    policy: Policy = Policy.MANAGE
    """Manage: make it so, and keep it so. Observe: change nothing, and report what differs."""
    deletion: Deletion = Deletion.RETAIN
    """What becomes of it on the server when this object is deleted. Retain: it stays. Delete: it goes, with all that
    it holds."""
    drift: Drift = Drift.CORRECT
    """What to do when it was changed on the server by somebody else. Correct: change it back. Report: say so only."""
    immutable_change: ImmutableChange = ImmutableChange.REJECT
    """What to do about a change that the server cannot make. Reject: say so. Recreate: delete it and make it anew,
    without what it held, if the annotation penstock.dev/recreate-generation names this generation."""
