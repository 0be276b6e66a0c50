"""A policy file in a real cluster: a change of it under a running pod."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cluster_support import eventually, running
from launcher.client import ClusterControl
from offering import ask, end
from plugin_support import PluginSite
from story import ROOT, devices, slices

from kube_api import DEVICE_CLASSES, PODS, RESOURCE_SLICES, KubeApi

HEAD = "apiVersion: tangram.dev/v1alpha1\nkind: NodePolicy\nrules:\n"
WHOLE, MIG = (f"{HEAD}- gpus:\n  - modes: [{mode}]\n" for mode in ("whole", "mig"))
GPU = 'own.type == "gpu" && own.minor == 0'
PART = 'own.type == "mig" && own.profile == "3g.20gb" && own.parentMinor == 0'


@pytest.fixture
def site(api: KubeApi, control: ClusterControl, kubeconfig: Path, node: str) -> Iterator[PluginSite]:
    """A driver of its own on the node: a plugin and an agent that follow a policy."""
    driver = f"p{uuid.uuid4().hex[:6]}.tangram.dev"
    with TemporaryDirectory(prefix="tg-", dir="/var/tmp") as folder:
        found = PluginSite(api, control, kubeconfig, node, driver, Path(folder))
        (Path(folder) / "policy.yaml").write_text(WHOLE)
        with following(found):
            yield found


@contextmanager
def following(site: PluginSite) -> Iterator[None]:
    selector = {"cel": {"expression": f'device.driver == "{site.driver}"'}}
    document = {"metadata": {"name": site.device_class}, "spec": {"selectors": [selector]}}
    site.api.create(DEVICE_CLASSES, document)
    policy = f"--policy={site.folder / 'policy.yaml'}"
    command = (
        *(sys.executable, "-m", "agent", f"--kubeconfig={site.kubeconfig}", f"--node-name={site.node}"),
        *(f"--driver-name={site.driver}", f"--simulated={site.node_file}"),
        *(f"--machine={site.machine_dir}", "--no-composite", policy),
    )
    try:
        site.start(None, policy)
        with (site.folder / "agent.log").open("wb") as out:
            process = subprocess.Popen(command, stderr=out, cwd=ROOT)
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)
    finally:
        site.close()
        for one in slices(site.api, site.node, site.driver):
            site.api.delete(RESOURCE_SLICES, one["metadata"]["name"])
        site.api.delete(DEVICE_CLASSES, site.device_class)


def offered(site: PluginSite) -> set[str]:
    return set(devices(site.api, site.node, site.driver))


def test_from_whole_to_mig_nothing_happens_to_a_running_pod_and_partitions_are_offered_after_it(
    site: PluginSite, namespace: str
) -> None:
    eventually(lambda: offered(site) == {"gpu-0", "gpu-1"}, "both GPUs are offered whole")
    ask(site, "whole", namespace, GPU)
    running(site.api, "whole", namespace)
    before = site.api.get(PODS, "whole", namespace).document["status"]["containerStatuses"]

    (site.folder / "policy.yaml").write_text(MIG)
    eventually(lambda: "gpu-1-mig-3g-20gb-0-3" in offered(site), "the free GPU is offered in partitions")
    during = offered(site)
    after = site.api.get(PODS, "whole", namespace).document["status"]["containerStatuses"]
    told = site.log()
    end(site, "whole", namespace)
    eventually(lambda: "gpu-0-mig-3g-20gb-0-3" in offered(site), "so is the other one, after its pod")
    ask(site, "part", namespace, PART)
    running(site.api, "part", namespace)
    end(site, "part", namespace)

    assert "gpu-0" in during
    assert not {name for name in during if name.startswith("gpu-0-mig")}
    assert before == after
    assert "is not in effect yet on gpu-0" in told
    assert not {"gpu-0", "gpu-1"} & offered(site)
