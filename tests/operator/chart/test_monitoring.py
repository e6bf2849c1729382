"""The chart's monitors, alerts and dashboard: they fit the metrics that are served, and Prometheus accepts them."""

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock_operator.services.leading import Leadership
from tests.operator.chart.rendering import container, only, render
from tests.operator.plan.workload.workloads import group, made
from tests.operator.served import by_operator, by_worker, labels_of
from tests.testbed import binaries
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.client import Object

pytestmark = pytest.mark.full  # Helm and promtool
CASES = yaml.safe_load((Path(__file__).parent / "alerts.yaml").read_text())
GRAFANAS = {"$namespace": ".*", "$__rate_interval": "5m", "$__range": "1h"}
"""Values for Grafana's variables."""
OF_TARGETS = {"namespace", "pod"}
"""Labels that scraping adds to every series."""


def rules() -> list[Object]:
    [found] = only(render("--set=metrics.alerts.enabled=true"), "PrometheusRule")["spec"]["groups"]
    return list(found["rules"])


def board() -> Any:  # noqa: ANN401 - Grafana's JSON
    found = only(render("--set=metrics.dashboard.enabled=true"), "ConfigMap")
    return json.loads(found["data"]["penstock.json"])


def queries() -> Iterator[tuple[str, str]]:
    """Yield the legends and queries of the dashboard, with variables replaced."""
    for target in (target for panel in board()["panels"] for target in panel.get("targets", [])):
        expression = target["expr"]
        for variable, value in GRAFANAS.items():
            expression = expression.replace(variable, value)
        yield target["legendFormat"], expression


def served() -> dict[str, set[str]]:
    """Return the labels of every series that our programs serve."""
    found = {}
    for name, family in (by_operator(Leadership.alone()) | by_worker()).items():
        found[f"{name}_bucket" if family.type == "histogram" else name] = labels_of(family)
    return found


def promtool(tmp_path: Path, *arguments: str, **files: object) -> None:
    for name, content in files.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(content))
    command: list[str | Path] = [binaries.promtool(), *arguments]
    outcome = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_the_service_monitor_finds_the_metrics_of_the_service(namespace: Namespace) -> None:
    objects = render("--set=metrics.serviceMonitor.enabled=true", namespace=namespace.name)
    service, monitor = only(objects, "Service"), only(objects, "ServiceMonitor")
    assert service["spec"]["ports"][0]["targetPort"] in {port["name"] for port in container(objects)["ports"]}
    assert service["spec"]["ports"][0]["name"] == monitor["spec"]["endpoints"][0]["port"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    namespace.client.apply(service, dry_run=True)


def test_series_keep_their_namespace_label() -> None:
    """Otherwise Prometheus would replace it with the operator's own namespace."""
    values = ("--set=metrics.podMonitor.enabled=true", "--set=metrics.podMonitor.labels.release=prometheus")
    monitor = only(render(*values), "PodMonitor")
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    endpoint = {"port": "probes", "path": "/metrics", "interval": "30s", "honorLabels": True}
    assert monitor["spec"]["podMetricsEndpoints"] == [endpoint]


def test_workers_are_scraped_in_the_namespaces_of_the_operator() -> None:
    for values, where in (((), {"any": True}), (("--set=namespaces={orders}",), {"matchNames": ["orders"]})):
        monitor = only(render("--set=metrics.workerPodMonitor.enabled=true", *values), "PodMonitor")
        template = made(group()).deployment["spec"]["template"]
        assert monitor["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
        ports = {port["name"] for each in template["spec"]["initContainers"] for port in each["ports"]}
        assert {endpoint["port"] for endpoint in monitor["spec"]["podMetricsEndpoints"]} <= ports
        assert monitor["spec"]["namespaceSelector"] == where


def test_alerts_and_dashboard_use_only_metrics_and_labels_that_exist(subtests: pytest.Subtests) -> None:
    known = served()
    places = {"alerts": [rule["expr"] for rule in rules()], "dashboard": [query for _, query in queries()]}
    for place, expressions in places.items():
        with subtests.test(place):
            asked: set[str] = set()
            for expression in expressions:
                names = set(re.findall(r"penstock_\w+", expression))
                assert names <= known.keys(), expression
                labels = {label for name in names for label in known[name]} | OF_TARGETS | {"le"}
                parts = re.findall(r"(?:by|on) \(([^)]*)\)", expression)
                grouped = [word.strip() for part in parts for word in part.split(",")]
                chosen = re.findall(r"(\w+)(?:=|!=|=~|!~)\"", expression)
                assert {*grouped, *chosen} <= labels, expression
                asked |= names
            assert len(asked) > 8, "too few metrics are used"


def test_legends_use_only_labels_of_their_query() -> None:
    for legend, expression in queries():
        grouped = re.search(r"by \(([^)]*)\)", expression)
        left = {word.strip() for word in grouped[1].split(",")} if grouped else OF_TARGETS
        assert set(re.findall(r"{{(\w+)}}", legend)) <= left, legend


def test_prometheus_accepts_all_queries_of_the_dashboard(tmp_path: Path) -> None:
    recorded = [{"record": f"query:{number}", "expr": query} for number, (_, query) in enumerate(queries())]
    groups = {"groups": [{"name": "dashboard", "rules": recorded}]}
    promtool(tmp_path, "check", "rules", "--lint=none", "queries.yaml", queries=groups)


def test_panels_do_not_overlap() -> None:
    panels = board()["panels"]
    assert max(Counter(panel["id"] for panel in panels).values()) == 1
    taken: Counter[tuple[int, int]] = Counter()
    for place in (panel["gridPos"] for panel in panels):
        across, down = range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])
        taken.update((x, y) for x in across for y in down)
    assert set(taken.values()) == {1}
    assert max(x for x, _ in taken) < 24


def test_the_dashboard_has_the_label_of_grafanas_sidecar(namespace: Namespace) -> None:
    values = ("--set=metrics.dashboard.enabled=true", "--set=metrics.dashboard.annotations.grafana_folder=Data")
    found = only(render(*values, namespace=namespace.name), "ConfigMap")
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert found["metadata"]["annotations"] == {"grafana_folder": "Data"}
    namespace.client.apply(found, dry_run=True)


def test_alerts_fire_in_the_cases_of_alerts_yaml_and_only_then(tmp_path: Path) -> None:
    """Promtool runs them over given series, without annotations, which it would compare word by word."""
    bare = [{key: value for key, value in rule.items() if key != "annotations"} for rule in rules()]
    groups = {"groups": [{"name": "penstock", "rules": bare}]}
    cases = {**CASES, "rule_files": ["rules.yaml"]}
    promtool(tmp_path, "test", "rules", "cases.yaml", rules=groups, cases=cases)


def test_each_alert_has_annotations_and_cases_where_it_fires_and_does_not(tmp_path: Path) -> None:
    cases = [case for test in CASES["tests"] for case in test["alert_rule_test"]]
    fired = {(case["alertname"], bool(case.get("exp_alerts"))) for case in cases}
    assert fired == {(rule["alert"], fires) for rule in rules() for fires in (True, False)}
    found = rules()
    for rule in found:
        assert set(rule["annotations"]) == {"summary", "action"}
        assert rule["labels"]["severity"] in {"warning", "critical"}
    promtool(tmp_path, "check", "rules", "rules.yaml", rules={"groups": [{"name": "penstock", "rules": found}]})
