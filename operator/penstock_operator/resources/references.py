"""How a manifest points at Kubernetes objects: Secrets by name and key, namespaces by label.

Knows what names the API server takes. Does not know what the kinds use them for.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from penstock_operator.resources.part import Part, Rule

ObjectName = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=253, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
    ),
]
NamespaceName = Annotated[
    str, StringConstraints(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
]
SecretKey = Annotated[str, StringConstraints(min_length=1, max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")]
LABEL_KEY_LENGTH = 316
LabelKey = Annotated[str, StringConstraints(min_length=1, max_length=LABEL_KEY_LENGTH)]
LabelValue = Annotated[str, StringConstraints(max_length=63, pattern=r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$")]


class SecretKeyRef(Part):
    """One key of a Secret in the same namespace."""

    name: ObjectName
    """The Secret's name."""
    key: SecretKey
    """The key in the Secret's data."""


class UserPasswordSecretRef(Part):
    """A user name and a password in one Secret, by default as in a Secret of type kubernetes.io/basic-auth."""

    name: ObjectName
    """The Secret's name."""
    username_key: SecretKey = "username"
    """The key that holds the user name."""
    password_key: SecretKey = "password"  # noqa: S105 - the name of a key, not a password
    """The key that holds the password."""


class CertificateSecretRef(Part):
    """A certificate and its private key in one Secret, by default as in a Secret of type kubernetes.io/tls."""

    name: ObjectName
    """The Secret's name."""
    certificate_key: SecretKey = "tls.crt"
    """The key that holds the certificate chain, in PEM."""
    private_key_key: SecretKey = "tls.key"
    """The key that holds the private key, in PEM."""


class ConnectionRef(Part):
    """A Connection, in this namespace or in one that allows it."""

    name: ObjectName
    """The Connection's name."""
    namespace: NamespaceName | None = None
    """The Connection's namespace, if it is another; its allowedNamespaces must choose ours."""


class StreamRef(Part):
    """A Stream that is declared in this namespace."""

    name: ObjectName
    """The Stream's name, which is metadata.name: not its name on the server."""


class ConsumerRef(Part):
    """A Consumer that is declared in this namespace."""

    name: ObjectName
    """The Consumer's name, which is metadata.name: not its name on the server."""


class ConfigMapRef(Part):
    """A ConfigMap in the same namespace."""

    name: ObjectName
    """The ConfigMap's name."""


class KeySelector(Part):
    """One key of a ConfigMap or a Secret in the same namespace, as a pod names it."""

    name: ObjectName
    """The object's name."""
    key: SecretKey
    """The key in its data."""
    optional: bool = False
    """Whether the pod may start without it."""


class FieldSelector(Part):
    """A field of a pod, as a pod names it."""

    field_path: Annotated[str, StringConstraints(min_length=1, max_length=512)]
    """The field, such as metadata.name."""


class LabelRequirement(Part):
    """One requirement that labels must meet."""

    key: LabelKey
    """The label that the requirement is about."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """How the label relates to the values."""
    values: Annotated[list[LabelValue], Field(max_length=64)] = Field(default=[])
    """The values for In and NotIn; none for Exists and DoesNotExist."""

    RULES = (
        Rule(
            "In and NotIn need values; Exists and DoesNotExist take none.",
            "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
            lambda requirement: (requirement.operator in ("In", "NotIn")) == bool(requirement.values),
        ),
    )


class LabelSelector(Part):
    """Chooses objects by their labels, as everywhere in Kubernetes; all requirements must be met."""

    match_labels: Annotated[dict[str, LabelValue], Field(max_length=64)] = Field(default={})
    """Labels that must be there with exactly these values."""
    match_expressions: Annotated[list[LabelRequirement], Field(max_length=64)] = Field(default=[])
    """Requirements that say more than equality."""

    RULES = (
        Rule(
            f"The key of a label has 1 to {LABEL_KEY_LENGTH} letters.",
            f"!has(self.matchLabels) || self.matchLabels.all(key, size(key) >= 1 && size(key) <= {LABEL_KEY_LENGTH})",
            lambda selector: all(1 <= len(key) <= LABEL_KEY_LENGTH for key in selector.match_labels),
        ),
    )


class NamespacesFrom(StrEnum):
    """Which namespaces may refer to an object."""

    SAME = "Same"
    ALL = "All"
    SELECTOR = "Selector"


class AllowedNamespaces(Part):
    """Which namespaces may refer to this object."""

    from_: Annotated[NamespacesFrom, Field(alias="from")] = NamespacesFrom.SAME
    """Same: only the object's own namespace. All: every namespace. Selector: those that the selector chooses."""
    selector: LabelSelector | None = None
    """Chooses namespaces by their labels, with from: Selector."""

    RULES = (
        Rule(
            "A selector belongs to from: Selector, and from: Selector needs one.",
            "(self.from == 'Selector') == has(self.selector)",
            lambda allowed: (allowed.from_ is NamespacesFrom.SELECTOR) == (allowed.selector is not None),
        ),
    )
