"""GPUs that links join, from a table to a container: agent, scheduler, kubelet and plugin of one node."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cluster_support import eventually, running
from launcher.client import ClusterControl
from offering import ask, end, offering
from plugin_support import PluginSite
from story import refusal

from kube_api import PODS, KubeApi

TABLE = "--partitions=hgx-h100"
KNOWN = {"gpu-0", "gpu-7", "gpus-0-1-2-3", "gpu-2-mig-1g-10gb-0"}
LOOKS = ("sh", "-c", "env; ls /dev/nvidia*; exec sleep 100000")


@pytest.fixture
def site(api: KubeApi, control: ClusterControl, kubeconfig: Path, node: str) -> Iterator[PluginSite]:
    """A driver of its own on the node: an agent and a plugin that know the same table."""
    driver = f"l{uuid.uuid4().hex[:6]}.tangram.dev"
    with TemporaryDirectory(prefix="tg-", dir="/var/tmp") as folder:
        found = PluginSite(api, control, kubeconfig, node, driver, Path(folder), node_file="hgx-h100")
        with offering(found, KNOWN, TABLE):
            yield found


def said(site: PluginSite, name: str, namespace: str) -> str:
    running(site.api, name, namespace)
    path = f"{PODS.path(namespace, name)}/log"
    return eventually(
        lambda: text if "/dev/nvidiactl" in (text := site.api.raw_get(path)) else "", "the pod's log"
    )


def test_a_container_gets_four_linked_gpus_alone_and_its_end_gives_them_back(
    site: PluginSite, namespace: str
) -> None:
    uuids = [card.uuid for card in site.machine.node.cards]

    ask(site, "four", namespace, 'own.type == "gpu-partition" && own.gpuCount == 4', command=LOOKS)
    text = said(site, "four", namespace)
    (told,) = eventually(lambda: site.status_devices(namespace, "four"), "the claim's status tells the GPUs")
    ask(
        site,
        "part",
        namespace,
        'own.type == "mig" && own.profile == "1g.10gb" && own.parentMinor == 2',
        command=LOOKS,
    )
    why = refusal(site.api, "part", namespace)
    end(site, "four", namespace)
    after = said(site, "part", namespace)
    site.delete_pod(namespace, "part")

    assert f"TANGRAM_DEVICE_GPUS_0_1_2_3={','.join(uuids[:4])}\n" in text
    assert re.findall(r"^/dev/nvidia(\d+)$", text, re.MULTILINE) == ["0", "1", "2", "3"]
    assert told["data"]["uuids"] == uuids[:4]
    assert "cannot allocate all claims" in why
    assert re.search(r"^TANGRAM_DEVICE_GPU_2_MIG_1G_10GB_\d=MIG-", after, re.MULTILINE)
    assert site.nothing_is_left()
