"""`helm test`, as run right after installing the chart: with a NATS server of its own, and nothing prepared."""

import pytest

from penstock_operator.resources import KINDS
from tests.cluster.helm import Helm, image_values, worker_image_values
from tests.cluster.nats_pods import IMAGE
from tests.testbed.kubernetes.access import Namespace
from tools.console import say

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]  # images are built and loaded, and a JVM starts

NATS = [argument.replace("=image.", "=tests.nats.image.") for argument in image_values(IMAGE)]


def test_message_goes_through_a_spark_job_and_all_objects_of_the_test_are_deleted(
    helm: Helm, operator_image: str, worker_image: str, nats_image: str, cluster_namespace: Namespace
) -> None:
    del nats_image
    helm.install(operator_image, *worker_image_values(worker_image), *NATS)
    said = helm("test", "penstock", "--logs", "--timeout=600s")
    assert "Spark has answered: PENSTOCK" in said
    assert "All of it is taken away again." in said
    kinds = ",".join(("deployments", *(kind.resource for kind in KINDS)))
    left = cluster_namespace.kubectl("get", kinds, "--output=name").split()
    assert left == ["deployment.apps/penstock"]
    accounts = cluster_namespace.kubectl("get", "serviceaccounts,roles,rolebindings,configmaps", "--output=name")
    say(accounts)
    assert "penstock-test" not in accounts
    helm.uninstall()
