"""Somebody new installs Tangram as the page says, uses it, and removes it: nothing is left.

The commands are those of docs/install.md, as they are printed. A block there names the test that runs it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cluster_support import eventually, running
from launcher.client import ClusterControl
from story import ROOT

from kube_api import RESOURCE_CLAIMS, KubeApi

PUBLISHED = "registry.example.com/tangram:0.1.0"
EXAMPLES = ROOT / "deploy/examples/cluster"
FENCE = re.compile(r"^<!-- tested by: ([^>]*?) -->\n```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OURS = re.compile(r"tangram")
NODE_FOLDERS = (
    "var/lib/kubelet/plugins",
    "var/lib/kubelet/plugins_registry",
    "var/lib/tangram",
    "run/cdi",
    "run/tangram",
)
OF_A_NODE = ("tangram", "tangram.dev")
SECONDS = 150

Run = Callable[..., str]


@pytest.fixture
def blocks(request: pytest.FixtureRequest) -> list[str]:
    """The commands of the install page that name this test, block by block."""
    name = f"tests/cluster/test_newcomer.py::{request.node.name}"
    return [text for tests, text in FENCE.findall((ROOT / "docs/install.md").read_text()) if name in tests]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder in which the checkout's folders lie, and into which commands may write."""
    for name in ("deploy", "tangram", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


@pytest.fixture
def run(clone: Path, kubeconfig: Path) -> Run:
    """Run commands as a user does, in the folder of the checkout; return what they print."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(clone), "PATH": path}

    def commands(text: str) -> str:
        done = subprocess.run(
            ("bash", "-euo", "pipefail", "-c", text),
            cwd=clone,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}"
        return done.stdout

    return commands


@pytest.fixture
def bare_node(control: ClusterControl, node: str, api: KubeApi) -> str:
    """A node that has the image and nothing else of Tangram."""
    if not control.state().is_bare:
        pytest.skip("needs a cluster without Tangram: hack/cluster test -- tests/cluster/test_newcomer.py")
    ctr = ("ctr", "-a", "/run/containerd/containerd.sock", "-n", "k8s.io", "images", "tag", "--force")
    tagged = control.run_on_node(node, [*ctr, "localhost/tangram:test", PUBLISHED])
    assert tagged.returncode == 0, tagged.stderr
    return node


@pytest.fixture
def traces(bare_node: str, control: ClusterControl, run: Run) -> Callable[[], set[str]]:
    """What of Tangram is in the cluster and on the node: objects of all kinds by name, files by path."""
    root = control.node_root(bare_node)

    def found() -> set[str]:
        # Events are the API server's log of what happened; they go by themselves.
        kinds = set(run("kubectl api-resources --verbs=list --output=name").split()) - {
            "events",
            "events.events.k8s.io",
        }
        objects = run(
            f"kubectl get {','.join(sorted(kinds))} --all-namespaces --output=name --ignore-not-found"
        )
        files = (path for folder in NODE_FOLDERS for path in (root / folder, *(root / folder).rglob("*")))
        on_node = {str(path.relative_to(root)) for path in files if path.exists() or path.is_symlink()}
        return {one for one in {*objects.split(), *on_node} if OURS.search(one)}

    return found


@pytest.mark.timeout(400)
def test_kustomize_installs_as_printed_and_leaves_nothing(
    bare_node: str, blocks: list[str], run: Run, traces: Callable[[], set[str]]
) -> None:
    install, claims, remove, clean = blocks
    before = traces()
    run(f"kubectl label node {bare_node} tangram.dev/node=true")

    run(install)
    assert "tangram-system" in run("kubectl get daemonsets --all-namespaces")
    run(claims)
    run(remove)
    run(clean)
    run(f"kubectl label node {bare_node} tangram.dev/node-")

    # The kubelet deletes the slices half a minute after the plugin is gone.
    eventually(lambda: not traces() - before, "nothing of Tangram is left", 90.0)


@pytest.mark.timeout(400)
def test_helm_installs_as_printed_and_leaves_nothing(
    bare_node: str,
    blocks: list[str],
    run: Run,
    clone: Path,
    traces: Callable[[], set[str]],
    api: KubeApi,
) -> None:
    install, upgrade, remove, clean = blocks
    before = traces()
    run(f"kubectl label node {bare_node} tangram.dev/node=true")
    run(install)
    # This node has no GPU: from here on it simulates one.
    run(f"{upgrade.strip()} --set hardware=simulated")
    run("kubectl --namespace tangram-system rollout status daemonset/tangram --timeout=90s")

    run(f"kubectl apply -f {EXAMPLES / 'four-partitions.yaml'}")
    running(api, "four-partitions", "default")
    assert run("kubectl logs four-partitions").count("TANGRAM_DEVICE_") == 4
    run(f"kubectl apply -f {EXAMPLES / 'whole-gpu.yaml'}")
    running(api, "whole-gpu", "default")
    run(f"kubectl apply -f {EXAMPLES / 'shared-partition.yaml'}")
    waiting = eventually(lambda: claim_of(api, "shared-partition"), "the pod that waits has a claim")
    why = run(f"tangram explain --cluster --claim default/{waiting} || test $? = 1")
    assert "four-partitions" in why
    assert "default/four-partitions" in run("tangram top --cluster")
    run("tangram report --cluster --html report.html")
    assert "four-partitions" in (clone / "report.html").read_text()
    run(upgrade)
    running(api, "four-partitions", "default")
    run("kubectl delete pods,resourceclaimtemplates --all --wait --timeout=60s")
    run(remove)
    run(clean)
    run(f"kubectl label node {bare_node} tangram.dev/node-")

    # The kubelet deletes the slices half a minute after the plugin is gone.
    eventually(lambda: not traces() - before, "nothing of Tangram is left", 90.0)


def claim_of(api: KubeApi, pod: str) -> str:
    found = (one.metadata.name for one in api.list(RESOURCE_CLAIMS, "default").items)
    return next((name for name in found if name.startswith(pod)), "")
