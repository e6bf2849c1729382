"""Where the workers of a queue group may go to over the network.

Knows the shape of a NetworkPolicy's rules. Their parts pass through as they are written, and the API server judges them
when the policy is made. Does not know what Penstock itself needs: that is always allowed.
"""

from typing import Annotated

from pydantic import Field

from penstock_operator.resources.part import Part, Rule
from penstock_operator.resources.queue_group_template import PassingThrough

MOST_RULES, MOST_ENDS = 64, 64


class EgressPeer(PassingThrough):
    """Where to: an ipBlock, a podSelector, a namespaceSelector, as a NetworkPolicy has them."""


class EgressPort(PassingThrough):
    """A port, with its protocol, as a NetworkPolicy has it."""


class EgressRule(Part):
    """Something that the workers may go to, as in the field egress of a NetworkPolicy."""

    to: Annotated[list[EgressPeer], Field(max_length=MOST_ENDS)] | None = None
    """Where to; left out, anywhere."""
    ports: Annotated[list[EgressPort], Field(max_length=MOST_ENDS)] | None = None
    """At which ports; left out, at any."""

    RULES = (
        Rule(
            "A rule of egress says to, or ports, or both; where all is allowed, leave out egress itself.",
            "(has(self.to) && size(self.to) > 0) || (has(self.ports) && size(self.ports) > 0)",
            lambda rule: bool(rule.to or rule.ports),
        ),
    )


class Network(Part):
    """What the workers may reach, and who may reach them: a NetworkPolicy, for clusters that heed those."""

    egress: Annotated[list[EgressRule], Field(max_length=MOST_RULES)] | None = None
    """Where the workers may go to besides what Penstock needs (names, NATS, Spark): what the code reads and writes.
    Left out, they may go anywhere; an empty list, nowhere else."""
