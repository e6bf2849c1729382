"""How far a pod goes beyond Kubernetes' pod security standards, each step with the field that takes it.

Knows the standards *baseline* and *restricted* as Kubernetes 1.34 has them. The admission of an API server judges the
same pods in the tests, and both must agree. Who may write QueueGroups may not thereby have pods that may do more.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from penstock_operator.plan.workload.equipment import PodSecurity
from penstock_operator.plan.workload.manifest import as_mapping, as_mappings
from penstock_operator.plan.workload.merging import CONTAINER_LISTS

Spec = Mapping[str, Any]
Metadata = Mapping[str, Any]
Container = Mapping[str, Any]
Rule = Callable[[Spec], Iterator[str]]

HOST_NAMESPACES = ("hostNetwork", "hostPID", "hostIPC")
PROFILES = ("RuntimeDefault", "Localhost")
HANDLERS = ("livenessProbe", "readinessProbe", "startupProbe")
HOOKS = ("postStart", "preStop")
ADDABLE = frozenset(
    {
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    }
)
ADDABLE_RESTRICTED = frozenset({"NET_BIND_SERVICE"})
SELINUX_TYPES = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
SYSCTLS = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_wmem",
    }
)
VOLUMES = frozenset(
    {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)
APPARMOR_PREFIX = "container.apparmor.security.beta.kubernetes.io/"


def breaches(level: PodSecurity, metadata: Metadata, spec: Spec) -> list[str]:
    """Return a sentence for each field with which a pod would be beyond the standard."""
    if level is PodSecurity.PRIVILEGED:
        return []
    sentences = [sentence for rule in RULES[level] for sentence in rule(spec)]
    return sentences + list(_apparmor_annotations(metadata))


def _containers(spec: Spec) -> Iterator[tuple[str, Container]]:
    """Yield all containers, each with the words for where it stands."""
    for kind in CONTAINER_LISTS:
        for container in as_mappings(spec.get(kind)):
            yield f"{kind}[{container.get('name')}]", container


def _contexts(spec: Spec) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield all security contexts, the pod's first."""
    yield "securityContext", as_mapping(spec.get("securityContext"))
    for place, container in _containers(spec):
        yield f"{place}.securityContext", as_mapping(container.get("securityContext"))


def _is_windows(spec: Spec) -> bool:
    return as_mapping(spec.get("os")).get("name") == "windows"


# Baseline: nothing by which a pod gets at its node


def _host_namespaces(spec: Spec) -> Iterator[str]:
    for name in HOST_NAMESPACES:
        if spec.get(name):
            yield f"{name} must not be true."


def _host_process(spec: Spec) -> Iterator[str]:
    for place, context in _contexts(spec):
        if as_mapping(context.get("windowsOptions")).get("hostProcess"):
            yield f"{place}.windowsOptions.hostProcess must not be true."


def _privileged(spec: Spec) -> Iterator[str]:
    for place, container in _containers(spec):
        if as_mapping(container.get("securityContext")).get("privileged"):
            yield f"{place}.securityContext.privileged must not be true."


def _capabilities(spec: Spec) -> Iterator[str]:
    return _added_capabilities(spec, ADDABLE)


def _added_capabilities(spec: Spec, allowed: frozenset[str]) -> Iterator[str]:
    for place, container in _containers(spec):
        added = as_mapping(as_mapping(container.get("securityContext")).get("capabilities")).get("add") or ()
        if beyond := [str(name) for name in added if name not in allowed]:
            yield f"{place}.securityContext.capabilities.add must not have {', '.join(beyond)}."


def _host_paths(spec: Spec) -> Iterator[str]:
    for volume in as_mappings(spec.get("volumes")):
        if volume.get("hostPath") is not None:
            yield f"volumes[{volume.get('name')}] must not be of the type hostPath."


def _host_ports(spec: Spec) -> Iterator[str]:
    for place, container in _containers(spec):
        for port in as_mappings(container.get("ports")):
            if port.get("hostPort"):
                yield f"{place}.ports must not have hostPort {port['hostPort']}."


def _probed_hosts(spec: Spec) -> Iterator[str]:
    for place, container in _containers(spec):
        hooks = as_mapping(container.get("lifecycle"))
        asked = {name: container.get(name) for name in HANDLERS} | {
            f"lifecycle.{name}": hooks.get(name) for name in HOOKS
        }
        for name, handler in asked.items():
            for way in ("httpGet", "tcpSocket"):
                if host := as_mapping(as_mapping(handler).get(way)).get("host"):
                    yield f"{place}.{name}.{way} must not have a host, as {host}: it is the pod that is asked."


def _apparmor(spec: Spec) -> Iterator[str]:
    return _profiles(spec, "appArmorProfile")


def _apparmor_annotations(metadata: Metadata) -> Iterator[str]:
    for name, value in as_mapping(metadata.get("annotations")).items():
        is_fine = value in ("", "runtime/default") or str(value).startswith("localhost/")
        if name.startswith(APPARMOR_PREFIX) and not is_fine:
            yield f"The annotation {name} must not be {value}."


def _seccomp(spec: Spec) -> Iterator[str]:
    return _profiles(spec, "seccompProfile")


def _profiles(spec: Spec, field: str) -> Iterator[str]:
    for place, context in _contexts(spec):
        profile = context.get(field)
        if profile is not None and as_mapping(profile).get("type") not in PROFILES:
            yield f"{place}.{field}.type must be {' or '.join(PROFILES)}."


def _selinux(spec: Spec) -> Iterator[str]:
    for place, context in _contexts(spec):
        options = as_mapping(context.get("seLinuxOptions"))
        if (options.get("type") or "") not in SELINUX_TYPES:
            yield f"{place}.seLinuxOptions.type must not be {options['type']}."
        for name in ("user", "role"):
            if options.get(name):
                yield f"{place}.seLinuxOptions.{name} must not be set."


def _proc_mount(spec: Spec) -> Iterator[str]:
    for place, container in _containers(spec):
        mount = as_mapping(container.get("securityContext")).get("procMount")
        if mount not in (None, "Default"):
            yield f"{place}.securityContext.procMount must not be {mount}."


def _sysctls(spec: Spec) -> Iterator[str]:
    for sysctl in as_mappings(as_mapping(spec.get("securityContext")).get("sysctls")):
        if sysctl.get("name") not in SYSCTLS:
            yield f"securityContext.sysctls must not have {sysctl.get('name')}."


# Restricted: nothing that a program of good manners would need


def _volumes(spec: Spec) -> Iterator[str]:
    for volume in as_mappings(spec.get("volumes")):
        kinds = {name for name, value in volume.items() if name != "name" and value is not None}
        if kinds and not kinds & VOLUMES and "hostPath" not in kinds:
            yield f"volumes[{volume.get('name')}] must not be of the type {min(kinds)}."


def _escalation(spec: Spec) -> Iterator[str]:
    if _is_windows(spec):
        return
    for place, container in _containers(spec):
        if as_mapping(container.get("securityContext")).get("allowPrivilegeEscalation") is not False:
            yield f"{place}.securityContext.allowPrivilegeEscalation must be false."


def _not_root(spec: Spec) -> Iterator[str]:
    pods = as_mapping(spec.get("securityContext")).get("runAsNonRoot")
    if pods is False:
        yield "securityContext.runAsNonRoot must not be false."
    for place, container in _containers(spec):
        own = as_mapping(container.get("securityContext")).get("runAsNonRoot")
        if own is False or (own is None and not pods):
            yield f"{place}.securityContext.runAsNonRoot must be true, there or for the whole pod."


def _root_user(spec: Spec) -> Iterator[str]:
    for place, context in _contexts(spec):
        if context.get("runAsUser") == 0:
            yield f"{place}.runAsUser must not be 0, which is root."


def _seccomp_set(spec: Spec) -> Iterator[str]:
    if _is_windows(spec):
        return
    yield from _seccomp(spec)
    if as_mapping(spec.get("securityContext")).get("seccompProfile") is not None:
        return
    for place, container in _containers(spec):
        if as_mapping(container.get("securityContext")).get("seccompProfile") is None:
            yield f"{place}.securityContext.seccompProfile must be set, there or for the whole pod."


def _capabilities_dropped(spec: Spec) -> Iterator[str]:
    if _is_windows(spec):
        return
    for place, container in _containers(spec):
        dropped = as_mapping(as_mapping(container.get("securityContext")).get("capabilities")).get("drop") or ()
        if "ALL" not in dropped:
            yield f"{place}.securityContext.capabilities.drop must have ALL."
    yield from _added_capabilities(spec, ADDABLE_RESTRICTED)


_OF_BOTH: tuple[Rule, ...] = (
    _host_namespaces,
    _host_process,
    _privileged,
    _host_paths,
    _host_ports,
    _probed_hosts,
    _apparmor,
    _selinux,
    _proc_mount,
    _sysctls,
)
_RESTRICTED: tuple[Rule, ...] = (_volumes, _escalation, _not_root, _root_user, _seccomp_set, _capabilities_dropped)
RULES: Mapping[PodSecurity, tuple[Rule, ...]] = {
    PodSecurity.BASELINE: (*_OF_BOTH, _seccomp, _capabilities),
    PodSecurity.RESTRICTED: (*_OF_BOTH, *_RESTRICTED),
}
