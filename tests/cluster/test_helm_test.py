"""`helm test`, as whoever has just installed the chart runs it: with a NATS server of its own, and nothing prepared."""

from collections.abc import Iterator

import pytest

from penstock_operator.resources import KINDS
from tests.cluster.helm import Helm, image_values, worker_image_values
from tests.cluster.nats_pods import IMAGE
from tests.testbed.kubernetes.access import Namespace
from tools.console import say

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]  # images are built and loaded, and a JVM starts

CRDS = [f"crd/{kind.resource}" for kind in KINDS]
NATS = [argument.replace("=image.", "=tests.nats.image.") for argument in image_values(IMAGE)]
SECONDS = 120


@pytest.fixture
def installed(helm: Helm, operator_image: str, worker_image: str, cluster_namespace: Namespace) -> Iterator[Namespace]:
    values = [*worker_image_values(worker_image), *NATS, f"--set=namespaces={{{cluster_namespace.name}}}"]
    helm.install(operator_image, *values)
    yield cluster_namespace
    helm.uninstall()
    cluster_namespace.kubectl("delete", *CRDS, "--ignore-not-found", f"--timeout={SECONDS}s")


def test_a_message_goes_through_a_spark_job_and_nothing_is_left_of_it(
    installed: Namespace, helm: Helm, nats_image: str
) -> None:
    del nats_image
    said = helm("test", "penstock", "--logs", "--timeout=600s")
    assert "Spark has answered: PENSTOCK" in said
    assert "All of it is taken away again." in said
    kinds = ",".join(("deployments", *(kind.resource for kind in KINDS)))
    left = installed.kubectl("get", kinds, "--output=name").split()
    assert left == ["deployment.apps/penstock"]
    accounts = installed.kubectl("get", "serviceaccounts,roles,rolebindings,configmaps", "--output=name")
    say(accounts)
    assert "penstock-test" not in accounts
