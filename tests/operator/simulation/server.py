"""A NATS server in memory: streams and consumers, what it refuses, and the fields that it fills in."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock_jetstream.config import Impossible, Unchanged, plan_update
from penstock_operator.plan.decision import Action, Create, Delete, Failure, Pause, Update
from penstock_operator.plan.dependencies import CONSUMER_NAME, STREAM_NAME
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Missing, Observed, Place, Present, Unknown
from penstock_operator.plan.wording import TABLES

FILLED_IN: Mapping[str, Mapping[str, Any]] = {
    "Stream": {"max_msgs": -1, "discard": "old"},
    "Consumer": {"replay_policy": "instant", "max_waiting": 512},
}
ACCOUNTS = {name: f"account of {name}" for name in ("nats", "hub")}
"""By the Connections that lead to them."""
ADDED = {"_nats.ver": "2.15.0"}


def kind_of(place: Place) -> str:
    return "Consumer" if place.consumer else "Stream"


class Server:
    """What is at which place."""

    def __init__(self) -> None:
        self.configs: dict[Place, dict[str, Any]] = {}
        self.writes = 0
        self.is_away = False

    def observe(self, place: Place) -> Observed:
        if self.is_away:
            return Unknown(Reason.UNREACHABLE, "No server answers.")
        if place.consumer and Place(place.account, place.stream) not in self.configs:
            return Unknown(Reason.STREAM_NOT_FOUND, f"There is no stream {place.stream}.")
        config = self.configs.get(place)
        names = {STREAM_NAME: place.stream, **({CONSUMER_NAME: place.consumer} if place.consumer else {})}
        return Present(dict(config), names) if config else Missing()

    def do(self, place: Place, action: Action) -> Failure | None:
        """Carry out what is one request; who recreates makes two."""
        if self.is_away:
            return Failure(Reason.UNREACHABLE, "No server answers.", passing=True)
        self.writes += 1
        match action:
            case Create(config=config):
                return self._create(place, config)
            case Update(config=config):
                return self._update(place, config)
            case Pause(until=until):
                self.configs[place]["pause_until"] = until
                return None
            case Delete():
                self.remove(place)
                return None
            case _:
                raise AssertionError(f"{action} is not one request.")

    def put(self, place: Place, config: Mapping[str, Any]) -> None:
        metadata = {**(config.get("metadata") or {}), **ADDED}
        self.configs[place] = {**FILLED_IN[kind_of(place)], **config, "metadata": metadata}

    def remove(self, place: Place) -> None:
        """Remove it; consumers go with their stream."""
        within = [each for each in self.configs if replace(each, consumer="") == place]
        for each in (place, *within):
            self.configs.pop(each, None)

    def _create(self, place: Place, config: Mapping[str, Any]) -> Failure | None:
        if place.consumer and Place(place.account, place.stream) not in self.configs:
            return Failure(Reason.STREAM_NOT_FOUND, f"There is no stream {place.stream}.", passing=True)
        there = self.configs.get(place)
        if there is None:
            self.put(place, config)
        elif not isinstance(plan_update(TABLES[kind_of(place)], config, there), Unchanged):
            return Failure(Reason.REFUSED, "The name is in use.", passing=True)
        return None

    def _update(self, place: Place, config: Mapping[str, Any]) -> Failure | None:
        there = self.configs.get(place)
        if there is None:
            return Failure(Reason.MISSING, "It is not there.", passing=True)
        if isinstance(plan_update(TABLES[kind_of(place)], config, there), Impossible):
            return Failure(Reason.REFUSED, "It cannot be changed so.", passing=False)
        kept = {"pause_until": there["pause_until"]} if "pause_until" in there else {}
        self.put(place, {**config, **kept})
        return None
