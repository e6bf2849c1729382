"""Objects of workers, as watches show them: the newest version of each, and whether all are known."""

from typing import Any

from penstock_operator.plan.workload.naming import GROUP_LABEL
from penstock_operator.services.workforce.fleets import ConfigMapName, Fleets, Label
from penstock_operator.storage.children import CONFIG_MAPS, DEPLOYMENTS, PODS
from penstock_operator.storage.watching import Changed, Failed, Gone, Listed

ETL = Label("shop", "etl")


def thing(name: str, version: int, uid: str = "", group: str = "etl", **more: object) -> dict[str, Any]:
    metadata = {
        "namespace": "shop",
        "name": name,
        "uid": uid or name,
        "resourceVersion": str(version),
        "labels": {GROUP_LABEL: group},
    }
    return {"metadata": metadata, **more}


def versions(fleets: Fleets) -> list[str]:
    return sorted(f"{pod['metadata']['name']}@{pod['metadata']['resourceVersion']}" for pod in fleets.fleet(ETL).pods)


def test_list_removes_missing_objects_and_returns_the_groups_concerned() -> None:
    fleets = Fleets()
    fleets.hear(PODS, None, Listed([thing("a", 1), thing("b", 1), thing("c", 1, group="other")]))
    concerned = fleets.hear(PODS, None, Listed([thing("b", 2)]))
    assert concerned == {ETL, Label("shop", "other")}
    assert versions(fleets) == ["b@2"]


def test_own_write_is_not_replaced_by_an_older_version_from_the_watch() -> None:
    fleets = Fleets()
    fleets.hear(DEPLOYMENTS, None, Changed(thing("etl", 5)))
    fleets.put(DEPLOYMENTS, thing("etl", 9))
    fleets.hear(DEPLOYMENTS, None, Changed(thing("etl", 7)))
    made = fleets.fleet(ETL).deployment("etl")
    assert made is not None
    assert made["metadata"]["resourceVersion"] == "9"


def test_object_that_was_created_again_replaces_the_former_one() -> None:
    fleets = Fleets()
    fleets.hear(PODS, None, Changed(thing("a", 9, uid="first")))
    fleets.hear(PODS, None, Changed(thing("a", 4, uid="second")))
    assert versions(fleets) == ["a@4"]
    fleets.hear(PODS, None, Gone(thing("a", 10, uid="first")))
    assert versions(fleets) == ["a@4"], "the end of the first is not that of the second"


def test_list_of_one_namespace_leaves_others_alone() -> None:
    fleets = Fleets()
    elsewhere = thing("x", 1)
    elsewhere["metadata"]["namespace"] = "bank"
    fleets.hear(PODS, "bank", Listed([elsewhere]))
    fleets.hear(PODS, "shop", Listed([thing("a", 1)]))
    fleets.hear(PODS, "shop", Listed([]))
    assert len(fleets.fleet(Label("bank", "etl")).pods) == 1
    assert versions(fleets) == []


def test_nothing_is_known_before_the_first_list_or_if_it_fails() -> None:
    fleets = Fleets()
    fleets.expect(PODS, None)
    assert (fleets.is_filling, fleets.obstacle) == (True, "")
    fleets.hear(PODS, None, Failed("It is not allowed."))
    assert (fleets.is_filling, fleets.trouble, fleets.obstacle) == (False, "It is not allowed.", "It is not allowed.")


def test_passing_failure_is_no_obstacle_and_the_next_list_concerns_all_groups() -> None:
    fleets = Fleets()
    fleets.expect(PODS, None)
    fleets.hear(PODS, None, Listed([thing("a", 1)]))
    fleets.hear(PODS, None, Failed("It cannot be reached."))
    assert (fleets.trouble, fleets.obstacle) == ("It cannot be reached.", "")
    assert ETL in fleets.hear(PODS, None, Listed([thing("a", 1)]))
    assert fleets.trouble == ""


def test_only_the_version_of_a_config_map_is_kept() -> None:
    fleets, name = Fleets(), ConfigMapName("shop", "code")
    assert fleets.hear(CONFIG_MAPS, None, Listed([thing("code", 3)])) == {name}
    assert fleets.config_map_version(name) == "3"
    assert fleets.hear(CONFIG_MAPS, None, Listed([thing("code", 3)])) == set(), "nothing is new"
    assert fleets.hear(CONFIG_MAPS, None, Changed(thing("code", 4))) == {name}
    assert fleets.hear(CONFIG_MAPS, None, Gone(thing("code", 5))) == {name}
    assert fleets.config_map_version(name) is None


def test_group_without_objects_takes_no_memory() -> None:
    fleets = Fleets()
    fleets.hear(PODS, None, Changed(thing("a", 1)))
    fleets.hear(PODS, None, Gone(thing("a", 2)))
    assert not fleets._fleets  # noqa: SLF001 - that nothing is kept is what it promises
