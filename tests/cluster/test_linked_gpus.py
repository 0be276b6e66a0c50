"""GPUs that links join, from a table to a container: agent, scheduler, kubelet and plugin of one node."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cluster_support import Document, eventually, pod, running
from fleet import controller
from launcher.client import ClusterControl
from offering import ask, end, offering
from plugin_support import PluginSite
from story import refusal

from kube_api import NODES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES, KubeApi, Object
from scheduler_core.frontends.admission.changes import admission_of
from scheduler_core.model.ownership import CLAIM, CONTROLLER, OWNER

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


@pytest.fixture
def owned(site: PluginSite, kubeconfig: Path, tmp_path: Path) -> Iterator[None]:
    """The node's devices are those of a controller of the site's driver."""
    before = site.api.get(NODES, site.node).metadata.labels.get(OWNER)
    if before is not None:
        pytest.skip("the node's devices are another controller's")
    site.api.patch(NODES, site.node, {"metadata": {"labels": {OWNER: CONTROLLER}}})
    with controller(site.api, kubeconfig, tmp_path, f"--driver-name={site.driver}"):
        yield
    site.api.patch(NODES, site.node, {"metadata": {"labels": {OWNER: None}}})
    eventually(
        lambda: not any(map(is_tainted, site.api.list(RESOURCE_SLICES).items)), "no device is tainted", 60
    )


def is_tainted(one: Object) -> bool:
    return any(device.get("taints") for device in one.document["spec"].get("devices", ()))


def admitted(document: Document, namespace: str) -> Document:
    """A pod as the webhook lets it be stored."""
    found: Document = json.loads(json.dumps(document))
    for path, value in admission_of(found, namespace, "request").fields.items():
        *way, last = path.split("/")[1:]
        at = found
        for part in way:
            at = at[int(part)] if isinstance(at, list) else at[part]  # type: ignore[index]
        at[last] = value
    return found


@pytest.mark.usefixtures("owned")
def test_a_pod_that_asks_for_a_partition_of_four_gets_one_device_and_sees_its_gpus(
    site: PluginSite, namespace: str
) -> None:
    uuids = [card.uuid for card in site.machine.node.cards]
    asks = pod("train", command=LOOKS)
    asks["metadata"]["annotations"] = {"scheduling.koordinator.sh/gpu-partition-spec": "{}"}
    amounts = {"nvidia.com/gpu": "4"}
    asks["spec"]["containers"][0]["resources"] = {"requests": {**amounts}, "limits": {**amounts}}
    stored = admitted(asks, namespace)

    site.api.create(PODS, stored, namespace)
    text = said(site, "train", namespace)
    claim = site.api.get(RESOURCE_CLAIMS, stored["metadata"]["annotations"][CLAIM], namespace).document
    site.delete_pod(namespace, "train")

    (request,) = claim["spec"]["devices"]["requests"]
    (result,) = claim["status"]["allocation"]["devices"]["results"]
    assert request["exactly"]["deviceClassName"] == "gpu-partition.tangram.dev"
    assert result["device"] == "gpus-0-1-2-3"
    assert f"TANGRAM_DEVICE_GPUS_0_1_2_3={','.join(uuids[:4])}\n" in text
    assert re.findall(r"^/dev/nvidia(\d+)$", text, re.MULTILINE) == ["0", "1", "2", "3"]
    eventually(site.nothing_is_left, "nothing is left")
