"""An installation names its driver once, as the install guide says, and everything follows."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from agent.options import read_options
from plugin.arguments import parser
from plugin.options import Options

ROOT = Path(__file__).parents[2]
USUAL, OTHER = "tangram.dev", "gpu.example.com"
UID = "bd8f4e2a-0000-4000-8000-000000000000"
OVERLAYS = ["base", "overlays/nvidia", "overlays/simulated"]
QUOTED = re.compile(r'"([a-z0-9.-]+)"')
SHIPPED = (
    *("gpu", "mig", "compute-instance", "gpu-partition", "gpu-shared", "gpu-mps", "imex-channel"),
    *("nic", "vf", "vfio", "netdev"),
)
"""The kinds of device that have a class."""


@pytest.fixture
def named_otherwise(kustomize, tmp_path):
    """Render an overlay with the lines of the install guide."""
    blocks = re.findall(
        r"^```\w*\n(.*?)^```\n", (ROOT / "docs/install.md").read_text(), re.DOTALL | re.MULTILINE
    )
    (block,) = (one for one in blocks if "name: driver" in one)
    lines = block.replace("../deploy", os.path.relpath(ROOT / "deploy", tmp_path))

    def render(overlay):
        folder = os.path.relpath(ROOT / "deploy/manifests" / overlay, tmp_path)
        (tmp_path / "kustomization.yaml").write_text(f"resources: [{folder}]\n{lines}")
        return kustomize(tmp_path)

    return render


@pytest.fixture(params=OVERLAYS)
def found(request, named_otherwise):
    return named_otherwise(request.param)


def of(kind, found):
    return [document for document in found if document["kind"] == kind]


def containers(found):
    (daemon_set,) = of("DaemonSet", found)
    return {one["name"]: one for one in daemon_set["spec"]["template"]["spec"]["containers"]}


def expanded(text, container):
    """Return a text with the container's variables, as the kubelet or a shell fills them in."""
    values = {
        one["name"]: one.get("value", {"POD_UID": UID}.get(one["name"], "node-a")) for one in container["env"]
    }
    return re.sub(r"\$\(?([A-Z_]+)\)?", lambda match: values[match[1]], text)


def test_both_programs_are_given_the_name(found):
    given = {
        name: [expanded(one, container) for one in container["args"]]
        for name, container in containers(found).items()
    }

    assert read_options(given["agent"]).driver_name == OTHER
    assert parser().parse_args(given["plugin"]).driver_name == OTHER


def test_the_plugins_folder_is_mounted_and_probed_where_the_plugin_looks_for_it(found):
    plugin = containers(found)["plugin"]
    options = Options(driver_name=OTHER, node_name="node-a", pod_uid=UID)
    (volume,) = [
        one
        for one in of("DaemonSet", found)[0]["spec"]["template"]["spec"]["volumes"]
        if one["name"] == "records"
    ]
    (mount,) = [one for one in plugin["volumeMounts"] if one["name"] == "records"]

    probed = expanded(plugin["readinessProbe"]["exec"]["command"][-1], plugin)

    assert volume["hostPath"]["path"] == mount["mountPath"] == str(options.data_dir)
    assert probed == f'test -S "{options.dra_socket}"'


def test_the_right_and_the_policies_are_for_that_driver(found):
    (role,) = of("ClusterRole", found)
    named = [rule["resourceNames"] for rule in role["rules"] if "resourceNames" in rule]
    policies = of("ValidatingAdmissionPolicy", found)

    assert named == [[OTHER]]
    assert len(policies) == 4
    for policy in policies:
        variables = {one["name"]: one["expression"] for one in policy["spec"]["variables"]}
        used = [*variables.values(), *(one["expression"] for one in policy["spec"]["validations"])]
        assert variables["driver"] == f'"{OTHER}"'
        assert any("variables.driver" in expression for expression in used)


def test_every_class_selects_devices_and_attributes_of_that_driver(found):
    classes = of("DeviceClass", found)

    for one in classes:
        (selector,) = one["spec"]["selectors"]
        kind = one["metadata"]["name"].partition(".")[0].replace("vfio", "vf").replace("netdev", "vf")
        first, *rest = QUOTED.findall(selector["cel"]["expression"])
        assert {first, *rest} == {OTHER, kind}
        assert [config["opaque"]["driver"] for config in one["spec"].get("config", ())] in ([], [OTHER])
    assert len(classes) == len(SHIPPED)


def texts(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from (key, *texts(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    else:
        yield str(value)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_what_keeps_the_usual_name_is_no_drivers_name(overlay, named_otherwise):
    left = {
        (document["kind"], text)
        for document in named_otherwise(overlay)
        if document["kind"] != "CustomResourceDefinition"
        for text in texts(document)
        if USUAL in text.replace("tangram.dev/agent", "")  # as which every agent reports, whatever the driver
    }

    assert left == {
        *((kind, USUAL) for kind in ("ClusterRole", "ValidatingAdmissionPolicy")),  # the group of an API
        *(("DeviceClass", f"{kind}.{USUAL}") for kind in SHIPPED),
        ("DeviceClass", "tangram.dev/v1alpha1"),  # the version of configurations
        ("ConfigMap", f"apiVersion: {USUAL}/v1alpha1\nkind: NodePolicy\nrules: []\n"),  # and of policies
        *([("DaemonSet", "tangram.dev/node")] if overlay != "overlays/simulated" else []),
    }


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_usual_name_said_once_more_changes_nothing(overlay, named_otherwise, kustomize, tmp_path):
    named_otherwise(overlay)
    chosen = tmp_path / "kustomization.yaml"
    chosen.write_text(chosen.read_text().replace(OTHER, USUAL))

    assert kustomize(tmp_path) == kustomize(ROOT / "deploy/manifests" / overlay)


def test_pods_of_a_device_plugin_get_devices_of_that_driver(named_otherwise):
    (whole,) = [
        one for one in named_otherwise("overlays/device-plugin-pods") if "extendedResourceName" in one["spec"]
    ]

    assert QUOTED.findall(whole["spec"]["selectors"][0]["cel"]["expression"]) == [OTHER, OTHER, "gpu"]
