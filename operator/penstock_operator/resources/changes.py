"""What cannot change in a Stream or Consumer: said when somebody tries, instead of much later by the server.

Made from what the server's tables know of each field. A change that the server cannot make is not refused where
management.immutableChange is Recreate: then a policy (admission.py) and the planner ask for the annotation, which a
rule of a definition cannot see.
"""

from collections.abc import Callable, Mapping
from typing import Any

from penstock_jetstream.config import Field, Never, OneWay, values
from penstock_jetstream.config.times import instant
from penstock_operator.resources.kind import Written
from penstock_operator.resources.part import ChangeRule, Part, Rule
from penstock_operator.resources.server import Counterpart, counterparts
from penstock_operator.resources.terms import value

_RECREATE = "Recreate"
_ELSE = f"; or say management.immutableChange: {_RECREATE}"

Maker = Callable[[Counterpart], ChangeRule | None]


def change_rules(part: type[Part], fields: tuple[Field, ...], special: Mapping[str, Maker]) -> tuple[ChangeRule, ...]:
    """Return what no change of the part may break; `special` has what the tables know by heart only."""
    made = [_change_rule(each, special) for each in counterparts(part, fields)]
    return tuple(rule for rule in made if rule)


def _change_rule(each: Counterpart, special: Mapping[str, Maker]) -> ChangeRule | None:
    if each.server.name in special:
        return special[each.server.name](each)
    match each.server.mutability:
        case Never() if each.alias != "name":  # server_name_stays judges that one
            return _set_for_good(each)
        case OneWay():
            return _stays_on(each)
        case _:
            return None


def server_name_rule(what: str) -> Rule:
    """Return what a name on the server promises that is metadata.name, as the spec gives none."""
    return Rule(
        f"metadata.name has a dot, which the name of a {what} on the server may not have: give spec.name.",
        "has(self.spec.name) || !self.metadata.name.contains('.')",
        lambda written: written.spec.name is not None or "." not in written.name,
    )


def server_name_stays(what: str) -> ChangeRule:
    """Return what no update does to the name on the server, whatever immutableChange says."""
    return ChangeRule(
        f"The {what}'s name on the server is for good: declare another object for another {what}.",
        "(has(self.spec.name) ? self.spec.name : self.metadata.name)"
        " == (has(oldSelf.spec.name) ? oldSelf.spec.name : oldSelf.metadata.name)",
        lambda new, old: _server_name(new) == _server_name(old),
    )


def _server_name(written: Written) -> str:
    return str(written.spec.name or written.name)


def _unless_recreated(sentence: str, cel: str, holds: Callable[[Any, Any], bool]) -> ChangeRule:
    return ChangeRule(
        f"{sentence}{_ELSE}.",
        f"self.management.immutableChange == '{_RECREATE}' || {cel}",
        lambda new, old: new.management.immutable_change == _RECREATE or holds(new, old),
        ChangeRule(sentence, cel, holds),
    )


def _set_for_good(each: Counterpart) -> ChangeRule:
    return _unless_recreated(
        f"{each.alias} is set at creation, for good: set it back",
        f"{_cel_value(each, 'self')} == {_cel_value(each, 'oldSelf')}"
        if _has_value(each)
        else f"(has(self.{each.alias}) ? has(oldSelf.{each.alias})"
        f" && {_cel_given(each, 'self')} == {_cel_given(each, 'oldSelf')} : !has(oldSelf.{each.alias}))",
        lambda new, old: _comparable(each, old) == _comparable(each, new),
    )


def _has_value(each: Counterpart) -> bool:
    """Tell whether the field has a value even where it is left out."""
    return isinstance(each.default, str | int | list) or isinstance(each.server.default, bool)


def _cel_value(each: Counterpart, self: str) -> str:
    written = f"{self}.{each.alias}"
    if isinstance(each.default, str | int):
        return written
    absent = "[]" if isinstance(each.default, list) else str(each.server.default).lower()
    return f"(has({written}) ? {written} : {absent})"


def _cel_given(each: Counterpart, self: str) -> str:
    """Return what compares equal if it means the same: a policy sees a time as it is written."""
    written = f"{self}.{each.alias}"
    return f"timestamp({written})" if isinstance(each.server.type, values.Time) else written


def _comparable(each: Counterpart, part: Any) -> object:  # noqa: ANN401 - any part
    given = value(part, each.alias)
    if given is None and isinstance(each.server.default, bool):
        return each.server.default
    if isinstance(each.server.type, values.Time) and given is not None:
        return instant(given)
    return None if given == [] else given


def _stays_on(each: Counterpart) -> ChangeRule:
    return _unless_recreated(
        f"{each.alias} stays on once it is on: set it back",
        f"(!{_cel_value(each, 'oldSelf')} || {_cel_value(each, 'self')})",
        lambda new, old: not value(old, each.alias) or bool(value(new, each.alias)),
    )


def _ttl_stays_on(_: Counterpart) -> ChangeRule:
    """Know that markers switch it on as well: it stays when they go."""
    is_on = "(has({0}.allowMessageTtl) && {0}.allowMessageTtl) || has({0}.subjectDeleteMarkerTtl)"
    return _unless_recreated(
        "allowMessageTtl stays on once it, or subjectDeleteMarkerTtl, is there: set it",
        f"(!({is_on.format('oldSelf')}) || {is_on.format('self')})",
        lambda new, old: not _lets_messages_expire(old) or _lets_messages_expire(new),
    )


def _lets_messages_expire(stream: Any) -> bool:  # noqa: ANN401 - a StreamSpec
    return stream.allow_message_ttl is True or stream.subject_delete_marker_ttl is not None


def _left_to_the_planner(_: Counterpart) -> None:
    """Judge nothing: whether it can change depends on the server."""


def _work_queue(_: Counterpart) -> ChangeRule:
    return _unless_recreated(
        "A stream never becomes a work queue, nor stops to be one: set retention back",
        "(self.retention == 'WorkQueue') == (oldSelf.retention == 'WorkQueue')",
        lambda new, old: (old.retention == "WorkQueue") is (new.retention == "WorkQueue"),
    )


def _one_move(_: Counterpart) -> ChangeRule:
    return ChangeRule(
        "A stream cannot move and change its replicas or retention at once: change placement first, or last.",
        "!has(self.placement) || (has(oldSelf.placement) && self.placement == oldSelf.placement)"
        " || (self.replicas == oldSelf.replicas && self.retention == oldSelf.retention)",
        lambda new, old: (
            new.placement in (None, old.placement) or (old.replicas, old.retention) == (new.replicas, new.retention)
        ),
    )


def _mirror(_: Counterpart) -> ChangeRule:
    return _unless_recreated(
        "A mirror is set at creation, and can be removed, which makes the copy a stream of its own: set mirror back",
        "(!has(self.mirror) || (has(oldSelf.mirror) && self.mirror == oldSelf.mirror))",
        lambda new, old: new.mirror in (None, old.mirror),
    )


def _pull_or_push(_: Counterpart) -> ChangeRule:
    return _unless_recreated(
        "A pull consumer never becomes a push consumer, or the other way round: set deliverSubject back",
        "has(self.deliverSubject) == has(oldSelf.deliverSubject)",
        lambda new, old: (old.deliver_subject is None) is (new.deliver_subject is None),
    )


STREAM_CHANGES: Mapping[str, Maker] = {
    "retention": _work_queue,
    "max_consumers": _left_to_the_planner,
    "first_seq": _set_for_good,
    "num_replicas": _left_to_the_planner,
    "placement": _one_move,
    "mirror": _mirror,
    "allow_msg_ttl": _ttl_stays_on,
}
CONSUMER_CHANGES: Mapping[str, Maker] = {
    "durable_name": _left_to_the_planner,
    "priority_policy": _set_for_good,
    "priority_groups": _set_for_good,
    "deliver_subject": _pull_or_push,
}
