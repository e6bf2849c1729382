"""What an action takes away at once, in a sentence: for those who read a plan before it is carried out.

Pure. Knows what deletes messages. The rule: what takes away all that an object holds is done only where somebody has
asked for just that (deletion: Delete, or the annotation that names the generation): to recreate it, and to turn a
stream that no consumer reads into one that keeps what consumers wait for. A lower limit is how messages are meant to
go: it is obeyed, and the loss is told beforehand.
"""

from collections.abc import Iterator

from penstock_jetstream.config import Difference
from penstock_operator.plan.case import Case
from penstock_operator.plan.surroundings import Present
from penstock_operator.plan.wording import differences_told

LIMITS = ("max_msgs", "max_bytes", "max_age", "max_msgs_per_subject")
HELD = {"max_msgs": "messages", "max_bytes": "bytes"}
"""Limits of which the live facts tell whether anything is above them."""


def losses_of_all(it: str, present: Present) -> str:
    """Tell what goes with the whole object."""
    messages = present.facts.get("messages")
    held = "its position" if it.startswith("consumer") else "all its messages"
    return f"The {it} loses {held}." if messages is None else f"The {it} loses {messages} messages."


def losses_of_update(case: Case, present: Present, differences: tuple[Difference, ...]) -> tuple[str, ...]:
    """Tell what goes when these differences do."""
    return tuple(_losses(case, present, differences)) if case.kind == "Stream" else ()


def loses_everything(case: Case, present: Present, differences: tuple[Difference, ...]) -> bool:
    """Tell whether an update empties a stream: with interest retention, nobody's interest keeps nothing (nats-server
    deletes all at once since 2.14). What is not known of the stream may be so.
    """
    retained = any(each.field == "retention" and each.desired == "interest" for each in differences)
    read = bool(present.facts.get("consumers"))
    return case.kind == "Stream" and retained and not read and present.facts.get("messages") != 0


def _losses(case: Case, present: Present, differences: tuple[Difference, ...]) -> Iterator[str]:
    for difference in differences:
        told = differences_told(case.kind, [difference])
        if difference.field in LIMITS and _lowers(difference) and _is_exceeded(difference, present):
            yield f"{told} What is above the new limit is deleted at once."
        elif difference.field == "retention":
            yield f"{told} What no consumer waits for is deleted."


def _lowers(difference: Difference) -> bool:
    old, new = _limit(difference.actual), _limit(difference.desired)
    return new is not None and (old is None or new < old)


def _limit(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def _is_exceeded(difference: Difference, present: Present) -> bool:
    """Tell whether anything is above the new limit, as far as is known: what is not known may be."""
    held, limit = present.facts.get(HELD.get(difference.field, "")), _limit(difference.desired)
    return held is None or limit is None or held > limit
