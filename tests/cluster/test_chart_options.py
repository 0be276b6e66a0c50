"""Options of the chart that a usual installation does not have, in a cluster that has nothing of Tangram."""

from __future__ import annotations

import base64
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cluster_support import eventually
from launcher.client import ClusterControl
from story import ROOT, allocated, claim, create, devices, sight
from traces import traces_of
from webhook_clients import authority, pair

from kube_api import PODS, KubeApi

HERE = "tests/cluster/test_chart_options.py"
NAMESPACE = "tangram-system"
DEFINITIONS = ROOT / "tests/data/definitions"
SIMULATED = ("hardware=simulated", "image.repository=localhost/tangram", "image.tag=test")
WITH_OTHERS = ("metrics.enabled=true", "controller.enabled=true", "controller.certManager=true")
DRIVER = "gpu.example.com"
NAMES = re.compile(r"tangram|gpu\.example\.com")
OF_OTHERS = {"PodMonitor", "PrometheusRule", "Certificate", "Issuer"}
SECRETS = ("tangram-metrics-tls", "tangram-controller-webhook")

Helm = Callable[..., "subprocess.CompletedProcess[str]"]
Kubectl = Callable[..., str]


@pytest.fixture
def helm(control: ClusterControl, kubeconfig: Path, kubectl: Kubectl) -> Iterator[Helm]:
    """Run a command of Helm's for the release ``tangram``, in a namespace that ends with the test."""
    if not control.state().is_bare:
        pytest.skip(f"needs a cluster without Tangram: hack/cluster test -- {HERE}")

    def run(command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        whole = ("helm", *command.split(), "tangram", *arguments, f"--namespace={NAMESPACE}")
        config = f"--kubeconfig={kubeconfig}"
        return subprocess.run((*whole, config), capture_output=True, text=True, check=False, timeout=120)

    kubectl("create", "namespace", NAMESPACE)
    kubectl("label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=privileged")
    yield run
    run("uninstall", "--ignore-not-found")
    kubectl("delete", "namespace", NAMESPACE)


@pytest.fixture
def install(helm: Helm) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Install the chart with options, or change its release."""

    def run(*options: str, command: str = "install") -> subprocess.CompletedProcess[str]:
        chosen = (f"--set={one}" for one in options)
        more = ("--reset-then-reuse-values",) if command == "upgrade" else ()
        return helm(command, str(ROOT / "deploy/helm/tangram"), *chosen, *more)

    return run


@pytest.fixture
def definitions(kubectl: Kubectl) -> Iterator[None]:
    """The kinds of the Prometheus operator and of cert-manager; neither of them runs."""
    files = [f"--filename={file}" for file in sorted(DEFINITIONS.glob("*.yaml"))]
    kubectl("apply", "--server-side", *files)
    kubectl("wait", "--for=condition=Established", "--timeout=30s", *files)
    yield
    kubectl("delete", *files)


def is_within(wanted: Any, stored: Any) -> bool:
    """Whether everything of one value is in another, which may have defaults besides."""
    if isinstance(wanted, dict):
        return all(key in stored and is_within(one, stored[key]) for key, one in wanted.items())
    if isinstance(wanted, list):
        return len(wanted) == len(stored) and all(map(is_within, wanted, stored))
    return bool(wanted == stored)


def test_options_whose_kinds_the_cluster_lacks_are_refused_and_nothing_is_installed(
    install: Helm, helm: Helm
) -> None:
    done = install(*SIMULATED, *WITH_OTHERS)

    assert done.returncode != 0
    assert "but the cluster does not serve " in done.stderr
    assert "first, or leave the option out" in done.stderr
    assert "not found" in helm("status").stderr


@pytest.mark.usefixtures("definitions")
def test_metrics_and_certificates_of_others_are_accepted_as_they_are_and_the_programs_run_with_them(
    install: Helm, helm: Helm, kubectl: Kubectl, tmp_path: Path
) -> None:
    done = install(*SIMULATED, *WITH_OTHERS)
    assert done.returncode == 0, done.stderr

    manifest = [one for one in yaml.safe_load_all(helm("get manifest").stdout) if one]
    wanted = [one for one in manifest if one["kind"] in OF_OTHERS]
    for one in wanted:
        name = f"{one['kind']}/{one['metadata']['name']}"
        stored = json.loads(kubectl("get", name, f"--namespace={NAMESPACE}", "--output=json"))
        assert is_within(one["spec"], stored["spec"]), name
    assert {one["kind"] for one in wanted} == OF_OTHERS
    # What cert-manager would do.
    for secret in SECRETS:
        kubectl("apply", f"--filename={secret_file(secret, tmp_path)}")
    for workload in ("daemonset/tangram", "deployment/tangram-controller"):
        kubectl("rollout", "status", workload, f"--namespace={NAMESPACE}", "--timeout=80s")


def secret_file(name: str, folder: Path) -> Path:
    certificate, key = (base64.b64encode(one).decode() for one in pair(authority()))
    metadata = {"name": name, "namespace": NAMESPACE}
    data = {"tls.crt": certificate, "tls.key": key}
    file = folder / f"{name}.json"
    secret = {"kind": "Secret", "type": "kubernetes.io/tls", "metadata": metadata, "data": data}
    file.write_text(json.dumps({"apiVersion": "v1", **secret}))
    return file


@pytest.mark.timeout(400)
def test_another_driver_with_other_folders_serves_pods_and_is_removed_from_the_node_by_the_same_options(
    install: Helm,
    helm: Helm,
    kubectl: Kubectl,
    api: KubeApi,
    control: ClusterControl,
    namespace: str,
    node: str,
) -> None:
    def traces() -> set[str]:
        return traces_of(lambda text: kubectl(*text.split()[1:]), control.node_root(node), NAMES)

    before = traces()
    done = install(*SIMULATED, f"driverName={DRIVER}", "cdiDir=/etc/cdi")
    assert done.returncode == 0, done.stderr
    kubectl("rollout", "status", "daemonset/tangram", f"--namespace={NAMESPACE}", "--timeout=80s")

    pod = create(api, "whole-gpu", namespace)
    seen = sight(api, pod, namespace)
    (device,) = allocated(claim(api, pod, namespace)).values()
    assert seen.devices == {devices(api, node, DRIVER)[device]["uuid"]}
    there = traces() - before
    assert f"var/lib/kubelet/plugins/{DRIVER}" in there
    assert {path.rpartition("/")[0] for path in there if "cdi/" in path} == {"etc/cdi"}

    api.delete(PODS, pod, namespace)
    eventually(lambda: not pods(api, namespace), "the pod has ended")
    assert install("cleanNodes=true", command="upgrade").returncode == 0
    kubectl("rollout", "status", "daemonset/clean-nodes", f"--namespace={NAMESPACE}", "--timeout=80s")
    assert helm("uninstall").returncode == 0

    # The kubelet deletes the slices half a minute after the plugin is gone.
    eventually(lambda: not traces() - before, "nothing of Tangram is left", 90.0)


def pods(api: KubeApi, namespace: str) -> list[str]:
    return [one.metadata.name for one in api.list(PODS, namespace).items]
