"""The object graph: which objects are declared, their dependencies, and which stream or consumer they declare."""

import pytest

from penstock_operator.plan.declared import Identity
from penstock_operator.plan.surroundings import Place
from penstock_operator.services.world import World
from tests.operator.plan import builders

NATS = Identity("Connection", "shop", "nats")
ORDERS = Identity("Stream", "shop", "orders")
OTHER = Identity("Stream", "shop", "other")
ETL = Identity("Consumer", "shop", "etl")
HERE = Place("account", "ORDERS")
THERE = Place("account", "BILLS")


@pytest.fixture
def world() -> World:
    world = World()
    for identity in (NATS, ORDERS, OTHER, ETL):
        world.show(builders.declared(identity.kind, identity.name, {}))
    return world


def test_dependents_also_of_missing_objects_are_found_directly_and_indirectly_until_they_change_or_go(
    world: World,
) -> None:
    world.need(ORDERS, [NATS])
    world.need(ETL, [ORDERS])
    assert world.dependents(NATS) == {ORDERS, ETL}
    assert world.dependents(ETL) == set()
    world.need(ORDERS, [OTHER])
    assert world.dependents(NATS) == set()
    assert world.dependents(OTHER) == {ORDERS, ETL}
    world.forget(ORDERS)
    assert world.dependents(OTHER) == set()
    assert world.dependents(ORDERS) == {ETL}
    assert ORDERS not in world.objects
    missing = Identity("Connection", "shop", "missing")
    world.need(OTHER, [missing])
    assert world.dependents(missing) == {OTHER}


def test_claim_affects_the_others_with_the_same_one_and_only_when_it_is_new(world: World) -> None:
    assert world.claim(ORDERS, HERE) == set()
    assert world.claim(OTHER, HERE) == {ORDERS}
    assert {claimant.identity for claimant in world.claimants(HERE)} == {ORDERS, OTHER}
    assert world.claim(OTHER, HERE) == set()
    assert world.forget(ORDERS) == {OTHER}
    assert [claimant.identity for claimant in world.claimants(HERE)] == [OTHER]


def test_moved_claim_affects_the_others_at_both_locations_and_is_listed_by_account(world: World) -> None:
    world.claim(ORDERS, HERE)
    world.claim(OTHER, THERE)
    world.claim(ETL, HERE)
    assert world.claim(ETL, THERE) == {ORDERS, OTHER}
    assert world.place(ETL) == THERE
    world.claim(ETL, Place("another account", "ORDERS"))
    assert sorted(world.places("account"), key=str) == [(THERE, OTHER), (HERE, ORDERS)]
