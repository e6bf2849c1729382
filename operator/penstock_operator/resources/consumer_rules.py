"""What goes together in a Consumer, and what does not: what the server would refuse, said at once and in words.

Knows the rules that one Consumer can be judged by. Does not know what needs its stream, the server, or a comparison of
every filter with every other; penstock_jetstream.config judges that when the Consumer is planned.
"""

from penstock_operator.resources.metadata import DESCRIPTION_RULE, METADATA_RULE
from penstock_operator.resources.terms import (
    Term,
    chosen,
    filled,
    given,
    rule,
    shorter_than,
    switched_off,
    switched_on,
)

_FLOW_CONTROL = chosen("ackPolicy", "FlowControl")
_PRIORITIES = ~chosen("priorityPolicy", "None")
_PUSH = given("deliverSubject")

_ONE_STREAM = (
    rule(
        "Choose streamRef, or connectionRef with stream.",
        Term(
            "has(self.streamRef) ? !has(self.connectionRef) && !has(self.stream)"
            " : has(self.connectionRef) && has(self.stream)",
            lambda spec: (
                (spec.stream_ref is None) is (spec.connection_ref is not None)
                and (spec.connection_ref is None) is (spec.stream is None)
            ),
        ),
    ),
)


def _alike(one: Term, other: Term) -> Term:
    """Whether both hold, or neither does."""
    return one & other | ~one & ~other


_START = (
    rule(
        "startSequence belongs to deliverPolicy: ByStartSequence, which needs it.",
        _alike(given("startSequence"), chosen("deliverPolicy", "ByStartSequence")),
    ),
    rule(
        "startTime belongs to deliverPolicy: ByStartTime, which needs it.",
        _alike(given("startTime"), chosen("deliverPolicy", "ByStartTime")),
    ),
    rule(
        "deliverPolicy: LastPerSubject needs filterSubjects; > is all subjects.",
        ~chosen("deliverPolicy", "LastPerSubject") | filled("filterSubjects"),
    ),
)

_TOO_FEW_DELIVERIES = Term(
    "(has(self.maxDeliver) && has(self.backoff) && self.maxDeliver < size(self.backoff))",
    lambda spec: spec.max_deliver is not None and spec.max_deliver < len(spec.backoff),
)
_NO_LIMIT = Term("(has(self.maxAckPending) && self.maxAckPending == -1)", lambda spec: spec.max_ack_pending == -1)
_NOTHING = Term("(has(self.maxAckPending) && self.maxAckPending == 0)", lambda spec: spec.max_ack_pending == 0)
_OWN_ACK_WAIT = Term("(self.ackWait != '30s')", lambda spec: spec.ack_wait != "30s")
_OWN_HEARTBEAT = Term(
    "(has(self.idleHeartbeat) && self.idleHeartbeat != '1s')", lambda spec: spec.idle_heartbeat not in (None, "1s")
)

_ACKNOWLEDGEMENT = (
    rule("maxAckPending is at least 1, or -1 for no limit.", ~_NOTHING),
    rule("maxDeliver is at least the number of steps of backoff.", ~_TOO_FEW_DELIVERIES),
)

_COPYING = tuple(
    rule(sentence, ~_FLOW_CONTROL | ~term)
    for sentence, term in (
        ("ackPolicy: FlowControl is for push consumers: it needs deliverSubject.", ~_PUSH),
        ("ackPolicy: FlowControl switches flowControl on: leave it out, or set it.", switched_off("flowControl")),
        ("ackPolicy: FlowControl has an idleHeartbeat of 1s: leave it out.", _OWN_HEARTBEAT),
        ("ackPolicy: FlowControl needs a limit in maxAckPending: leave it out, or set one.", _NO_LIMIT),
        ("ackPolicy: FlowControl excludes ackWait: nothing is delivered again.", _OWN_ACK_WAIT),
        ("ackPolicy: FlowControl excludes backoff: nothing is delivered again.", filled("backoff")),
        ("ackPolicy: FlowControl excludes maxDeliver: nothing is delivered again.", given("maxDeliver")),
    )
)

_PUSHING = (
    rule("maxWaiting is for pull consumers: leave out it, or deliverSubject.", ~(_PUSH & given("maxWaiting"))),
    rule(
        "A push consumer with ackPolicy: None has no maxAckPending: nothing is acknowledged.",
        ~(_PUSH & chosen("ackPolicy", "None") & given("maxAckPending") & ~_NO_LIMIT),
    ),
    rule(
        "flowControl needs idleHeartbeat.",
        ~switched_on("flowControl") | given("idleHeartbeat") | _FLOW_CONTROL,
    ),
    rule("idleHeartbeat is at least 100ms.", ~shorter_than("idleHeartbeat", "100ms")),
    *(
        rule(f"{field} is for push consumers: leave it out, or give a deliverSubject.", ~term | _PUSH)
        for field, term in (
            ("idleHeartbeat", given("idleHeartbeat")),
            ("flowControl", switched_on("flowControl")),
            ("rateLimitBitsPerSecond", given("rateLimitBitsPerSecond")),
        )
    ),
)

_PULLING = (rule("maxExpires is at least 1ms; leave it out for no limit.", ~shorter_than("maxExpires", "1ms")),)

_PRIORITY = (
    rule(
        "A priorityPolicy needs a group in priorityGroups, and a group needs a priorityPolicy.",
        _alike(_PRIORITIES, filled("priorityGroups")),
    ),
    rule(
        "priorityTimeout goes with priorityPolicy: PinnedClient only.",
        ~given("priorityTimeout") | chosen("priorityPolicy", "PinnedClient"),
    ),
    rule("A priorityPolicy is for pull consumers: leave out it, or deliverSubject.", ~(_PRIORITIES & _PUSH)),
    rule("A priorityPolicy needs ackPolicy: Explicit.", ~_PRIORITIES | chosen("ackPolicy", "Explicit")),
)

CONSUMER_RULES = (
    DESCRIPTION_RULE,
    METADATA_RULE,
    *_ONE_STREAM,
    *_START,
    *_ACKNOWLEDGEMENT,
    *_COPYING,
    *_PUSHING,
    *_PULLING,
    *_PRIORITY,
)
