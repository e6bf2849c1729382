"""What `penstock doctor` finds about QueueGroups of a cluster: whether pods can be made of them, and what surprises.

Knows what to ask the API server for, so that the operator's own decision can be taken beforehand (plan.workload). Does
not know how things stand with pods that there are: the groups' conditions say that.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import pairwise

from kubernetes.aio.client import ApiClient

from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.group_places import group_place
from penstock_operator.plan.surroundings import Waiting
from penstock_operator.plan.warnings import warnings_across
from penstock_operator.plan.workload import Code, Equipment, PodSecurity, workload
from penstock_operator.plan.workload.spark import needs_of
from penstock_operator.resources import QUEUE_GROUP, QueueGroupSpec
from penstock_operator.services.nats.examination import Finding, Verdict
from penstock_operator.storage import paths
from penstock_operator.storage.api import ask
from penstock_operator.storage.errors import RefusedError
from penstock_operator.storage.review import Account, Right, may

NOT_FOUND = 404
ANY_IMAGE = "any"
"""Which image it is does not matter to whether pods can be made."""
EXECUTORS = tuple(Right(verb, "", "pods") for verb in ("create", "get", "list", "watch", "delete"))
"""What a driver does whose executors are pods."""
LEVEL_OPTION = "--pod-security"

World = Mapping[Identity, Declared]


def groups_of(world: World, namespace: str | None) -> list[Declared]:
    """Return the groups of a namespace, or all."""
    return [
        each
        for identity, each in world.items()
        if identity.kind == QUEUE_GROUP.name and namespace in (None, identity.namespace)
    ]


async def examine_group(
    client: ApiClient, group: Declared, world: World, arguments: Sequence[str]
) -> AsyncIterator[Finding]:
    """Look at one group; the arguments are the operator's."""
    spec = group.spec
    if not isinstance(spec, QueueGroupSpec):
        yield Finding("spec", Verdict.BAD, f"It cannot be understood: {group.fault}")
        return
    place = group_place(group.identity, spec, world)
    if isinstance(place, Waiting):
        yield Finding("consumer", Verdict.BAD, place.message)
        return
    yield Finding("consumer", Verdict.GOOD, f"Its messages are those of consumer {place.consumer} of {place.stream}.")
    for warning in warnings_across(world[place.consumer_identity], None, (), [group]):
        yield Finding("limits", Verdict.DOUBTFUL, warning)
    connection = world.get(place.connection)
    if connection is None:
        yield Finding("pods", Verdict.BAD, f"There is no {place.connection}.")
        return
    try:
        code = await _code(client, group.identity.namespace, spec)
    except RefusedError as refusal:
        yield Finding("pods", Verdict.DOUBTFUL, f"You may not look at its code: {refusal}")
        return
    made = workload(group, place, connection, code, Equipment(worker_image=ANY_IMAGE, pod_security=_level(arguments)))
    if isinstance(made, Waiting):
        yield Finding("pods", Verdict.BAD, made.message)
        return
    yield Finding("pods", Verdict.GOOD, "Pods can be made of it.")
    if needs_of(spec.spark).makes_pods:
        yield await _executors(client, group.identity.namespace, made.deployment["spec"]["template"]["spec"])


async def _code(client: ApiClient, namespace: str, spec: QueueGroupSpec) -> Code | None:
    reference = spec.handler.config_map_ref
    if reference is None:
        return None
    try:
        await ask(client, "GET", paths.of_config_map(namespace, reference.name))
    except RefusedError as refusal:
        if refusal.code == NOT_FOUND:
            return None
        raise
    return Code(reference.name, "")


def _level(arguments: Sequence[str]) -> PodSecurity:
    """Return what the operator was told, as --pod-security LEVEL or --pod-security=LEVEL."""
    words = [word for argument in arguments for word in argument.split("=", 1)]
    told = dict(pairwise(words)).get(LEVEL_OPTION, "")
    return PodSecurity(told) if told in set(PodSecurity) else PodSecurity.RESTRICTED


async def _executors(client: ApiClient, namespace: str, pod: Mapping[str, str]) -> Finding:
    name = pod.get("serviceAccountName") or pod["serviceAccount"]
    account = Account(namespace, name)
    try:
        missing = [right for right in EXECUTORS if not await may(client, account, right, namespace)]
    except RefusedError as refusal:
        return Finding("executors", Verdict.DOUBTFUL, f"You may not ask what {account} may do: {refusal}")
    if not missing:
        return Finding("executors", Verdict.GOOD, f"{account} may make pods in namespace {namespace}.")
    sentence = f"{account} may not do in namespace {namespace}: {', '.join(map(str, missing))}."
    return Finding("executors", Verdict.BAD, sentence, "Give the account a Role with these rights.")
