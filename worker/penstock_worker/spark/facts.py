"""What an error tells of itself: class, condition, SQLSTATE, status, text, and the line of the code that it came from.

Knows the errors of pyspark, py4j and gRPC, in which the telling part may lie several causes deep in the JVM. Does not
know what follows from them (policy/classification.py).
"""

import re
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException

from penstock_worker.spark.versions import BROKEN_CALL, is_of_spark, java_throwable

DEEPEST = 8
"""How many causes are looked at: each costs calls to the JVM."""
NETWORK = ("java.net.", "java.nio.channels.", "java.util.concurrent.TimeoutException")
"""What the names of Java's errors begin with that tell of a connection."""
NO_ANSWER: tuple[type[Exception], ...] = (*BROKEN_CALL, AssertionError, AttributeError, TypeError)
"""What asking an error may end with: it does not know the question, or its JVM is gone, as pyspark asserts in vain."""
PLAN = ";\n"
"""Before the whole logical plan, with which the text of an analysis error ends."""
LONGEST_TEXT = 8192
"""Of a text or trace: a plan in an error may be megabytes."""


@dataclass(frozen=True, slots=True)
class ErrorFacts:
    """An error, taken apart."""

    type: str
    """The name of its class."""
    classes: tuple[str, ...]
    """Its class and that class's ancestors, then those of the JVM's errors behind it, all by full name."""
    text: str
    line: str = ""
    """The first line of the text."""
    is_of_spark: bool = False
    cause: str | None = None
    """The class of the JVM's innermost error."""
    condition: str | None = None
    sqlstate: str | None = None
    status: str | None = None
    """The name of gRPC's status, of an error that a Connect server answered with."""
    raised: tuple[str, ...] = ()
    """What a Python function of Spark's raised, and what that was raised from: classes, or pyspark's own conditions."""
    trace: str = ""
    place: str | None = None
    """The line of the user's code, as FILE:LINE."""


def facts_of(error: BaseException, code: Sequence[Path] = ()) -> ErrorFacts:
    """Take an error apart. `code` are the folders of the user's code."""
    telling = _telling(error)
    java = list(_java_causes(telling))
    condition, sqlstate = _innermost([_signs(telling), *(signs for _, signs in java)])
    text = _text(telling)
    return ErrorFacts(
        type=type(telling).__name__,
        classes=(*(_full_name(kind) for kind in type(telling).__mro__), *(name for name, _ in java)),
        text=_cut(text),
        line=_cut(first_line(telling)),
        is_of_spark=is_of_spark(telling),
        cause=java[-1][0] if java else None,
        condition=condition,
        sqlstate=sqlstate,
        status=_status(telling),
        raised=tuple(raised_in(text)),
        trace=_cut(_trace(error)),
        place=_place_in_plan(telling, code) or _place(error, code),
    )


def first_line(error: BaseException) -> str:
    """Return what an error says, for a sentence."""
    return next((line.strip() for line in _text(error).splitlines() if line.strip()), type(error).__name__)


def root_line(error: BaseException) -> str:
    """Return what the deepest cause of an error says, for a sentence: those around it tell of py4j and reflection."""
    said = first_line(error)
    try:
        cause = java_throwable(error)
        for _ in range(DEEPEST):
            if cause is None:
                break
            said = next(iter(str(cause.getMessage() or "").splitlines()), "") or said
            cause = cause.getCause()
    except BROKEN_CALL:  # the JVM is gone: what is known has to do
        pass
    return said


TRACEBACK = "Traceback (most recent call last):"
EXCEPTION = re.compile(r"([A-Za-z_][\w.]*)(?:: \[([A-Z_.]+)\])?")
OF_PYSPARK = "pyspark.errors."


def raised_in(text: str) -> Iterator[str]:
    """Yield which exceptions a text has the tracebacks of, each by its class, or by its condition if it is pyspark's.

    Frames are indented, and the first line that is not has the exception. So the first that is told is certainly true,
    whatever the message says that follows.
    """
    is_inside = False
    for line in text.splitlines():
        if line.endswith(TRACEBACK):
            is_inside = True
        elif is_inside and not line.startswith(" "):
            is_inside = False
            found = EXCEPTION.match(line)
            if found is not None:
                name, condition = found.groups()
                yield condition if condition and name.startswith(OF_PYSPARK) else name.rpartition(".")[2]


def is_of_network(error: BaseException) -> bool:
    """Tell whether somebody could not be reached from the JVM, which may be otherwise later."""
    return any(name.startswith(NETWORK) for name, _ in _java_causes(error))


def _telling(error: BaseException) -> BaseException:
    """Return the error of Spark that the user's code wrapped in one of its own (`raise … from error`), if it did."""
    cause: BaseException | None = error
    while cause is not None:
        if is_of_spark(cause):
            return cause
        cause = cause.__cause__
    return error


INSTALLED = ("site-packages", "dist-packages")
"""Where libraries are; a project may have its environment inside."""

Signs = tuple[str | None, str | None]
"""Condition and SQLSTATE."""


def _java_causes(error: BaseException) -> Iterator[tuple[str, Signs]]:
    """Ask the JVM for an error and its causes, as far as it still answers."""
    try:
        cause = java_throwable(error)
        for _ in range(DEEPEST):
            if cause is None:
                return
            yield str(cause.getClass().getName()), _signs(cause)
            cause = cause.getCause()
    except BROKEN_CALL:  # the JVM is gone: what is known has been told
        return


def _signs(error: Any) -> Signs:  # noqa: ANN401 - an error of Python or of the JVM
    return _asked(error, "getCondition"), _asked(error, "getSqlState")


def _status(error: BaseException) -> str | None:
    try:
        name: str = error.getGrpcStatusCode().name  # type: ignore[attr-defined]  # pyspark's errors of Connect have it
    except NO_ANSWER:
        return None
    return name


def _asked(error: Any, question: str) -> str | None:  # noqa: ANN401 - see above
    """Ask an error that may not know the question, or whose JVM is gone."""
    try:
        answer = getattr(error, question)()
    except NO_ANSWER:
        return None
    return str(answer) if answer else None


def _innermost(signs: Sequence[Signs]) -> Signs:
    """Return those of the deepest cause that has any: around it stand the stage, the job and the write that failed."""
    return next((pair for pair in reversed(signs) if any(pair)), (None, None))


def _text(error: BaseException) -> str:
    """Return what it says; pyspark asks the JVM for that, which may be gone."""
    try:
        details = getattr(error, "details", None)  # of gRPC, whose own text is a page
        text = str(details() if callable(details) else error).strip()
    except NO_ANSWER:
        return str(getattr(error, "_desc", "") or type(error).__name__)
    return text.partition(PLAN)[0] if isinstance(error, AnalysisException) else text


def _trace(error: BaseException) -> str:
    frames = "".join(traceback.format_list(traceback.extract_tb(error.__traceback__)))
    return f"Traceback (most recent call last):\n{frames}{type(error).__name__}: {_text(error)}"


def _place(error: BaseException, code: Sequence[Path]) -> str | None:
    """Return the innermost line of the user's own code."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if is_in(Path(frame.filename), code):
            return f"{frame.filename}:{frame.lineno}"
    return None


def _place_in_plan(error: BaseException, code: Sequence[Path]) -> str | None:
    """Return the line of the user's code that Spark names: where a column was made, and not where it was first used."""
    try:
        contexts = error.getQueryContext()  # type: ignore[attr-defined]  # pyspark's errors have it
        places = [context.callSite() for context in contexts if context.contextType().name == "DataFrame"]
    except NO_ANSWER:
        return None
    return next((place for place in places if is_in(Path(place.rpartition(":")[0]), code)), None)


def is_in(file: Path, folders: Sequence[Path]) -> bool:
    """Tell whether a file is in one of the folders, and not of a library that is installed beneath it."""
    inner = [file.relative_to(folder).parts for folder in folders if file.is_relative_to(folder)]
    return any(not set(INSTALLED).intersection(parts) for parts in inner)


def _full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} … ({len(text)} letters)"
