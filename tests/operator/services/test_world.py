"""The world: what is declared, who depends on whom, who declares which place."""

from datetime import UTC, datetime

import pytest

from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.surroundings import Place
from penstock_operator.services.world import World

NATS = Identity("Connection", "shop", "nats")
ORDERS = Identity("Stream", "shop", "orders")
OTHER = Identity("Stream", "shop", "other")
ETL = Identity("Consumer", "shop", "etl")
HERE = Place("account", "ORDERS")
THERE = Place("account", "BILLS")


def declared(identity: Identity) -> Declared:
    return Declared(
        identity=identity,
        uid=f"uid of {identity}",
        generation=1,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        spec=None,
        annotations={},
        status={},
    )


@pytest.fixture
def world() -> World:
    world = World()
    for identity in (NATS, ORDERS, OTHER, ETL):
        world.show(declared(identity))
    return world


def test_who_depends_on_something_is_found_at_first_and_at_second_hand(world: World) -> None:
    world.need(ORDERS, [NATS])
    world.need(ETL, [ORDERS])
    assert world.dependents(NATS) == {ORDERS, ETL}
    assert world.dependents(ETL) == set()


def test_one_may_depend_on_what_is_not_there(world: World) -> None:
    missing = Identity("Connection", "shop", "missing")
    world.need(ORDERS, [missing])
    assert world.dependents(missing) == {ORDERS}


def test_who_depends_on_something_else_now_depends_no_longer_on_what_it_did(world: World) -> None:
    world.need(ORDERS, [NATS])
    world.need(ORDERS, [OTHER])
    assert world.dependents(NATS) == set()
    assert world.dependents(OTHER) == {ORDERS}


def test_what_is_forgotten_depends_on_nothing_and_is_still_depended_on(world: World) -> None:
    world.need(ORDERS, [NATS])
    world.need(ETL, [ORDERS])
    world.forget(ORDERS)
    assert world.dependents(NATS) == set()
    assert world.dependents(ORDERS) == {ETL}
    assert ORDERS not in world.objects


def test_who_claims_a_place_concerns_those_that_claim_it_too(world: World) -> None:
    assert world.claim(ORDERS, HERE) == set()
    assert world.claim(OTHER, HERE) == {ORDERS}
    assert {claimant.identity for claimant in world.claimants(HERE)} == {ORDERS, OTHER}


def test_a_claim_made_again_concerns_nobody(world: World) -> None:
    world.claim(ORDERS, HERE)
    world.claim(OTHER, HERE)
    assert world.claim(OTHER, HERE) == set()


def test_who_moves_concerns_those_at_both_places(world: World) -> None:
    world.claim(ORDERS, HERE)
    world.claim(OTHER, THERE)
    world.claim(ETL, HERE)
    assert world.claim(ETL, THERE) == {ORDERS, OTHER}
    assert world.place(ETL) == THERE


def test_who_is_forgotten_claims_nothing_and_concerns_those_that_do(world: World) -> None:
    world.claim(ORDERS, HERE)
    world.claim(OTHER, HERE)
    assert world.forget(ORDERS) == {OTHER}
    assert [claimant.identity for claimant in world.claimants(HERE)] == [OTHER]


def test_the_places_of_an_account_are_told(world: World) -> None:
    elsewhere = Place("another account", "ORDERS")
    world.claim(ORDERS, HERE)
    world.claim(OTHER, elsewhere)
    assert list(world.places("account")) == [(HERE, ORDERS)]
