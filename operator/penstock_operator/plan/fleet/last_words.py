"""What programs and Kubernetes said last, shortened to what helps, and to what stays the same from one try to the next.

Knows how each of them says it: lines of JSON, names of pods that change, one error told within another. Does not know
what follows.
"""

import json
import re
from collections.abc import Iterator

from penstock_operator.plan.workload.manifest import as_mapping

LONGEST = 600
"""Letters of one sentence of somebody else's."""
FORBIDDEN = re.compile(r'^pods? "[^"]*" is (?:forbidden|invalid): ')
PREEMPTION = re.compile(r"\s*(?:no new claims to deallocate,\s*)?preemption: .*$", re.DOTALL)
PULLING = re.compile(r'^Back-off pulling image "[^"]*": (?:Err\w+: )?')
POD = re.compile(r' \(pod: "[^"]*", container: [^)]*\)')


def last_error(log: str) -> str:
    """Return what a worker's log says last of what went wrong; else its last line; nothing if it says nothing."""
    told = "".join(_errors(log)[:1])
    if told:
        return shortened(told)
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return shortened(_message(lines[-1])) if lines else ""


def _errors(log: str) -> list[str]:
    return [message for line in reversed(log.splitlines()) for message in _error(line)]


def _error(line: str) -> Iterator[str]:
    said = _read(line)
    if said.get("level") in ("error", "critical") and said.get("message"):
        yield str(said["message"])


def _message(line: str) -> str:
    return str(_read(line).get("message") or line)


def _read(line: str) -> dict[str, object]:
    try:
        return dict(as_mapping(json.loads(line)))
    except (ValueError, RecursionError):
        return {}


def refusal(message: str) -> str:
    """Return why the API server makes no pod, without the name that the pod would have had."""
    return shortened(FORBIDDEN.sub("", message))


def schedulers(message: str) -> str:
    """Return why no node is found, without what the scheduler thinks of taking other pods away for it."""
    return shortened(PREEMPTION.sub("", message).rstrip(". "))


def pulling(message: str) -> str:
    """Return why an image is not pulled: the kubelet tells it in other words while it waits before it tries again."""
    told = PULLING.sub("", message)
    return shortened(": ".join(dict.fromkeys(told.split(": "))))


def kubelets(message: str) -> str:
    """Return why a container is not made, without the pod's name."""
    return shortened(POD.sub("", message))


def shortened(text: str) -> str:
    """Return it as one line that is not too long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def ended(text: str) -> str:
    """Return it with a full stop, as the last of a sentence."""
    return text if not text or text[-1] in ".!?…" else f"{text}."
