"""Can what the operator watches be listed? A real call, and its outcome as a sentence.

Knows what the API server's answers mean for a person who runs the operator. Asks for one object only: whether it may be
listed is the question. Does not know how often it is asked, nor what follows.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
from kubernetes.aio.client import ApiClient, ApiException, CustomObjectsApi

from penstock_operator.constants import GROUP, VERSION
from penstock_operator.resources import Kind


class ListingError(Exception):
    """What is watched cannot be listed; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One object that was listed, as it was then."""

    uid: str
    resource_version: str
    name: str


async def list_first(
    client: ApiClient, kind: Kind, namespaces: Sequence[str], deadline_seconds: float
) -> Listed | None:
    """List the kind in the namespaces, or in all, and return the first object found, if there is any."""
    try:
        async with asyncio.timeout(deadline_seconds):
            found = [await _first(client, kind, namespace) for namespace in namespaces or (None,)]
    except TimeoutError:
        raise ListingError(f"The API server did not answer within {deadline_seconds:g} s.") from None
    except aiohttp.ClientError as problem:
        raise ListingError(f"The API server cannot be reached: {problem}") from problem
    except ApiException as refusal:
        raise ListingError(_sentence(refusal, kind)) from refusal
    return next((listed for listed in found if listed), None)


async def _first(client: ApiClient, kind: Kind, namespace: str | None) -> Listed | None:
    api = CustomObjectsApi(client)
    answer: Any
    if namespace is None:
        answer = await api.list_cluster_custom_object(GROUP, VERSION, kind.plural, limit=1)
    else:
        answer = await api.list_namespaced_custom_object(GROUP, VERSION, namespace, kind.plural, limit=1)
    for found in answer["items"]:
        metadata = found["metadata"]
        name = f"{kind.name} {metadata['namespace']}/{metadata['name']}"
        return Listed(metadata["uid"], metadata["resourceVersion"], name)
    return None


def _sentence(refusal: ApiException, kind: Kind) -> str:
    match refusal.status:
        case 401:
            return "The API server does not accept the operator's credentials."
        case 403:
            return f"The operator may not list {kind.resource}: give its service account the verbs get, list and watch."
        case 404:
            return (
                f"The API server does not know {kind.resource}: install the CRDs (penstock crds | kubectl apply -f -)."
            )
        case _:
            return f"The API server answered {refusal.status} {refusal.reason} to a list of {kind.resource}."
