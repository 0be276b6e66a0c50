"""The chart installs what kustomize installs: for each option a kustomization gives the same objects."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from chart_cases import CASES, IMAGE, SERVED

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy/helm/tangram"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
OF_NO_NAMESPACE = {"DeviceClass", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
"""Kinds of which kustomize does not know that they belong to no namespace."""
HASHED = re.compile(r"simulated-node-[a-z0-9]{10}")


@pytest.fixture(scope="session")
def helm(program):
    """Run Helm and return what became of it; the image is given unless the options name one."""
    found = program("helm", "helm")

    def run(command, *options, namespace="tangram-system"):
        named = (
            ()
            if any("image.repository" in one for one in options)
            else ("--set", f"image.repository={IMAGE}")
        )
        release = ("tangram",) if command == "template" else ()
        return subprocess.run(
            (found, command, *release, str(CHART), "--namespace", namespace, *named, *options),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return run


@pytest.fixture
def by_helm(helm, tmp_path):
    def objects(case):
        options = [word for option in case.options for word in ("--set", option)]
        for name, text in case.files:
            (tmp_path / name).write_text(text)
            options += (
                "--set-json" if name == "affinity" else "--set-file",
                f"{name}={text if name == 'affinity' else tmp_path / name}",
            )
        served = f"--api-versions={','.join(SERVED)}"
        done = helm("template", served, *options, namespace=case.namespace)
        assert done.returncode == 0, done.stderr
        return by_name(yaml.safe_load_all(done.stdout))

    return objects


@pytest.fixture
def by_kustomize(kustomize, tmp_path):
    def objects(case):
        lines = case.kustomization.replace("../deploy", os.path.relpath(ROOT / "deploy", tmp_path))
        (tmp_path / "kustomization.yaml").write_text(lines)
        found = by_name(kustomize(tmp_path))
        # Helm stores its release in the namespace, so the namespace is there before.
        return {key: one for key, one in found.items() if key[0] != "Namespace"}

    return objects


def by_name(documents):
    """Return documents by kind and name, without what means nothing.

    That is the order of volumes, the hash in a name, and the namespace of what belongs to none.
    """
    found = {}
    for document in documents:
        if document is not None:
            one = json.loads(HASHED.sub("simulated-node-HASH", json.dumps(document)))
            key = one["kind"], one["metadata"]["name"]
            if one["kind"] in OF_NO_NAMESPACE:
                one["metadata"].pop("namespace", None)
            assert key not in found
            found[key] = ordered(one)
    return found


def ordered(value, key=None):
    if isinstance(value, dict):
        return {name: ordered(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        inner = [ordered(one) for one in value]
        return sorted(inner, key=lambda one: one["name"]) if key in {"volumes", "volumeMounts"} else inner
    return value


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_option_of_the_chart_gives_the_objects_of_its_kustomization(case, by_helm, by_kustomize):
    ours, theirs = by_helm(case), by_kustomize(case)

    assert ours.keys() == theirs.keys()
    for key, one in ours.items():
        assert one == theirs[key], key


def leaves(value, above=""):
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, f"{above}.{key}" if above else key)
    else:
        yield above


def test_every_option_of_the_chart_is_compared():
    used = {re.split(r"[=\[]", option)[0] for case in CASES.values() for option in case.options}
    used |= {name for case in CASES.values() for name, _ in case.files}
    groups = {"resources", "nodeSelector"}  # one of theirs stands for all

    missing = [
        leaf
        for leaf in leaves(VALUES)
        if leaf not in used
        and not any(
            one.startswith(leaf) or set(leaf.split(".")) & set(one.split(".")) & groups for one in used
        )
    ]

    assert missing == []


def test_the_chart_and_its_image_have_the_version_of_the_package():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    (version,) = re.findall(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)

    assert chart["version"] == chart["appVersion"] == version


def test_helm_finds_nothing_to_complain_of(helm):
    done = helm("lint", "--strict")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 chart(s) failed" in done.stdout


WRONG = {
    "image.repository=": "image.repository is empty, and no image of Tangram is published yet",
    "hardware=amd": "at '/hardware': value must be one of 'nvidia', 'nics', 'simulated'",
    "imge.tag=1": "at '': additional properties 'imge' not allowed",
    "image.tags=1": "at '/image': additional properties 'tags' not allowed",
    "driverName=Tangram": "at '/driverName': 'Tangram' does not match pattern",
    f"driverName={'a' * 64}": "at '/driverName': maxLength: got 64, want 63",
    "driverName=": "at '/driverName': '' does not match pattern",
    "kubeletDir=var/lib/kubelet": "at '/kubeletDir': 'var/lib/kubelet' does not match pattern",
    "kubeletDir=/var/lib/kubelet/": "at '/kubeletDir': '/var/lib/kubelet/' does not match pattern",
    "image.repository=tangram:1": "at '/image/repository': 'tangram:1' does not match pattern",
    "controller.replicas=0": "at '/controller/replicas': minimum: got 0, want 1",
    "controller.enabled=maybe": "at '/controller/enabled': got string, want boolean",
    "arguments[0]=partitions": "at '/arguments/0': 'partitions' does not match pattern '^--'",
    "simulatedMachine=x": 'simulatedMachine is given, but hardware is "nvidia"',
    "hardware=nics,driverRoot=/driver": 'driverRoot is "/driver", but hardware is "nics"',
    "hardware=nics,nvidiaCdiHook=/hook": 'nvidiaCdiHook is "/hook", but hardware is "nics"',
    "controller.certManager=true,controller.webhook=false": "controller.certManager is true, but controller.",
    "controller.certManager=true": "controller.certManager is true, but controller.enabled is false",
    "controller.multiNodePools=true": "controller.multiNodePools is true, but controller.enabled is false",
    "controller.page.enabled=true": "controller.page.enabled is true, but controller.enabled is false",
    "controller.page.tlsSecret=Own": "at '/controller/page/tlsSecret': 'Own' does not match pattern",
}


@pytest.mark.parametrize(("options", "message"), WRONG.items(), ids=WRONG)
def test_a_wrong_option_is_refused_with_its_name_value_and_rule(options, message, helm):
    done = helm("template", "--set", options)

    assert done.returncode != 0
    assert message in done.stderr


def test_the_plugins_folder_follows_the_drivers_name_and_the_kubelets_folder_together(helm):
    done = helm("template", "--set", "driverName=gpu.example.com,kubeletDir=/data/kubelet")
    (daemon_set,) = (one for one in yaml.safe_load_all(done.stdout) if one and one["kind"] == "DaemonSet")
    pod = daemon_set["spec"]["template"]["spec"]

    paths = {one["name"]: one["hostPath"]["path"] for one in pod["volumes"] if "hostPath" in one}
    mounted = {one["name"]: one["mountPath"] for one in pod["containers"][1]["volumeMounts"]}

    assert paths["records"] == mounted["records"] == "/data/kubelet/plugins/gpu.example.com"


def test_the_notes_show_the_logs_of_all_pods_that_clean_not_of_one_of_them():
    documents = yaml.safe_load_all((ROOT / "deploy/manifests/clean-nodes/clean-nodes.yaml").read_text())
    (daemon_set,) = (one for one in documents if one["kind"] == "DaemonSet")
    ((label, value),) = daemon_set["spec"]["selector"]["matchLabels"].items()

    notes = (CHART / "templates/NOTES.txt").read_text()

    assert f"logs --selector {label}={value} --container clean --prefix\n" in notes
    assert "logs daemonset/" not in notes


NEEDED = {
    "metrics.enabled": list(SERVED),
    "controller.certManager": [kind for kind, by in SERVED.items() if by == "cert-manager"],
}


@pytest.mark.parametrize(
    ("option", "kind"), [(option, kind) for option, kinds in NEEDED.items() for kind in kinds]
)
def test_an_option_whose_kinds_the_cluster_lacks_is_refused_with_what_to_install(option, kind, helm):
    others = ",".join(one for one in SERVED if one != kind)

    done = helm("template", "--set", f"controller.enabled=true,{option}=true", f"--api-versions={others}")

    assert done.returncode != 0
    assert f"{option} is true, but the cluster does not serve {kind}: " in done.stderr
    assert f"install {SERVED[kind]} first, or leave the option out" in done.stderr
    assert f"tell it with --api-versions={kind}\n" in done.stderr


def test_every_kind_that_is_missing_is_named_at_once(helm):
    done = helm("template", "--set", "metrics.enabled=true")

    missing = "monitoring.coreos.com/v1/PodMonitor, monitoring.coreos.com/v1/PrometheusRule"
    assert f"does not serve {missing}: install" in done.stderr
