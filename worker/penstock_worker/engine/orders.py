"""What the micro service is asked for, and how each of it is said to the machine.

status   how the worker stands                  drain    end once everything is processed
pause    pull nothing until `resume`            cancel   give back one batch that runs
retire   hold nothing but what runs, until `recall`: then it can be ended without harm to anybody
"""

import json
from collections.abc import Callable
from typing import Any

from penstock_worker.engine.service import Answer, RefusedError, Work
from penstock_worker.engine.standing import Standing
from penstock_worker.policy.machine import events

DONE: Answer = {"ok": True}


def orders(standing: Standing, tell: Callable[[events.Event], None]) -> dict[str, Work]:
    """Return what each endpoint does, by its name."""

    def order(event: events.Event) -> Work:
        def obey(_payload: bytes) -> Answer:
            tell(event)
            return DONE

        return obey

    def cancel(payload: bytes) -> Answer:
        batch_id = _batch_id(payload)
        if batch_id not in standing.runs:
            raise RefusedError(f"Batch {batch_id} does not run here.")
        tell(events.CancelBatch(batch_id))
        return DONE

    return {
        "status": lambda _: standing.told(),
        "drain": order(events.Drain()),
        "pause": order(events.Pause()),
        "resume": order(events.Resume()),
        "retire": order(events.Retire()),
        "recall": order(events.Reinstate()),
        "cancel": cancel,
    }


def _batch_id(payload: bytes) -> str:
    try:
        asked: Any = json.loads(payload)
        batch_id = asked["batch"]
    except (ValueError, TypeError, KeyError):
        batch_id = None
    if not isinstance(batch_id, str):
        raise RefusedError('Say which batch is to be cancelled, as {"batch": "ORDERS.etl.1-9.0f3a11c2"}.')
    return batch_id
