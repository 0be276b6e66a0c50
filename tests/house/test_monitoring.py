"""Alert rules and dashboard name metrics that exist; the component gives Prometheus a way to them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import metrics_page
import pytest
import yaml
from pages.blocks import blocks_of
from promql_names import grouping_of, metrics_of

from agent import options as agent_options
from daemon.metrics.definition import full_name
from daemon.metrics_options import read_options
from plugin import arguments as plugin_arguments

MANIFESTS = Path(__file__).parents[2] / "deploy/manifests"
FOLDER = MANIFESTS / "monitoring"
RULES = next(yaml.safe_load_all((FOLDER / "rules.yaml").read_text()))
DASHBOARD = json.loads((FOLDER / "grafana/tangram.json").read_text())
TARGET_LABELS = {"node", "namespace", "pod", "container", "instance", "job"}
"""What Prometheus adds to every series of a PodMonitor; ``node`` is of ours."""
OF_DCGM = {"UUID", "GPU_I_ID"}


def series() -> dict[str, set[str]]:
    """Return every series of the three programs with its labels."""
    found: dict[str, set[str]] = {}
    for prefix, definitions in metrics_page.PROGRAMS.values():
        for name, one in definitions.items():
            shown, labels = full_name(prefix, name, one), set(one.labels)
            if one.kind == "histogram":
                found |= {
                    f"{shown}_sum": labels,
                    f"{shown}_count": labels,
                    f"{shown}_bucket": labels | {"le"},
                }
            else:
                found[shown] = labels
    return found


def rules() -> list[dict[str, Any]]:
    return [rule for group in RULES["spec"]["groups"] for rule in group["rules"]]


def expressions() -> list[tuple[str, str]]:
    found = [(rule.get("alert") or rule["record"], rule["expr"]) for rule in rules()]
    for panel in DASHBOARD["panels"]:
        found += [(panel["title"], target["expr"]) for target in panel.get("targets", ())]
    return found


@pytest.mark.parametrize(("where", "expression"), expressions(), ids=[name for name, _ in expressions()])
def test_every_metric_and_label_of_a_rule_or_panel_exists(where: str, expression: str) -> None:
    known, named = series(), list(metrics_of(expression))

    assert named, where
    for one in named:
        assert one.metric in known, f"{where}: there is no metric {one.metric}"
        assert one.labels <= known[one.metric] | TARGET_LABELS, where
    labels = set().union(*(known[one.metric] for one in named))
    assert grouping_of(expression) <= labels | TARGET_LABELS | OF_DCGM, where


@pytest.mark.parametrize(
    "wrong",
    [
        "sum(tangram_agent_gpus_lost)",
        'tangram_plugin_claims{colour="red"} > 0',
        "rate(tangram_plugin_request_seconds[5m])",
    ],
)
def test_a_name_that_does_not_exist_would_be_found(wrong: str) -> None:
    with pytest.raises(AssertionError):
        test_every_metric_and_label_of_a_rule_or_panel_exists("a rule", wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        "sum(tangram_agent_gpus_found",
        "rate(tangram_agent_failures_total)",
        "sum by node (tangram_agent_gpus_found)",
        "tangram_agent_gpus_found{node=a}",
        "raet(tangram_agent_failures_total[5m])",
        "increase(tangram_agent_failures_total[5x]) > 3",
    ],
)
def test_an_expression_that_prometheus_would_refuse_would_be_found(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        test_every_metric_and_label_of_a_rule_or_panel_exists("a rule", wrong)


def test_the_queries_of_the_documents_can_be_asked() -> None:
    blocks = blocks_of(MANIFESTS.parents[1] / "docs/metrics.md")
    known = {*series(), *(rule["record"] for rule in rules() if "record" in rule)}

    queries = [one.text.strip() for one in blocks if one.language == "promql"]

    assert queries
    for query in queries:
        own = {one.metric for one in metrics_of(query) if not one.metric.startswith("DCGM_")}
        assert own <= known, query


@pytest.mark.parametrize(
    "rule", [rule for rule in rules() if "alert" in rule], ids=lambda rule: rule["alert"]
)
def test_every_alert_says_how_bad_it_is_what_is_wrong_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in {"warning", "critical"}
    assert set(rule["annotations"]) == {"summary", "description"}
    shown = set(re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"])))
    kept = grouping_of(rule["expr"])
    assert shown <= (kept or TARGET_LABELS), "a label that the expression drops would be empty"


def test_the_dashboard_has_what_grafana_needs_of_every_panel() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    places = set()

    assert len(set(ids)) == len(ids)
    assert {"title", "uid", "schemaVersion", "templating", "time", "panels"} <= DASHBOARD.keys()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        assert panel["type"] in {"row", "stat", "timeseries", "table"}
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & places, f"{panel['title']} lies on another panel"
        places |= cells
        for target in panel.get("targets", ()):
            assert {"refId", "expr", "datasource"} <= target.keys()


def test_every_variable_of_a_query_is_one_of_the_dashboards() -> None:
    known = {one["name"] for one in DASHBOARD["templating"]["list"]} | {"__rate_interval"}

    used = set(re.findall(r"\$\{?(\w+)", json.dumps(DASHBOARD["panels"])))

    assert used <= known


@pytest.fixture(params=["overlays/nvidia", "overlays/simulated"])
def rendered(request: Any, kustomize: Any, tmp_path: Path) -> list[dict[str, Any]]:
    overlay = os.path.relpath(MANIFESTS / request.param, tmp_path)
    component = os.path.relpath(FOLDER, tmp_path)
    text = f"namePrefix: acme-\nresources: [{overlay}]\ncomponents: [{component}]\n"
    (tmp_path / "kustomization.yaml").write_text(text)
    found: list[dict[str, Any]] = kustomize(tmp_path)
    return found


def one(kind: str, found: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (match,) = (each for each in found if (each["kind"], each["metadata"]["name"]) == (kind, name))
    return match


def test_both_programs_serve_their_metrics_by_tls_to_those_who_may(rendered: list[dict[str, Any]]) -> None:
    parsers = {"agent": agent_options.parser(), "plugin": plugin_arguments.parser()}
    pod = one("DaemonSet", rendered, "acme-tangram")["spec"]["template"]["spec"]
    for container in pod["containers"]:
        found = read_options(parsers[container["name"]].parse_args(container["args"]))
        assert found is not None
        assert (found.address.host, found.is_authorized) == ("", True)
        assert found.certificate is not None
        assert str(found.certificate.parent) in {mount["mountPath"] for mount in container["volumeMounts"]}
        assert not container.get("ports"), "on the host's network a port keeps the next pod from the node"


def listening(container: dict[str, Any]) -> str:
    """Return the port that counts of those that a container is given: the last one."""
    given = [arg for arg in container["args"] if arg.startswith("--metrics-address=")]
    return str(given[-1].rpartition(":")[2])


def test_prometheus_asks_the_ports_that_the_programs_listen_on(rendered: list[dict[str, Any]]) -> None:
    pod = one("DaemonSet", rendered, "acme-tangram")["spec"]["template"]["spec"]
    wanted = {container["name"]: listening(container) for container in pod["containers"]}
    asked = {}
    for endpoint in one("PodMonitor", rendered, "acme-tangram")["spec"]["podMetricsEndpoints"]:
        rules = endpoint["relabelings"]
        (container,) = (rule["regex"] for rule in rules if rule.get("action") == "keep")
        ports = {
            rule["replacement"].rpartition(":")[2]
            for rule in rules
            if rule.get("targetLabel") == "__address__"
        }
        (asked[container],) = ports
        assert endpoint["scheme"] == "https"

    assert asked == wanted


def test_the_token_of_prometheus_is_of_an_account_that_may_read_metrics_and_nothing_else(
    rendered: list[dict[str, Any]],
) -> None:
    for endpoint in one("PodMonitor", rendered, "acme-tangram")["spec"]["podMetricsEndpoints"]:
        secret = one("Secret", rendered, endpoint["authorization"]["credentials"]["name"])
        account = secret["metadata"]["annotations"]["kubernetes.io/service-account.name"]
        subject = {"kind": "ServiceAccount", "name": account, "namespace": "tangram-system"}
        bindings = [each for each in rendered if each["kind"] == "ClusterRoleBinding"]
        bound = [each["roleRef"]["name"] for each in bindings if subject in each["subjects"]]
        rules = one("ClusterRole", rendered, bound[0])["rules"]
        assert (len(bound), rules) == (1, [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}])


def test_the_pods_account_may_ask_who_reads_its_metrics(rendered: list[dict[str, Any]]) -> None:
    account = one("DaemonSet", rendered, "acme-tangram")["spec"]["template"]["spec"]["serviceAccountName"]
    binding = one("ClusterRoleBinding", rendered, "acme-tangram-metrics-reviews")

    assert [subject["name"] for subject in binding["subjects"]] == [account]
    rights = one("ClusterRole", rendered, binding["roleRef"]["name"])["rules"]
    assert [(rule["resources"], rule["verbs"]) for rule in rights] == [
        (["tokenreviews"], ["create"]),
        (["subjectaccessreviews"], ["create"]),
    ]


def test_the_dashboard_is_a_config_map_that_grafanas_sidecar_loads(rendered: list[dict[str, Any]]) -> None:
    found = one("ConfigMap", rendered, "acme-tangram-dashboard")

    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(found["data"]["tangram.json"]) == DASHBOARD


def test_the_certificate_is_issued_and_has_the_name_that_prometheus_asks_for(
    rendered: list[dict[str, Any]],
) -> None:
    certificate = one("Certificate", rendered, "acme-tangram-metrics")["spec"]

    assert one("Issuer", rendered, certificate["issuerRef"]["name"])
    for endpoint in one("PodMonitor", rendered, "acme-tangram")["spec"]["podMetricsEndpoints"]:
        assert endpoint["tlsConfig"]["serverName"] in certificate["dnsNames"]
        assert endpoint["tlsConfig"]["ca"]["secret"]["name"] == certificate["secretName"]
