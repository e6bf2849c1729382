"""The tiers of the tests: which tests each command runs, what that proves, and what has to be built first.

The tests themselves say which tiers they are in, by the markers that pyproject.toml lists.
"""

from dataclasses import dataclass

SUPPORTED_PYTHONS = ("3.11", "3.13")
PARALLEL = ("--numprocesses=auto", "--maxprocesses=4", "--dist=loadgroup")


@dataclass(frozen=True)
class Tier:
    """One command's choice of tests."""

    name: str
    proves: str
    """What `make` prints for it."""

    marked: str
    """pytest's marker expression."""

    programs: tuple[str, ...]
    """What tests.testbed.binaries builds before the tests, where its progress can be seen."""

    minutes: int
    """How long it takes at most on two idle cores, once everything is built."""

    modules: tuple[str, ...] = ()
    """Further modules that prepare the machine."""

    options: tuple[str, ...] = PARALLEL


TIERS = {
    tier.name: tier
    for tier in (
        Tier(
            "test",
            "run what every edit needs: pure tests, one real NATS server, API server and Spark",
            "not full and not e2e",
            ("kubebox",),
            8,
        ),
        Tier(
            "test-full",
            "run every test that needs no cluster, on this Python: all servers, faults, simulations",
            "not e2e",
            ("kubebox", "helm", "nats-servers", "nack", "promtool"),
            26,
        ),
        Tier(
            "test-pythons",
            "run what depends on the interpreter, under the other supported Pythons",
            "interpreter and not e2e",
            ("kubebox",),
            4,
        ),
        Tier(
            "e2e",
            "run what needs a whole cluster: a node made here (root), or the one that KUBECONFIG names",
            "e2e",
            ("kubebox", "helm", "coredns", "pause", "probe", "nack"),
            18,
            ("tests.testbed.kubernetes.host", "tools.images"),
            (),
        ),
    )
}
