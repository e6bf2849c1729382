"""What the containers of workers' pods say, line by line with the time at which the kubelet heard it.

Knows pods' statuses, and the API of their logs. Does not know what a line says, nor in which order it is shown.
"""

import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import aiohttp
from kubernetes.aio.client import ApiClient

from penstock_operator.plan.workload.naming import GROUP_LABEL, label_of
from penstock_operator.storage import paths
from penstock_operator.storage.api import FIRST_REFUSAL, ask
from penstock_operator.storage.errors import NoAnswerError, RefusedError

PROCESSES = ("engine", "driver")
"""The containers of a worker, by their names."""
STATUSES = ("initContainerStatuses", "containerStatuses")
"""Where a pod tells of them: an engine is a sidecar."""
CONNECT_SECONDS = 10.0

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Instance:
    """One run of a container: the next one after it ended is another."""

    uid: str
    namespace: str
    pod: str
    group: str
    """As the pod's label has it."""
    process: str
    restarts: int
    is_running: bool
    has_run: bool
    waits_for: str = ""
    """Why it has not started."""


async def instances(client: ApiClient, namespace: str | None, group: str | None) -> list[Instance]:
    """Return the containers of all workers, or of a group's, as they are now."""
    selector = GROUP_LABEL if group is None else f"{GROUP_LABEL}={label_of(group)}"
    found = await ask(client, "GET", paths.of_pods(namespace), query=[("labelSelector", selector)])
    return [each for pod in found["items"] for each in _instances(pod)]


def _instances(pod: Json) -> Iterator[Instance]:
    metadata, status = pod["metadata"], pod.get("status") or {}
    told = {each["name"]: each for key in STATUSES for each in status.get(key) or ()}
    for process in PROCESSES:
        container = told.get(process)
        if container is None:
            continue
        state = container.get("state") or {}
        waiting = state.get("waiting") or {}
        yield Instance(
            uid=metadata["uid"],
            namespace=metadata["namespace"],
            pod=metadata["name"],
            group=metadata["labels"][GROUP_LABEL],
            process=process,
            restarts=container.get("restartCount", 0),
            is_running="running" in state,
            has_run="running" in state or "terminated" in state or "terminated" in (container.get("lastState") or {}),
            waits_for=": ".join(filter(None, (waiting.get("reason"), waiting.get("message")))),
        )


async def lines(
    client: ApiClient,
    of: Instance,
    *,
    tail: int | None = None,
    since: datetime | None = None,
    follows: bool = False,
    is_previous: bool = False,
) -> AsyncGenerator[tuple[datetime, str], None]:
    """Go through what it says: the last lines, or those after a time; with `follows`, on until it ends."""
    query = [("container", of.process), ("timestamps", "true")]
    query += [("tailLines", str(tail))] if tail is not None else []
    query += [("sinceTime", f"{since:%Y-%m-%dT%H:%M:%SZ}")] if since is not None else []
    query += [("follow", "true")] if follows else []
    query += [("previous", "true")] if is_previous else []
    async with aclosing(_stream(client, f"{paths.of_pod(of.namespace, of.pod)}/log", query)) as pieces:
        part = b""
        async for piece in pieces:
            *whole, part = (part + piece).split(b"\n")
            for line in whole:
                yield _timed(line)
        if part:
            yield _timed(part)


async def _stream(client: ApiClient, path: str, query: list[tuple[str, str]]) -> AsyncGenerator[bytes, None]:
    request = await client.param_serialize(
        "GET", path, header_params={}, query_params=query, auth_settings=["BearerToken"]
    )
    limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS)
    try:
        answer = await client.call_api(*request, _request_timeout=limits)
        try:
            if answer.status >= FIRST_REFUSAL:
                raise RefusedError(answer.status, _reason(await answer.response.text()))
            async for piece in answer.response.content.iter_any():
                yield piece
        finally:
            answer.response.close()
    except (TimeoutError, aiohttp.ClientError) as problem:
        raise NoAnswerError(f"The API server cannot be reached: {problem}") from problem


def _reason(text: str) -> str:
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        return text


def _timed(line: bytes) -> tuple[datetime, str]:
    time, _, said = line.decode(errors="replace").partition(" ")
    try:
        return datetime.fromisoformat(time), said
    except ValueError:  # what the kubelet says of itself, such as that there is no log any more
        return datetime.now(UTC), line.decode(errors="replace")
