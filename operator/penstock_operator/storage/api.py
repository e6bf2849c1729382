"""Requests to the Kubernetes API as it is: a method, a path, JSON in, JSON out; each within a deadline.

Knows HTTP codes, and the sentence that each means for a person who runs the operator. The generated classes would check
and copy each object several times on its way. Does not know what is asked, nor what follows from a refusal.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from kubernetes.aio.client import ApiClient

from penstock_operator.storage.errors import NoAnswerError, RefusedError

REQUEST_SECONDS = 10.0
"""The API server answers in milliseconds. One that has not after this long is away."""
JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
FIRST_REFUSAL = 300
NOT_FOUND = 404
SILENT_SECONDS = 30.0
"""What a stream may be late to end, after the time that it was asked for."""


async def ask(
    client: ApiClient,
    method: str,
    path: str,
    body: Mapping[str, Any] | Sequence[Any] | None = None,
    *,
    content_type: str = JSON,
    accept: str = JSON,
    query: Sequence[tuple[str, str]] = (),
) -> Any:  # noqa: ANN401 - JSON
    """Send a request and return what the API server answers."""
    headers = {"Accept": accept, "Content-Type": content_type}
    try:
        request = await client.param_serialize(
            method, path, header_params=headers, query_params=query, body=body, auth_settings=["BearerToken"]
        )
        answer = await client.call_api(*request, _request_timeout=REQUEST_SECONDS)
        text: bytes = await answer.read()  # type: ignore[no-untyped-call]
    except TimeoutError:
        raise NoAnswerError(f"The API server did not answer within {REQUEST_SECONDS:g} s.") from None
    except aiohttp.ClientError as problem:
        raise NoAnswerError(f"The API server cannot be reached: {problem}") from problem
    if answer.status >= FIRST_REFUSAL:
        raise _refusal(answer.status, f"{method} {path}", text)
    return json.loads(text)


async def find(client: ApiClient, path: str) -> Any:  # noqa: ANN401 - JSON
    """Return the object at a path; None if there is none."""
    try:
        return await ask(client, "GET", path)
    except RefusedError as refusal:
        if refusal.code == NOT_FOUND:
            return None
        raise


@asynccontextmanager
async def open_stream(
    client: ApiClient, path: str, *, query: Sequence[tuple[str, str]], accept: str, seconds: float
) -> AsyncIterator[AsyncIterator[bytes]]:
    """Open an answer that goes on for as long as the block runs, and hand out its lines."""
    request = await client.param_serialize(
        "GET", path, header_params={"Accept": accept}, query_params=query, auth_settings=["BearerToken"]
    )
    limits = aiohttp.ClientTimeout(total=None, sock_connect=REQUEST_SECONDS, sock_read=seconds + SILENT_SECONDS)
    answer = await client.call_api(*request, _request_timeout=limits)
    try:
        if answer.status >= FIRST_REFUSAL:
            text: bytes = await answer.read()  # type: ignore[no-untyped-call]
            raise _refusal(answer.status, f"GET {path}", text)
        yield answer.response.content
    finally:
        answer.response.close()


def _refusal(code: int, request: str, text: bytes) -> RefusedError:
    try:
        said = json.loads(text)
    except ValueError:  # whoever answers instead of an API server speaks something else
        said = {}
    causes = [str(cause.get("message")) for cause in said.get("details", {}).get("causes", ())]
    return RefusedError(code, _sentence(code, request, said.get("message", "")), causes)


def _sentence(code: int, request: str, message: str) -> str:
    match code:
        case 401:
            return "The API server does not accept the credentials that it was shown."
        case 403:
            return f"The API server does not allow {request}, as no role has the verb: {message}"
        case _:
            return f"The API server answered {code} to {request}: {message}"
