"""The user's code in a queue group, where it comes from, and the Spark that runs it.

Knows what may be written. Does not import the code, and does not know what Spark does with its settings.
"""

import re
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from penstock_operator.resources.part import Part, Rule
from penstock_operator.resources.references import ConfigMapRef, FieldSelector, KeySelector, SecretKeyRef

ENTRYPOINT = "^[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*$"
MASTER = (
    r"^(local(\[([1-9][0-9]{0,3}|[*])(,[1-9][0-9]{0,3})?\])?"
    r"|local-cluster\[[1-9][0-9]{0,3},[1-9][0-9]{0,3},[1-9][0-9]{0,6}\]"
    r"|spark://HOST(,HOST)*"
    r"|k8s://(https?://)?HOST"
    r"|sc://HOST(,HOST)*(/;use_ssl=(true|false))?)$"
).replace("HOST", r"([-A-Za-z0-9_.]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
OURS_IN_CONF = ("spark.master", "spark.remote")
OURS_IN_CONF_CEL = " || ".join(f"'{name}' in self.conf" for name in OURS_IN_CONF)
SETTING_NAME_LENGTH = 253
ENV_PREFIX = "PENSTOCK_"

Entrypoint = Annotated[
    str,
    StringConstraints(min_length=1, max_length=253),
    Rule(
        "An entrypoint is module:function, as in etl:process or company.etl:process.",
        f"self.matches('{ENTRYPOINT}')",
        lambda entrypoint: re.fullmatch(ENTRYPOINT, entrypoint) is not None,
    ),
]
Image = Annotated[str, StringConstraints(min_length=1, max_length=512, pattern=r"^[!-~]+$")]
VariableName = Annotated[str, StringConstraints(min_length=1, max_length=253, pattern=r"^[-._a-zA-Z][-._a-zA-Z0-9]*$")]
Master = Annotated[
    str,
    StringConstraints(min_length=1, max_length=1024),
    Rule(
        "A Spark master is local, local[4], local[*], local-cluster[2,1,1024], spark://host:port, k8s://https://host:port"
        " or sc://host:port, and spark:// and sc:// take several host:port with commas between; a token has a Secret.",
        f"self.matches(r'{MASTER}')",
        lambda master: re.fullmatch(MASTER, master) is not None,
    ),
]
SettingValue = Annotated[str, StringConstraints(max_length=4096)]


class VariableSource(Part):
    """Where an environment variable's value comes from."""

    config_map_key_ref: KeySelector | None = None
    """A key of a ConfigMap in the same namespace."""
    secret_key_ref: KeySelector | None = None
    """A key of a Secret in the same namespace."""
    field_ref: FieldSelector | None = None
    """A field of the worker's pod."""

    RULES = (
        Rule(
            "Choose exactly one of configMapKeyRef, secretKeyRef and fieldRef.",
            "[has(self.configMapKeyRef), has(self.secretKeyRef), has(self.fieldRef)].filter(given, given).size() == 1",
            lambda source: sum(value is not None for _, value in source) == 1,
        ),
    )


class Variable(Part):
    """An environment variable of the driver, where the user's code runs, as in a pod."""

    name: VariableName
    """Its name."""
    value: Annotated[str, StringConstraints(max_length=32768)] | None = None
    """Its value, as it stands here."""
    value_from: VariableSource | None = None
    """Where its value comes from, if it does not stand here."""

    RULES = (
        Rule(
            "Choose value or valueFrom.",
            "!(has(self.value) && has(self.valueFrom))",
            lambda variable: variable.value is None or variable.value_from is None,
        ),
        Rule(
            f"Variables whose names begin with {ENV_PREFIX} are Penstock's own.",
            f"!self.name.startsWith('{ENV_PREFIX}')",
            lambda variable: not variable.name.startswith(ENV_PREFIX),
        ),
    )


def _each_name_once(variables: list[Variable]) -> list[Variable]:
    """Refuse what the API server refuses in a list that is a map by name."""
    names = [variable.name for variable in variables]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"Set more than once: {', '.join(twice)}.")
    return variables


class Handler(Part):
    """The user's code: which function is called with each batch, and where it is found."""

    entrypoint: Entrypoint
    """The function that is called with each batch, as module:function."""
    config_map_ref: ConfigMapRef | None = None
    """A ConfigMap that holds the code, one file per key; it is mounted on the Python path, and a change of it rolls."""
    image: Image | None = None
    """An image that holds the code: built from the worker image, or any image with penstock-worker in it."""
    env: Annotated[
        list[Variable],
        Field(
            max_length=256,
            json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        ),
        AfterValidator(_each_name_once),
    ] = Field(default=[])
    """Environment variables for the code."""

    RULES = (
        Rule(
            "The code is in a ConfigMap or in an image: choose exactly one of configMapRef and image.",
            "has(self.configMapRef) != has(self.image)",
            lambda handler: (handler.config_map_ref is None) != (handler.image is None),
        ),
    )


class Spark(Part):
    """The Spark that runs the code, and its settings."""

    master: Master = "local[*]"
    """Where Spark runs. local[n]: in the worker. local-cluster, spark://, k8s://: with executors of its own.
    sc://: on a Spark Connect server, or the first of several that answers; /;use_ssl=true or false at its end says
    whether by TLS, which it is with a token by default, but for servers of the same cluster."""
    token_secret_ref: SecretKeyRef | None = None
    """The token that a Spark Connect server asks for."""
    conf: Annotated[dict[str, SettingValue], Field(max_length=256)] = Field(default={})
    """Spark's settings. They go before those that Penstock chooses."""

    RULES = (
        Rule(
            "A token is for a Spark Connect server: tokenSecretRef needs a master that begins with sc://.",
            "!has(self.tokenSecretRef) || self.master.startsWith('sc://')",
            lambda spark: spark.token_secret_ref is None or spark.master.startswith("sc://"),
        ),
        Rule(
            f"The name of a Spark setting begins with spark. and has at most {SETTING_NAME_LENGTH} letters.",
            f"!has(self.conf) || self.conf.all(name, name.startsWith('spark.') && size(name) <= {SETTING_NAME_LENGTH})",
            lambda spark: all(name.startswith("spark.") and len(name) <= SETTING_NAME_LENGTH for name in spark.conf),
        ),
        Rule(
            f"{' and '.join(OURS_IN_CONF)} are said in the field master, not in conf.",
            f"!has(self.conf) || !({OURS_IN_CONF_CEL})",
            lambda spark: not spark.conf.keys() & set(OURS_IN_CONF),
        ),
    )
