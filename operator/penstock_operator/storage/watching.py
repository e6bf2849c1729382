"""All objects of a kind as they are now, and each change as it comes: a list, then a watch, for ever.

Knows the protocol: versions, bookmarks, what to do when a watch ends, is too old, or the API server is away. Whoever
reads is told everything that is there after each list, so that nothing is kept that went while nobody watched. Does not
know what is watched, nor what for.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
from kubernetes.aio.client import ApiClient

from penstock_operator.storage.api import JSON, open_stream
from penstock_operator.storage.errors import HomeError, NoAnswerError, RefusedError
from penstock_operator.storage.pages import METADATA_ONLY, pages

WATCH_SECONDS = 290
"""After this long the API server ends a watch, and another goes on where it ended."""
AGAIN_SECONDS = 2.0
GONE = 410
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

Object = dict[str, Any]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Listed:
    """All there is at one moment."""

    objects: Sequence[Object]


@dataclass(frozen=True, slots=True)
class Changed:
    """One that is new, or other than it was."""

    object: Object


@dataclass(frozen=True, slots=True)
class Gone:
    """One that is no more, as it was last."""

    object: Object


@dataclass(frozen=True, slots=True)
class Failed:
    """It cannot be known at the moment, and why. What was known may be old."""

    sentence: str


Event = Listed | Changed | Gone | Failed


class _TooOldError(Exception):
    """The API server does not remember what came after the version that we know."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What is watched: the path of a collection, perhaps only what has certain labels, perhaps only its metadata."""

    path: str
    selector: str = ""
    only_metadata: bool = False

    def query(self, **more: str) -> list[tuple[str, str]]:
        chosen = [("labelSelector", self.selector)] if self.selector else []
        return [*chosen, *more.items()]


async def watch(client: ApiClient, watched: Watched) -> AsyncGenerator[Event, None]:
    """Tell what there is, and what changes, until cancelled."""
    while True:
        try:
            found, version = await _list(client, watched)
            yield Listed(found)
            async for event in _changes(client, watched, version):
                yield event
        except _TooOldError:
            continue
        except HomeError as problem:
            yield Failed(str(problem))
            await asyncio.sleep(AGAIN_SECONDS)


async def _list(client: ApiClient, watched: Watched) -> tuple[list[Object], str]:
    found: list[Object] = []
    version, accept = "", METADATA_ONLY if watched.only_metadata else JSON
    async for page in pages(client, watched.path, accept=accept, query=watched.query()):
        found += page["items"] or ()  # some kinds have null for nothing
        version = page["metadata"]["resourceVersion"]
    return found, version


async def _changes(client: ApiClient, watched: Watched, version: str) -> AsyncIterator[Event]:
    """Tell of changes since a version: one watch after the other, as each ends after a while."""
    while True:
        async for kind, told in _watch_once(client, watched, version):
            version = told["metadata"]["resourceVersion"]
            match kind:
                case "ADDED" | "MODIFIED":
                    yield Changed(told)
                case "DELETED":
                    yield Gone(told)
                case _:  # a bookmark: nothing but the version is new
                    pass


async def _watch_once(client: ApiClient, watched: Watched, version: str) -> AsyncIterator[tuple[str, Object]]:
    query = watched.query(
        watch="true", resourceVersion=version, allowWatchBookmarks="true", timeoutSeconds=str(WATCH_SECONDS)
    )
    accept = METADATA if watched.only_metadata else JSON
    try:
        async with open_stream(client, watched.path, query=query, accept=accept, seconds=WATCH_SECONDS) as lines:
            async for line in lines:
                yield _event(json.loads(line))
    except RefusedError as refusal:
        if refusal.code == GONE:
            raise _TooOldError from refusal
        raise
    except (TimeoutError, aiohttp.ClientError, ValueError) as problem:
        raise NoAnswerError(
            f"A watch of {watched.path} has broken off: {str(problem) or type(problem).__name__}"
        ) from problem


def _event(told: Mapping[str, Any]) -> tuple[str, Object]:
    if told["type"] == "ERROR":
        status = told["object"]
        if status.get("code") == GONE:
            raise _TooOldError
        raise RefusedError(int(status.get("code") or 0), f"The API server ended a watch: {status.get('message', '')}")
    return str(told["type"]), told["object"]
