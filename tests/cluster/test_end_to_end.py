"""The examples on a real node, as their README says: unchanged, by the chart, with images from the Dockerfile.

One node for all of it, which is struck while it works: a worker's pod, the kubelet, NATS, the operator's leader.
"""

import json

import pytest

from tests.cluster.helm import leader, wait_leader
from tests.cluster.orders import GROUP, Orders, shop_of
from tests.cluster.stage import EXAMPLES, Stage, kubectl, reason, show, status, until, workers
from tests.testbed import run
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.programs import Program
from tools.console import say

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]

ALL, BURST, TRICKLE, MORE, LAST = 200_000, 80_000, 10_000, 20_000, 10_000
PER_SECOND = 1_000
FEW_PER_SECOND = 300
BEGUN, SETTLED = "A batch runs.", "Settled."


def test_orders_go_through_all_of_it_and_none_is_lost_or_doubled(stage: Stage) -> None:
    with shop_of(stage, "shop") as (shop, orders):
        story(stage, shop, orders)


def story(stage: Stage, shop: Namespace, orders: Orders) -> None:
    assert reason(shop, GROUP) == "ScaledToZero"
    show(shop, "applied: no workers, as there are no messages")
    orders.publish(BURST)
    until(lambda: status(shop, GROUP, "replicas") == "2", "two workers", shop)
    orders.wait_held()
    show(shop, f"{BURST:,} orders: from none to two workers")
    until(orders.is_drained, "the burst is processed", shop)
    assert orders.deliveries() == orders.published, "a new worker takes no message from others"
    engines = [follow(shop, worker) for worker in workers(shop, GROUP)]
    with orders.publishing(TRICKLE, FEW_PER_SECOND):
        until(lambda: len(workers(shop, GROUP)) == 1, "one worker is enough for a trickle", shop)
        show(shop, "few orders: from two workers to one, while both work")
    until(orders.is_drained, "the trickle is processed", shop)
    say(f"{orders.deliveries() - orders.published:,} messages were collected and given back by the removed worker")
    assert not [engine.name for engine in engines if unfinished(engine)], (
        "the removed worker finished the batches that it had begun"
    )

    for strike in (delete_worker, restart_kubelet, restart_nats, kill_leader, edit_handler):
        with orders.publishing(MORE, PER_SECOND):
            orders.wait_held()
            strike(stage, shop)
            show(shop, strike.__doc__ or "")
        until(orders.is_drained, f"{strike.__name__}: the messages are processed", shop)
        say(f"{orders.deliveries() - orders.published:,} deliveries more than messages until now")
    orders.publish(LAST)
    until(orders.is_drained, "the last are processed, by the edited function", shop)
    assert orders.published == ALL

    before = orders.deliveries()
    until(lambda: not workers(shop, GROUP), "no worker is left", shop)
    until(lambda: reason(shop, GROUP) == "ScaledToZero", "it says so", shop)
    show(shop, "all is done: from two workers to none")
    assert orders.deliveries() == before, "scaling to zero redelivered no message"
    kubectl(shop, "get", "events", f"--field-selector=involvedObject.name={GROUP}")
    say(f"\npublished: {orders.totals}\nin Parquet: {orders.in_lake()}\n{orders.dead()} dead letters")
    assert orders.in_lake() == orders.totals
    assert orders.dead() == orders.poison
    assert any("edition" in file.read_bytes().decode("latin-1") for file in orders.lake.glob("orders/*/*.parquet"))


def follow(shop: Namespace, worker: str) -> Program:
    """Keep the log of a worker's engine, for when its pod is gone."""
    asked = ["logs", worker, "--container=engine", "--follow"]
    command = [str(shop.cluster.kubectl_program), f"--kubeconfig={shop.kubeconfig}", *asked]
    engine = Program(worker.replace("/", "-"), command, run.current().new_folder("engine"))
    engine.start()
    return engine


def unfinished(engine: Program) -> set[str]:
    """Return the batches that a worker has begun and not settled."""
    said = [json.loads(line) for line in engine.log.read_text().splitlines() if line.startswith("{")]
    begun, settled = ({line["batch"] for line in said if line["message"] == words} for words in (BEGUN, SETTLED))
    assert begun
    return begun - settled


def delete_worker(stage: Stage, shop: Namespace) -> None:
    """A worker's pod is deleted."""
    del stage
    kubectl(shop, "delete", workers(shop, GROUP)[0], "--wait=false")


def restart_kubelet(stage: Stage, shop: Namespace) -> None:
    """The node's kubelet is killed, and started again."""
    del shop
    stage.node.programs["kubelet"].kill()
    stage.node.programs["kubelet"].start()
    stage.node.wait_ready()


def restart_nats(stage: Stage, shop: Namespace) -> None:
    """NATS is restarted: its pod is deleted, and comes back with its volume."""
    kubectl(shop, "delete", "pod/nats-0", "--namespace=nats")
    stage.wait_nats()


def kill_leader(stage: Stage, shop: Namespace) -> None:
    """The operator's leader is killed."""
    del shop
    first = leader(stage.system)
    kubectl(stage.system, "delete", f"pod/{first}", "--force", "--grace-period=0")
    wait_leader(stage.system, other_than=first)


def edit_handler(stage: Stage, shop: Namespace) -> None:
    """The function is edited, and rolled out."""
    code = (EXAMPLES / "orders" / "etl.py").read_text()
    edited = stage.node.folder / "etl.py"
    amount = 'f.sum("amount").alias("amount")'
    assert amount in code
    edited.write_text(code.replace(amount, f'{amount}, f.max(f.lit(2)).alias("edition")'))
    made = ["create", "configmap", "orders-code", f"--from-file={edited}", "--dry-run=client", "--output=yaml"]
    manifest = shop.kubectl(*made)
    shop.kubectl("replace", "--filename=-", stdin=manifest)
    before = set(workers(shop, GROUP))
    until(lambda: not before & set(workers(shop, GROUP)), "all workers are new", shop)
