"""What goes together in a stream, and what does not.

Knows the rules of the server that concern several fields, and a few that it does not hold but should. Does not know the
fields themselves (stream_fields.py).
"""

from collections.abc import Iterator

from penstock_jetstream.config.facts import Facts
from penstock_jetstream.config.problem import Problem, warning
from penstock_jetstream.config.shared_rules import judge_metadata, judge_name
from penstock_jetstream.config.source_rules import judge_mirror, judge_sources
from penstock_jetstream.config.subjects import EVERYTHING, is_subject, is_within, overlap, overlapping_pair
from penstock_jetstream.config.table import Rule
from penstock_jetstream.config.transform_rules import judge_transform
from penstock_jetstream.config.typed import StreamConfig
from penstock_jetstream.config.values import shown_duration

_SYSTEM_SUBJECTS = (
    ("$JS.>", "$JS.EVENT.>"),
    ("$JSC.>", "$JS.EVENT.>"),
    ("$NRG.>", "$JS.EVENT.>"),
    ("$SYS.>", "$SYS.ACCOUNT.>"),
)
"""What servers talk about, and the part of it that a stream may take nevertheless."""

_NOT_IN_MIRRORS = {
    "subjects": "A mirror takes what its origin has, and nothing else.",
    "sources": "A mirror has one origin.",
    "first_seq": "A mirror has the sequences of its origin.",
    "allow_msg_counter": "A mirror copies what its origin counts.",
    "allow_atomic": "Nothing is published to a mirror.",
    "allow_batched": "Nothing is published to a mirror.",
    "allow_msg_schedules": "A mirror copies what its origin publishes.",
    "subject_delete_marker_ttl": "Markers would take sequences that the origin gives to others.",
}


def _identity(config: StreamConfig, _: Facts) -> Iterator[Problem]:
    yield from judge_name("name", config.get("name") or "")
    yield from judge_metadata(config.get("metadata") or {})


def _subjects(config: StreamConfig, _: Facts) -> Iterator[Problem]:
    subjects = config.get("subjects") or []
    for index, subject in enumerate(subjects):
        path = f"subjects[{index}]"
        if not is_subject(subject):
            yield Problem(path, f"{subject!r} is no subject.", "Use tokens with dots between them, `*` and a last `>`.")
        elif not config.get("no_ack"):
            yield from _needs_no_ack(path, subject)
    pair = overlapping_pair([subject for subject in subjects if is_subject(subject)])
    if pair:
        yield Problem("subjects", f"{pair[0]!r} and {pair[1]!r} overlap.", "A message must match one of them at most.")
    if EVERYTHING in subjects and (config.get("num_replicas") or 1) > 1:
        yield Problem("num_replicas", "A stream of all subjects has one replica.", "Set it to 1, or name the subjects.")


def _needs_no_ack(path: str, subject: str) -> Iterator[Problem]:
    if subject == EVERYTHING:
        yield Problem(path, "A stream of all subjects would store its own acknowledgements.", "Set no_ack.")
        return
    for taken, allowed in _SYSTEM_SUBJECTS:
        if overlap(subject, taken) and not is_within(subject, allowed):
            yield Problem(path, f"It takes what servers talk about ({taken}).", "Choose other subjects, or set no_ack.")


def _ages(config: StreamConfig, facts: Facts) -> Iterator[Problem]:
    window, max_age = config.get("duplicate_window") or 0, config.get("max_age") or 0
    if max_age and window > max_age:
        yield Problem(
            "duplicate_window",
            f"It is longer than max_age ({shown_duration(max_age)}): ids would outlive their messages.",
            "Make it max_age at most; absent does that by itself.",
        )
    if facts.duplicate_window and window > facts.duplicate_window:
        yield Problem("duplicate_window", f"The server allows {shown_duration(facts.duplicate_window)} at most.")


def _discard(config: StreamConfig, _: Facts) -> Iterator[Problem]:
    if not config.get("discard_new_per_subject"):
        return
    if config.get("discard") != "new":
        yield Problem("discard_new_per_subject", "It needs discard new.", "Set discard to new.")
    if (config.get("max_msgs_per_subject") or 0) <= 0:
        yield Problem("discard_new_per_subject", "It needs max_msgs_per_subject.", "Set it to 1 or more.")


def _purging(config: StreamConfig, _: Facts) -> Iterator[Problem]:
    if not config.get("deny_purge"):
        return
    needing = ("allow_rollup_hdrs", "subject_delete_marker_ttl", "allow_msg_schedules")
    for name in [name for name in needing if config.get(name)]:
        yield Problem(name, "A rollup purges, which deny_purge excludes.", "Choose one of them.")


def _time_to_live(config: StreamConfig, _: Facts) -> Iterator[Problem]:
    if config.get("subject_delete_marker_ttl") and config.get("allow_msg_ttl") is False:
        yield Problem("allow_msg_ttl", "subject_delete_marker_ttl switches it on.", "Leave it out, or set it.")
    forcing = [name for name in ("subject_delete_marker_ttl", "allow_msg_schedules") if config.get(name)]
    if forcing and config.get("allow_rollup_hdrs") is False:
        yield Problem("allow_rollup_hdrs", f"{forcing[0]} switches it on.", "Leave it out, or set it.")


def _counters(config: StreamConfig, _: Facts) -> Iterator[Problem]:
    if not config.get("allow_msg_counter"):
        return
    wrong = {
        "discard": config.get("discard") == "new",
        "allow_msg_ttl": bool(config.get("allow_msg_ttl") or config.get("subject_delete_marker_ttl")),
        "allow_msg_schedules": bool(config.get("allow_msg_schedules")),
        "retention": config.get("retention") not in (None, "limits"),
    }
    for name in [name for name, excluded in wrong.items() if excluded]:
        yield Problem(name, "A stream of counters excludes it.", "Leave it out, or leave allow_msg_counter out.")


def _schedules(config: StreamConfig, _: Facts) -> Iterator[Problem]:
    if not config.get("allow_msg_schedules"):
        return
    if config.get("discard") == "new":
        yield Problem("discard", "Schedules exclude discard new.", "Set discard to old.")
    if config.get("sources"):
        yield Problem("sources", "A stream with schedules has no sources.", "Let another stream have the sources.")


def _persistence(config: StreamConfig, _: Facts) -> Iterator[Problem]:
    if config.get("persist_mode") != "async":
        return
    if config.get("storage") == "memory":
        yield Problem("persist_mode", "It is about files.", "Leave it out: storage is memory.")
    if (config.get("num_replicas") or 1) > 1:
        yield Problem("persist_mode", "A stream with replicas is written at once.", "Set num_replicas to 1.")
    if config.get("allow_atomic"):
        yield Problem("allow_atomic", "Atomic batches need persist_mode default.", "Choose one of them.")


def _mirror(config: StreamConfig, facts: Facts) -> Iterator[Problem]:
    mirror = config.get("mirror")
    if mirror is None:
        if config.get("mirror_direct") and not facts.exists:
            yield Problem("mirror_direct", "The stream is no mirror.", "Use allow_direct.")
        return
    yield from judge_mirror(mirror)
    for name, why in _NOT_IN_MIRRORS.items():
        if config.get(name):
            yield Problem(name, why, "Leave it out.")


def _sources(config: StreamConfig, _: Facts) -> Iterator[Problem]:
    yield from judge_sources(config.get("sources") or [])


def _transform(config: StreamConfig, _: Facts) -> Iterator[Problem]:
    transform = config.get("subject_transform")
    if transform:
        yield from judge_transform("subject_transform", transform)


def _republish(config: StreamConfig, _: Facts) -> Iterator[Problem]:
    republish = config.get("republish")
    if not republish:
        return
    source, destination = republish.get("src") or EVERYTHING, republish.get("dest") or ""
    if not destination:
        yield Problem("republish.dest", "It is missing.", "Give the subject to publish to.")
    elif not (source == destination == EVERYTHING and _transforms_all(config)):
        yield from judge_transform("republish", {"src": source, "dest": destination})
        taken = [subject for subject in _taken(config) if overlap(destination, subject)]
        if taken:
            yield Problem(
                "republish.dest", f"The stream itself takes {taken[0]!r}: that would never end.", "Change it."
            )


def _transforms_all(config: StreamConfig) -> bool:
    """Tell whether all that is stored is transformed: then the server republishes everything as what it became."""
    transform = config.get("subject_transform") or {}
    return _taken(config) == [transform.get("src")]


def _taken(config: StreamConfig) -> list[str]:
    copied = config.get("mirror") or config.get("sources")
    return config.get("subjects") or ([] if copied else [config.get("name", "")])


def _placement(config: StreamConfig, facts: Facts) -> Iterator[Problem]:
    replicas = config.get("num_replicas") or 1
    if replicas > 1 and facts.clustered is False:
        yield Problem("num_replicas", "One server alone keeps one replica.", "Set it to 1, or use a cluster.")
    if replicas % 2 == 0:
        yield warning(
            "num_replicas", f"{replicas} replicas survive no more failures than {replicas - 1}.", "Use 1, 3 or 5."
        )
    if config.get("storage") == "memory" and replicas == 1:
        yield warning("storage", "All messages are gone when the server stops.", "Choose storage=file, or 3 replicas.")


def _creation(config: StreamConfig, facts: Facts) -> Iterator[Problem]:
    if config.get("sealed") and facts.exists is False:
        yield Problem("sealed", "No stream is created sealed.", "Create it, fill it, then update it.")
    if facts.max_bytes_required and (config.get("max_bytes") or -1) <= 0:
        yield Problem("max_bytes", "The account requires a bound of every stream.", "Set it.")


STREAM_RULES: tuple[Rule, ...] = (
    _identity,
    _subjects,
    _ages,
    _discard,
    _purging,
    _time_to_live,
    _counters,
    _schedules,
    _persistence,
    _mirror,
    _sources,
    _transform,
    _republish,
    _placement,
    _creation,
)
