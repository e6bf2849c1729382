"""The pod template of a queue group's workers: whatever a pod may have, but for what Penstock decides itself.

Knows which fields are Penstock's. Everything else passes through as it is written, and the API server judges it when
the pods are made.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints

from penstock_operator.constants import GROUP
from penstock_operator.resources.part import Part, Rule

DRIVER, ENGINE = "driver", "engine"
VOLUME_PREFIX = "penstock-"
OUR_PREFIX = f"{GROUP}/"
KEY_LENGTH = 317
"""What the API server takes: a prefix of 253 letters, a slash, and 63 letters."""

Text = Annotated[str, StringConstraints(max_length=4096)]
Word = Annotated[str, StringConstraints(min_length=1, max_length=63)]
Words = Annotated[list[Text], Field(max_length=256)]
Marks = Annotated[dict[str, Text], Field(max_length=64)]


class PassingThrough(Part):
    """A part with fields that are not Penstock's to judge."""

    model_config = ConfigDict(extra="allow")


class TemplateContainer(PassingThrough):
    """A container: the driver or the engine, with what is to be changed of it; or one more."""

    name: Word
    """Its name. driver is where the code and Spark run, engine where messages are pulled."""
    image: Text | None = None
    """Its image; the driver's is handler.image, and the engine's is Penstock's."""
    command: Words | None = None
    """What it runs; for the driver and the engine, Penstock says it."""
    args: Words | None = None
    """With what arguments; for the driver and the engine, Penstock says it."""


class TemplateVolume(PassingThrough):
    """One more volume."""

    name: Word
    """Its name."""


def _alters(containers: Sequence[TemplateContainer] | None, name: str) -> bool:
    return any(
        container.name == name and {"image", "command", "args"} & container.model_fields_set
        for container in containers or ()
    )


def _cel_alters(containers: str, name: str) -> str:
    altered = "has(it.image) || has(it.command) || has(it.args)"
    return f"has(self.{containers}) && self.{containers}.exists(it, it.name == '{name}' && ({altered}))"


class TemplatePod(PassingThrough):
    """A pod's spec, or as much of it as is to be different: nodeSelector, tolerations, securityContext, and so on."""

    containers: Annotated[list[TemplateContainer], Field(max_length=32)] | None = None
    """Changes of the container driver, and further containers."""
    init_containers: Annotated[list[TemplateContainer], Field(max_length=32)] | None = None
    """Changes of the sidecar engine, and further containers that run before the driver."""
    volumes: Annotated[list[TemplateVolume], Field(max_length=64)] | None = None
    """Further volumes."""
    restart_policy: Word | None = None
    """Penstock's: leave it out."""
    active_deadline_seconds: int | None = None
    """Penstock's: leave it out."""

    RULES = (
        Rule(
            "Leave out restartPolicy and activeDeadlineSeconds: workers run until Penstock ends them.",
            "!has(self.restartPolicy) && !has(self.activeDeadlineSeconds)",
            lambda pod: pod.restart_policy is None and pod.active_deadline_seconds is None,
        ),
        Rule(
            "Leave out image, command and args of the driver: handler.image is its image, the rest is Penstock's.",
            f"!({_cel_alters('containers', DRIVER)})",
            lambda pod: not _alters(pod.containers, DRIVER),
        ),
        Rule(
            "Leave out image, command and args of the engine: they are Penstock's.",
            f"!({_cel_alters('initContainers', ENGINE)})",
            lambda pod: not _alters(pod.init_containers, ENGINE),
        ),
        Rule(
            "The driver is one of the containers, and the engine one of the initContainers.",
            f"!(has(self.containers) && self.containers.exists(it, it.name == '{ENGINE}'))"
            f" && !(has(self.initContainers) && self.initContainers.exists(it, it.name == '{DRIVER}'))",
            lambda pod: (
                all(container.name != ENGINE for container in pod.containers or ())
                and all(container.name != DRIVER for container in pod.init_containers or ())
            ),
        ),
        Rule(
            f"Volumes whose names begin with {VOLUME_PREFIX} are Penstock's own.",
            f"!has(self.volumes) || !self.volumes.exists(it, it.name.startsWith('{VOLUME_PREFIX}'))",
            lambda pod: not any(volume.name.startswith(VOLUME_PREFIX) for volume in pod.volumes or ()),
        ),
    )


def _are_theirs(marks: Mapping[str, str]) -> bool:
    return all(len(key) <= KEY_LENGTH and not key.startswith(OUR_PREFIX) for key in marks)


def _cel_are_theirs(marks: str) -> str:
    theirs = f"size(key) <= {KEY_LENGTH} && !key.startsWith('{OUR_PREFIX}')"
    return f"(!has(self.{marks}) || self.{marks}.all(key, {theirs}))"


class TemplateMetadata(Part):
    """What the workers' pods are marked with."""

    labels: Marks = Field(default={})
    """Further labels."""
    annotations: Marks = Field(default={})
    """Further annotations."""

    RULES = (
        Rule(
            f"Labels and annotations with {OUR_PREFIX} are Penstock's, and none has more than {KEY_LENGTH} letters.",
            f"{_cel_are_theirs('labels')} && {_cel_are_theirs('annotations')}",
            lambda metadata: _are_theirs(metadata.labels) and _are_theirs(metadata.annotations),
        ),
    )


class Template(Part):
    """What the workers' pods shall have besides what Penstock gives them, as a pod template has it."""

    metadata: TemplateMetadata | None = None
    """What they are marked with."""
    spec: TemplatePod | None = None
    """Any part of a pod's spec; it is merged into Penstock's as `kubectl patch` would do it."""
