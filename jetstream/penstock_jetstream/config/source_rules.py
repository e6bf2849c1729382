"""What a mirror or a source may be (X-06).

Knows the rules of one source, and of several beside each other. Does not know the rest of the stream.
"""

from collections.abc import Callable, Iterator, Sequence

from penstock_jetstream.config.problem import Problem
from penstock_jetstream.config.shared_rules import judge_name
from penstock_jetstream.config.subjects import EVERYTHING, is_literal, is_subject, nested_pair, overlapping_pair
from penstock_jetstream.config.transform_rules import judge_transform
from penstock_jetstream.config.typed import External, StreamSource, SubjectTransform

_API = "$JS.API"


PairOf = Callable[[Sequence[str]], tuple[str, str] | None]


def judge_mirror(mirror: StreamSource) -> Iterator[Problem]:
    """Judge the one origin of a mirror, whose transforms may not even touch."""
    yield from _judge_source("mirror", mirror, overlapping_pair)


def _judge_source(path: str, source: StreamSource, clash: PairOf) -> Iterator[Problem]:
    yield from judge_name(f"{path}.name", source.get("name") or "")
    yield from _judge_filters(path, source, clash)
    yield from _judge_consumer(path, source)
    if source.get("opt_start_seq") and source.get("opt_start_time"):
        yield Problem(path, "It starts at a sequence and at a time.", "Give opt_start_seq or opt_start_time, not both.")
    external = source.get("external")
    if external:
        yield from _judge_external(f"{path}.external", external)


def judge_sources(sources: Sequence[StreamSource]) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    for index, source in enumerate(sources):
        yield from _judge_source(f"sources[{index}]", source, nested_pair)
        first = seen.setdefault(_identity(source), index)
        if first != index:
            yield Problem(
                f"sources[{index}]", f"It is sources[{first}] again.", "Name each once, or filter differently."
            )


def _identity(source: StreamSource) -> str:
    transforms = [(each.get("src"), each.get("dest")) for each in source.get("subject_transforms") or ()]
    external = source.get("external") or {}
    return repr((source.get("name"), source.get("filter_subject") or None, transforms, external.get("api")))


def _judge_filters(path: str, source: StreamSource, clash: PairOf) -> Iterator[Problem]:
    subject, transforms = source.get("filter_subject"), source.get("subject_transforms") or []
    if subject and not is_subject(subject):
        yield Problem(f"{path}.filter_subject", f"{subject!r} is no subject.")
    if subject and transforms:
        yield Problem(
            f"{path}.filter_subject",
            "It stands beside subject_transforms, which filter as well.",
            "Give one or the other; src of a transform is its filter.",
        )
    for index, transform in enumerate(transforms):
        yield from _judge_transform(f"{path}.subject_transforms[{index}]", transform)
    pair = clash([transform.get("src") or ">" for transform in transforms])
    if pair:
        yield Problem(f"{path}.subject_transforms", f"{pair[0]!r} and {pair[1]!r} overlap.", "Let each match others.")


def _judge_transform(path: str, transform: SubjectTransform) -> Iterator[Problem]:
    """Judge one that may have no destination: then it only filters, which is how a source has several filters."""
    filtered = transform.get("src") or EVERYTHING
    if transform.get("dest"):
        yield from judge_transform(path, transform)
    elif not is_subject(filtered):
        yield Problem(f"{path}.src", f"{filtered!r} is no subject.", "Use tokens with dots between them.")


def _judge_consumer(path: str, source: StreamSource) -> Iterator[Problem]:
    consumer = source.get("consumer")
    if consumer is None:
        return
    yield from judge_name(f"{path}.consumer.name", consumer.get("name") or "")
    if not is_literal(consumer.get("deliver_subject") or ""):
        yield Problem(f"{path}.consumer.deliver_subject", "It is no subject without wildcards.")
    beside = [name for name in ("opt_start_seq", "opt_start_time", "filter_subject") if source.get(name)]
    if beside:
        yield Problem(
            f"{path}.consumer", f"It stands beside {' and '.join(beside)}.", "The consumer itself says where to start."
        )


def _judge_external(path: str, external: External) -> Iterator[Problem]:
    api, deliver = external.get("api") or "", external.get("deliver") or ""
    for name, prefix in (("api", api), ("deliver", deliver)):
        if prefix and not is_literal(prefix):
            yield Problem(f"{path}.{name}", f"{prefix!r} is no subject without wildcards.")
    if api == _API:
        yield Problem(f"{path}.api", "It is this account's own API.", "Leave external out, or give another prefix.")
