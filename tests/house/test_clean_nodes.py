"""The pods that clean nodes look where the installation was, as the install guide says."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from plugin.arguments import clean_parser

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(
    r"^```yaml\n(.*?)^```\n", (ROOT / "docs/install.md").read_text(), re.DOTALL | re.MULTILINE
)


@pytest.fixture
def cleaning(kustomize, tmp_path):
    """Render the folder with the lines of a block of the guide; return the pod that it makes."""

    def render(words=None):
        lines = "" if words is None else next(block for block in BLOCKS if words in block)
        folder = os.path.relpath(ROOT / "deploy", tmp_path)
        chosen = f"resources: [../deploy/manifests/clean-nodes]\n{lines}".replace("../deploy", folder)
        (tmp_path / "kustomization.yaml").write_text(chosen)
        (pod,) = (one for one in kustomize(tmp_path) if one["kind"] == "DaemonSet")
        return pod["spec"]["template"]["spec"]

    return render


def given(pod):
    """What the program is given, with its variables filled in as the kubelet does."""
    (container,) = pod["initContainers"]
    values = {one["name"]: one["value"] for one in container["env"]}
    arguments = [re.sub(r"\$\(([A-Z_]+)\)", lambda match: values[match[1]], one) for one in container["args"]]
    return clean_parser().parse_args(arguments)


def test_they_look_for_the_usual_name(cleaning):
    assert given(cleaning()).driver_name == "tangram.dev"


def test_the_component_for_another_name_of_the_driver_changes_theirs(cleaning):
    assert given(cleaning("name: driver")).driver_name == "gpu.example.com"


def test_other_folders_are_given_and_mounted_at_their_own_paths(cleaning):
    pod = cleaning("name: clean-nodes")
    arguments, (container,) = given(pod), pod["initContainers"]
    paths = {one["name"]: one["hostPath"]["path"] for one in pod["volumes"]}
    mounted = {one["mountPath"] for one in container["volumeMounts"]}

    assert (arguments.kubelet_dir, arguments.cdi_dir) == (Path("/data/kubelet"), Path("/etc/cdi"))
    assert str(arguments.kubelet_dir) in mounted
    assert str(arguments.cdi_dir) in mounted
    assert {one["name"]: one["mountPath"] for one in container["volumeMounts"]} == paths
