"""Change rules apply to a part wherever it is in an object."""

from penstock_operator.resources.part import ChangeRule, Part

KEPT = "The colour stays as it is."


class Inner(Part):
    """Something in a gate."""

    colour: str = "red"
    """Its colour."""

    CHANGE_RULES = (ChangeRule(KEPT, "self.colour == oldSelf.colour", lambda new, old: new.colour == old.colour),)


class Gate(Part):
    """The whole."""

    inner: Inner | None = None
    """Something in it."""


def test_forbidden_change_of_an_inner_part_is_named_unless_the_part_is_added_or_removed() -> None:
    red, blue = Gate(inner=Inner()), Gate(inner=Inner(colour="blue"))
    assert blue.faults_after(red) == [KEPT]
    assert red.faults_after(red) == []
    assert blue.faults_after(Gate()) == []
    assert Gate().faults_after(red) == []
