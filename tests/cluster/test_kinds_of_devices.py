"""NICs, VFs and shared GPUs under a real kubelet, from a claim to a container that has the device nodes.

Device nodes of a simulated machine are copies of the null device: their names are looked at, and what the
container is told. GPUs that links join are in test_linked_gpus.py.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from cluster_support import Document, eventually, pod, running
from launcher.client import ClusterControl
from plugin_support import PluginSite
from story import ROOT, allocated, devices, refusal

from agent.hardware.open import simulated_hardware
from agent.hardware.types import Bdf
from agent.inventory.modes import GpuModes, ModesOfGpu
from kube_api import PODS, RESOURCE_CLAIMS, KubeApi

NODES = "find /dev/infiniband /dev/vfio /dev/nvidia* -type c 2>/dev/null"
LOOKS = ("sh", "-c", f"env; {NODES}; echo end; exec sleep 100000")
NIC_WITH_VFS = "0000:19:00.0"
EXAMPLE = ROOT / "deploy/examples/mig-vf-claim.yaml"


@pytest.fixture
def site_of(
    api: KubeApi, control: ClusterControl, kubeconfig: Path, node: str
) -> Iterator[Callable[..., PluginSite]]:
    """Make a driver of its own on the node, whose plugin serves a simulated machine."""
    with ExitStack() as opened:

        def made(machine: str, modes: GpuModes | None = None) -> PluginSite:
            folder = Path(opened.enter_context(TemporaryDirectory(prefix="tg-", dir="/var/tmp")))
            driver = f"k{uuid.uuid4().hex[:6]}.tangram.dev"
            site = PluginSite(api, control, kubeconfig, node, driver, folder, node_file=machine)
            opened.enter_context(site.published(modes))
            opened.callback(site.close)
            site.start(None, *(("--gpu-modes", "all=whole,mig,shared") if modes else ()))
            return site

        yield made


def wants(site: PluginSite, expression: str, **more: Any) -> Document:
    """What a request says that asks for one device of the driver. Shape: ``own`` are its attributes."""
    selector = {"cel": {"expression": expression.replace("own", f'device.attributes["{site.driver}"]')}}
    return {"deviceClassName": site.device_class, "selectors": [selector], **more}


def ask(
    site: PluginSite, name: str, namespace: str, wanted: Document, parameters: Mapping[str, Any] | None = None
) -> None:
    """Make a claim for one device and a pod with it."""
    found: Document = {"requests": [{"name": "r", "exactly": wanted}]}
    if parameters:
        opaque = {"driver": site.driver, "parameters": {"apiVersion": "tangram.dev/v1alpha1", **parameters}}
        found["config"] = [{"opaque": opaque}]
    start(site, name, namespace, found)


def start(site: PluginSite, name: str, namespace: str, wanted: Document) -> None:
    site.api.create(RESOURCE_CLAIMS, {"metadata": {"name": name}, "spec": {"devices": wanted}}, namespace)
    site.api.create(PODS, pod(name, command=LOOKS, claims={"c": name}), namespace)


def seen(site: PluginSite, name: str, namespace: str) -> str:
    """What the container of a pod has printed."""
    running(site.api, name, namespace)
    path = f"{PODS.path(namespace, name)}/log"
    return eventually(lambda: text if "\nend\n" in (text := site.api.raw_get(path)) else "", "the pod's log")


def end(site: PluginSite, name: str, namespace: str) -> None:
    """Delete a pod and its claim."""
    site.delete_pod(namespace, name)
    site.api.delete(RESOURCE_CLAIMS, name, namespace)


def told(site: PluginSite, name: str, namespace: str) -> list[Mapping[str, Any]]:
    """What the claim's status says of the hardware, by device."""
    found = eventually(
        lambda: site.status_devices(namespace, name), f"the status of {name} tells its devices"
    )
    return [device["data"] for device in found]


def test_a_mig_partition_and_an_rdma_vf_below_one_switch_reach_one_container(
    site_of: Callable[..., PluginSite], namespace: str, api: KubeApi, node: str
) -> None:
    site = site_of("dgx-a100")
    text = EXAMPLE.read_text().replace("tangram.dev", site.driver)
    wanted = yaml.safe_load(text)["spec"]["devices"]
    for request in wanted["requests"]:
        kind = request["exactly"]["deviceClassName"].partition(".")[0]
        own = wants(site, f'own.type == "{kind}"')
        own["selectors"] += request["exactly"].get("selectors", [])
        request["exactly"] = own
    wanted["constraints"].append({"requests": ["mig", "vf"], "matchAttribute": f"{site.driver}/pcieSwitch"})

    start(site, "both", namespace, wanted)
    text = seen(site, "both", namespace)

    names = allocated(dict(api.get(RESOURCE_CLAIMS, "both", namespace).document))
    known = devices(api, node, site.driver)
    mig, vf = told(site, "both", namespace)
    assert known[names["mig"]]["pcieSwitch"] == known[names["vf"]]["pcieSwitch"]
    assert re.search(rf"^TANGRAM_DEVICE_GPU_\d_MIG_1G_5GB_\d={mig['uuid']}$", text, re.MULTILINE)
    assert re.search(rf"^TANGRAM_DEVICE_NIC_\w+_VF_\d={vf['pciAddress']}$", text, re.MULTILINE)
    assert len(re.findall(r"^/dev/infiniband/uverbs\d+$", text, re.MULTILINE)) == 1
    assert "/dev/infiniband/rdma_cm\n" in text
    assert len(re.findall(r"^/dev/nvidia-caps/", text, re.MULTILINE)) == 2
    end(site, "both", namespace)
    assert site.nothing_is_left()


def test_a_container_has_a_whole_nic_for_rdma_and_no_other_claim_a_vf_of_it(
    site_of: Callable[..., PluginSite], namespace: str
) -> None:
    site = site_of("a30x4")

    ask(site, "nic", namespace, wants(site, f'own.type == "nic" && own.pfPciAddress == "{NIC_WITH_VFS}"'))
    text = seen(site, "nic", namespace)
    (data,) = told(site, "nic", namespace)
    ask(site, "vf", namespace, wants(site, 'own.type == "vf"'))
    why = refusal(site.api, "vf", namespace)
    end(site, "nic", namespace)
    after = seen(site, "vf", namespace)
    end(site, "vf", namespace)

    assert data["pciAddress"] == NIC_WITH_VFS
    assert f"={data['pciAddress']}\n" in text
    assert len(re.findall(r"^/dev/infiniband/uverbs\d+$", text, re.MULTILINE)) == 1
    assert "cannot allocate all claims" in why
    assert "/dev/infiniband/uverbs" in after
    assert site.nothing_is_left()


def test_a_container_has_the_vfio_group_of_a_vf_whose_own_driver_comes_back(
    site_of: Callable[..., PluginSite], namespace: str
) -> None:
    site = site_of("a30x4")
    nics = simulated_hardware(site.machine).nics.reader

    ask(site, "vm", namespace, wants(site, 'own.type == "vf"'), {"kind": "VfConfig", "mode": "vfio"})
    text = seen(site, "vm", namespace)
    (data,) = told(site, "vm", namespace)
    vf = Bdf(data["pciAddress"])
    driver = nics.binding(vf).driver
    end(site, "vm", namespace)

    assert driver == "vfio-pci"
    assert {"/dev/vfio/vfio", f"/dev/vfio/{data['iommuGroup']}"} <= set(text.splitlines())
    assert "/dev/infiniband" not in text
    assert site.nothing_is_left()
    assert nics.binding(vf).driver == "mlx5_core"


def test_two_pods_share_a_gpu_and_nobody_gets_it_whole_meanwhile(
    site_of: Callable[..., PluginSite], namespace: str
) -> None:
    site = site_of("a100x2", GpuModes(ModesOfGpu(shared=100)))
    share = wants(
        site, 'own.type == "gpu-shared" && own.minor == 0', capacity={"requests": {"memory": "10Gi"}}
    )

    for name in ("one", "two"):
        ask(site, name, namespace, share)
    texts = [seen(site, name, namespace) for name in ("one", "two")]
    ask(site, "whole", namespace, wants(site, 'own.type == "gpu" && own.minor == 0'))
    why = refusal(site.api, "whole", namespace)
    for name in ("one", "two"):
        end(site, name, namespace)
    whole = seen(site, "whole", namespace)
    end(site, "whole", namespace)

    for text in texts:
        assert "/dev/nvidia0\n" in text
        assert "TANGRAM_DEVICE_GPU_0_SHARED_MEMORY_BYTES=10737418240\n" in text
    assert "cannot allocate all claims" in why
    assert f"TANGRAM_DEVICE_GPU_0={site.machine.node.cards[0].uuid}\n" in whole
    assert site.nothing_is_left()
