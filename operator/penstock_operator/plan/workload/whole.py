"""All that the API server is to have for one group, or why there can be nothing.

Knows the order of questions. Each part has a module of its own.
"""

from dataclasses import dataclass

from penstock_operator.plan.declared import Declared
from penstock_operator.plan.group_places import GroupPlace
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Waiting
from penstock_operator.plan.worker_settings import as_workers_reach_it, secret_keys
from penstock_operator.plan.workload import naming
from penstock_operator.plan.workload.budget import disruption_budget
from penstock_operator.plan.workload.deployment import deployment
from penstock_operator.plan.workload.equipment import Code, Equipment
from penstock_operator.plan.workload.manifest import Manifest, print_of
from penstock_operator.plan.workload.network import network_policy
from penstock_operator.plan.workload.pod import Ingredients, pod_template
from penstock_operator.plan.workload.spark import needs_of
from penstock_operator.resources import ConnectionSpec, QueueGroupSpec

SERVICE_ACCOUNT_FIELDS = ("serviceAccountName", "serviceAccount")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What is to be applied."""

    deployment: Manifest
    others: tuple[Manifest, ...]
    print: str
    """Of the pod template: equal exactly as long as workers need not be started anew. Pods have it as a label."""
    selector: str
    """Chooses the group's pods, as a label selector is written."""


def workload(
    declared: Declared, place: GroupPlace, connection: Declared, code: Code | None, equipment: Equipment
) -> Workload | Waiting:
    """Return what is to be applied for a group, or what is in the way."""
    spec = declared.spec
    if not isinstance(spec, QueueGroupSpec):
        return Waiting(Reason.INVALID, declared.fault)
    if not isinstance(connection.spec, ConnectionSpec):
        return Waiting(
            Reason.CONNECTION_NOT_READY, f"The spec of {connection.identity} cannot be understood: {connection.fault}"
        )
    if obstacle := _obstacle(declared, spec, connection, connection.spec, code):
        return obstacle
    template = pod_template(
        Ingredients(
            group=declared.identity,
            spec=spec,
            connection=as_workers_reach_it(connection.spec, spec),
            place=place,
            code=code,
            equipment=equipment,
            restart=declared.annotations.get(naming.RESTART_ANNOTATION),
        )
    )
    if isinstance(template, Waiting):
        return template
    others = (disruption_budget(declared), network_policy(declared, spec, connection.spec))
    return Workload(
        deployment=_marked(deployment(declared, template)),
        others=tuple(_marked(other) for other in others),
        print=template["metadata"]["labels"][naming.REVISION_LABEL],
        selector=",".join(f"{name}={value}" for name, value in naming.selector_of(declared.identity).items()),
    )


def _obstacle(
    declared: Declared, spec: QueueGroupSpec, connection: Declared, reached: ConnectionSpec, code: Code | None
) -> Waiting | None:
    namespace = declared.identity.namespace
    own = reached.model_copy(update={"auth": None}) if spec.auth else reached
    if connection.identity.namespace != namespace and secret_keys(own):
        return Waiting(
            Reason.SECRET_ELSEWHERE,
            f"{connection.identity} names Secrets of its own namespace, and pods in {namespace} cannot have those: "
            "name the workers' own user in spec.auth, or use a Connection with Secrets in their namespace.",
        )
    reference = spec.handler.config_map_ref
    if reference is not None and (code is None or code.config_map != reference.name):
        return Waiting(
            Reason.CODE_NOT_FOUND,
            f"spec.handler.configMapRef: There is no ConfigMap {namespace}/{reference.name}. Create it, with one key "
            "for each file of the code: "
            f"kubectl create configmap {reference.name} --namespace {namespace} --from-file=FOLDER.",
        )
    if needs_of(spec.spark).makes_pods and not _names_account(spec):
        return Waiting(
            Reason.INVALID,
            f"spec.spark.master: {spec.spark.master} has executors as pods: name a service account that may make pods, "
            "in spec.template.spec.serviceAccountName.",
        )
    return None


def _names_account(spec: QueueGroupSpec) -> bool:
    extra = (spec.template.spec.model_extra if spec.template.spec else None) or {}
    return any(extra.get(field) for field in SERVICE_ACCOUNT_FIELDS)


def _marked(manifest: Manifest) -> Manifest:
    """Have a manifest say what it was when it was applied."""
    metadata = manifest["metadata"]
    marks = {naming.APPLIED_ANNOTATION: print_of(manifest)}
    return {**manifest, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **marks}}}
