"""GPUs that links join, from a table to a container: agent, scheduler, kubelet and plugin of one node."""

from __future__ import annotations

import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cluster_support import Document, eventually, pod, running
from launcher.client import ClusterControl
from plugin_support import PluginSite
from story import ROOT, devices, refusal, slices

from kube_api import DEVICE_CLASSES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES, KubeApi

TABLE = "--partitions=hgx-h100"
ALL_DEVICES = 287


@pytest.fixture
def site(api: KubeApi, control: ClusterControl, kubeconfig: Path, node: str) -> Iterator[PluginSite]:
    """A driver of its own on the node: an agent and a plugin that know the same table."""
    driver = f"l{uuid.uuid4().hex[:6]}.tangram.dev"
    selector = {"cel": {"expression": f'device.driver == "{driver}"'}}
    with TemporaryDirectory(prefix="tg-", dir="/var/tmp") as folder:
        found = PluginSite(api, control, kubeconfig, node, driver, Path(folder), node_file="hgx-h100")
        document = {"metadata": {"name": found.device_class}, "spec": {"selectors": [selector]}}
        api.create(DEVICE_CLASSES, document)
        try:
            with agent(found):
                found.start(None, TABLE)
                yield found
        finally:
            found.close()
            for one in slices(api, node, driver):
                api.delete(RESOURCE_SLICES, one["metadata"]["name"])
            api.delete(DEVICE_CLASSES, found.device_class)


@contextmanager
def agent(site: PluginSite) -> Iterator[None]:
    """Run an agent of the site's driver while the block is open; all its devices are published then."""
    command = (
        *(sys.executable, "-m", "agent", f"--kubeconfig={site.kubeconfig}", f"--node-name={site.node}"),
        *(f"--driver-name={site.driver}", f"--simulated={site.node_file}"),
        *(f"--machine={site.machine_dir}", "--no-composite", TABLE),
    )
    log = site.folder / "agent.log"
    with log.open("wb") as out, subprocess.Popen(command, stderr=out, cwd=ROOT) as process:
        try:
            eventually(
                lambda: len(devices(site.api, site.node, site.driver)) == ALL_DEVICES,
                f"all devices of {site.driver}: {log}",
            )
            yield
        finally:
            process.terminate()


def ask(site: PluginSite, name: str, namespace: str, expression: str) -> None:
    selector = {"cel": {"expression": expression.replace("own", f'device.attributes["{site.driver}"]')}}
    wanted: Document = {"deviceClassName": site.device_class, "selectors": [selector]}
    spec = {"devices": {"requests": [{"name": "r", "exactly": wanted}]}}
    site.api.create(RESOURCE_CLAIMS, {"metadata": {"name": name}, "spec": spec}, namespace)
    command = ("sh", "-c", "env; ls /dev/nvidia*; exec sleep 100000")
    site.api.create(PODS, pod(name, command=command, claims={"gpus": name}), namespace)


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

    ask(site, "four", namespace, 'own.type == "gpu-partition" && own.gpuCount == 4')
    text = said(site, "four", namespace)
    (told,) = eventually(lambda: site.status_devices(namespace, "four"), "the claim's status tells the GPUs")
    ask(site, "part", namespace, 'own.type == "mig" && own.profile == "1g.10gb" && own.parentMinor == 2')
    why = refusal(site.api, "part", namespace)
    site.delete_pod(namespace, "four")
    site.api.delete(RESOURCE_CLAIMS, "four", namespace)
    after = said(site, "part", namespace)
    site.delete_pod(namespace, "part")

    assert f"TANGRAM_DEVICE_GPUS_0_1_2_3={','.join(uuids[:4])}\n" in text
    assert re.findall(r"^/dev/nvidia(\d+)$", text, re.MULTILINE) == ["0", "1", "2", "3"]
    assert told["data"]["uuids"] == uuids[:4]
    assert "cannot allocate all claims" in why
    assert re.search(r"^TANGRAM_DEVICE_GPU_2_MIG_1G_10GB_\d=MIG-", after, re.MULTILINE)
    assert site.nothing_is_left()
