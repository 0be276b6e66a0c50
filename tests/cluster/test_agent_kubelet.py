"""The agent beside a real kubelet, which deletes every slice of its node when it starts."""

from __future__ import annotations

from pathlib import Path

from agent_support import Site
from cluster_support import eventually
from launcher.client import ClusterControl

from kube_api import RESOURCE_SLICES, KubeApi


def test_slices_that_a_starting_kubelet_deletes_are_back_before_anybody_misses_them(
    api: KubeApi, kubeconfig: Path, control: ClusterControl, node: str, tmp_path: Path
) -> None:
    site = Site(api, kubeconfig, tmp_path, name=node)
    with site.agent("--no-composite"):
        site.published()
        before = site.versions()

        control.restart(f"kubelet-{node}")

        eventually(lambda: not site.versions().items() & before.items(), "the kubelet deletes them all", 60)
        site.published(timeout_s=10)
    for name in site.versions():
        api.delete(RESOURCE_SLICES, name)
