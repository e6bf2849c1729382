"""Parts: rules about one part, about what an update may make of it, and about an object as a whole."""

from penstock_operator.resources.conditions import Status
from penstock_operator.resources.definition import definition
from penstock_operator.resources.kind import Kind, Scale
from penstock_operator.resources.part import ChangeRule, Part, Rule

KEPT = "The colour stays as it is."
SHORT = "A name that is written nowhere else is short."


class Inner(Part):
    """Something in a gate."""

    colour: str = "red"
    """Its colour."""

    CHANGE_RULES = (ChangeRule(KEPT, "self.colour == oldSelf.colour", lambda new, old: new.colour == old.colour),)


class Gate(Part):
    """A kind's spec that stands for none."""

    inner: Inner | None = None
    """Something in it."""
    title: str = ""
    """Its title."""


GATE = Kind(
    name="Gate",
    plural="gates",
    short_names=(),
    description="Stands for none.",
    spec=Gate,
    status=Status,
    columns=(),
    selectable_fields=(".spec.title",),
    scale=Scale(".spec.wanted", ".status.running", ".status.selector"),
    rules=(
        Rule(
            SHORT,
            "self.spec.title != '' || size(self.metadata.name) < 4",
            lambda gate: gate.spec.title != "" or len(gate.name) < 4,
        ),
    ),
)


def test_a_change_that_is_not_allowed_is_named_wherever_it_is() -> None:
    old, new = Gate(inner=Inner()), Gate(inner=Inner(colour="blue"))
    assert new.faults_after(old) == [KEPT]
    assert old.faults_after(old) == []


def test_a_part_that_was_not_there_before_did_not_change() -> None:
    assert Gate(inner=Inner(colour="blue")).faults_after(Gate()) == []
    assert Gate().faults_after(Gate(inner=Inner())) == []


def test_a_kinds_own_rules_see_the_name_and_the_spec() -> None:
    assert GATE.faults("north", Gate()) == [SHORT]
    assert GATE.faults("north", Gate(title="North")) == []


def test_the_definition_has_all_that_the_kind_asks_of_the_api_server() -> None:
    [version] = definition(GATE)["spec"]["versions"]
    assert version["subresources"]["scale"] == {
        "specReplicasPath": ".spec.wanted",
        "statusReplicasPath": ".status.running",
        "labelSelectorPath": ".status.selector",
    }
    assert version["selectableFields"] == [{"jsonPath": ".spec.title"}]
    schema = version["schema"]["openAPIV3Schema"]
    assert [rule["message"] for rule in schema["x-kubernetes-validations"]] == [SHORT]
    inner = schema["properties"]["spec"]["properties"]["inner"]
    assert [rule["message"] for rule in inner["x-kubernetes-validations"]] == [KEPT]
