"""Somebody new clones Tangram, does what its pages say, and removes it: nothing is left.

The commands are read from the README and install page of the clone, and run as printed. A block names the
test that runs it. Only ``sudo make cluster`` and ``make test`` of the README are left out: the first opens
the shell that the cluster of this test stands for, the second runs all other tests.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from chromium import real_chromium
from cluster_support import eventually, running
from launcher.client import ClusterControl
from launcher.newcomer import VARIABLE
from newcomers_report import shown
from pages.blocks import Block, blocks_of
from pages.sessions import Shell, check
from traces import traces_of

from kube_api import RESOURCE_CLAIMS, KubeApi

PUBLISHED = "registry.example.com/tangram:0.1.0"
EXAMPLES = "deploy/examples/cluster"
SECONDS = 150

Run = Callable[..., str]


@pytest.fixture(scope="module")
def clone() -> Path:
    """The folder of a real clone, with packages of its own in .venv."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        pytest.skip("needs a clone: hack/cluster test -- tests/cluster/test_newcomer.py")
    return Path(folder)


@pytest.fixture
def shell(clone: Path, kubeconfig: Path) -> Shell:
    """A shell in the clone, with the programs of its .venv."""
    path = f"{clone / '.venv/bin'}:{os.environ['PATH']}"
    return Shell(clone, {"PATH": path, "KUBECONFIG": str(kubeconfig)}, SECONDS)


@pytest.fixture
def run(shell: Shell) -> Run:
    """Run commands as a user does; return what they print."""

    def commands(text: str) -> str:
        done = shell.run(f"set -euo pipefail\n{text}")
        assert done.returncode == 0, f"{text}\n{done.stdout}"
        return done.stdout

    return commands


@pytest.fixture
def named(request: pytest.FixtureRequest, clone: Path) -> Callable[[str], list[Block]]:
    """Finds the blocks of commands of a page whose marker names this test."""
    name = f"tests/cluster/test_newcomer.py::{request.node.name}"
    return lambda page: [one for one in blocks_of(clone / page) if one.marker and name in one.marker.tests]


@pytest.fixture
def bare_node(control: ClusterControl, node: str) -> str:
    """A node that has the image and nothing else of Tangram."""
    if not control.state().is_bare:
        pytest.skip("needs a cluster without Tangram: hack/cluster test -- tests/cluster/test_newcomer.py")
    ctr = ("ctr", "-a", "/run/containerd/containerd.sock", "-n", "k8s.io", "images", "tag", "--force")
    tagged = control.run_on_node(node, [*ctr, "localhost/tangram:test", PUBLISHED])
    assert tagged.returncode == 0, tagged.stderr
    return node


@pytest.fixture
def traces(bare_node: str, control: ClusterControl, run: Run) -> Callable[[], set[str]]:
    """Lists everything of Tangram that is in the cluster and on the node now."""
    return lambda: traces_of(run, control.node_root(bare_node))


@pytest.mark.timeout(400)
def test_the_readme_does_what_it_says(clone: Path, shell: Shell) -> None:
    for block in blocks_of(clone / "README.md"):
        if block.is_run:
            check(block, shell)


@pytest.mark.timeout(400)
def test_kustomize_installs_as_printed_and_leaves_nothing(
    bare_node: str, named: Callable[[str], list[Block]], run: Run, traces: Callable[[], set[str]]
) -> None:
    install, claims, remove, clean = (one.text for one in named("docs/install.md"))
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
    named: Callable[[str], list[Block]],
    shell: Shell,
    run: Run,
    traces: Callable[[], set[str]],
    api: KubeApi,
) -> None:
    install, upgrade, remove = (one.text for one in named("docs/install.md"))
    (first_claim,) = named("README.md")
    before = traces()
    run(f"kubectl label node {bare_node} tangram.dev/node=true")
    run(install)
    # This node has no GPU: from here on it simulates one.
    run(f"{upgrade.strip()} --set hardware=simulated")
    run("kubectl --namespace tangram-system rollout status daemonset/tangram --timeout=90s")

    check(first_claim, shell)
    run(f"kubectl apply -f {EXAMPLES}/whole-gpu.yaml")
    running(api, "whole-gpu", "default")
    run(f"kubectl apply -f {EXAMPLES}/shared-partition.yaml")
    waiting = eventually(lambda: claim_of(api, "shared-partition"), "the pod that waits has a claim")
    why = run(f"tangram explain --cluster --claim default/{waiting} || test $? = 1")
    assert "default/four-partitions" in why
    assert "default/four-partitions" in run("tangram top --cluster")
    run("tangram report --cluster --html report.html")
    with real_chromium() as browser:
        report = shown(browser, shell.folder / "report.html", bare_node, "default/shared-partition")
    assert report.title == "Tangram: who holds what"
    assert {"default/four-partitions", "default/whole-gpu"} <= report.holders
    assert "default/four-partitions" in report.why
    assert report.requests == ()
    run(upgrade)
    running(api, "four-partitions", "default")
    run("kubectl delete pods,resourceclaimtemplates --all --wait --timeout=60s")
    run(remove)
    run(f"kubectl label node {bare_node} tangram.dev/node-")

    # The kubelet deletes the slices half a minute after the plugin is gone.
    eventually(lambda: not traces() - before, "nothing of Tangram is left", 90.0)


def claim_of(api: KubeApi, pod: str) -> str:
    found = (one.metadata.name for one in api.list(RESOURCE_CLAIMS, "default").items)
    return next((name for name in found if name.startswith(pod)), "")
