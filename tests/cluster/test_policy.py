"""One policy file in a real cluster: a change under a running pod, and a fleet of three sorts of nodes."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from agent_support import Site
from cluster_support import eventually, running
from launcher.client import ClusterControl
from offering import ask, end
from plugin_support import PluginSite
from story import ROOT, devices, slices

from kube_api import DEVICE_CLASSES, NODES, PODS, RESOURCE_SLICES, KubeApi

pytestmark = pytest.mark.timeout(300)  # many programs start here
HEAD = "apiVersion: tangram.dev/v1alpha1\nkind: NodePolicy\nrules:\n"
WHOLE, MIG = (f"{HEAD}- gpus:\n  - modes: [{mode}]\n" for mode in ("whole", "mig"))
FLEET = Path(__file__).parents[2] / "deploy/examples/policy/fleet.yaml"
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
    eventually(lambda: offered(site) == {"gpu-0", "gpu-1"}, "both GPUs are offered whole", 120.0)
    ask(site, "whole", namespace, GPU)
    running(site.api, "whole", namespace)
    before = site.api.get(PODS, "whole", namespace).document["status"]["containerStatuses"]

    (site.folder / "policy.yaml").write_text(MIG)
    eventually(
        lambda: "gpu-1-mig-3g-20gb-0-3" in offered(site), "the free GPU is offered in partitions", 60.0
    )
    during = offered(site)
    after = site.api.get(PODS, "whole", namespace).document["status"]["containerStatuses"]
    told = site.log()
    end(site, "whole", namespace)
    eventually(lambda: "gpu-0-mig-3g-20gb-0-3" in offered(site), "so is the other one, after its pod", 60.0)
    ask(site, "part", namespace, PART)
    running(site.api, "part", namespace)
    end(site, "part", namespace)

    assert "gpu-0" in during
    assert not {name for name in during if name.startswith("gpu-0-mig")}
    assert before == after
    assert "is not in effect yet on gpu-0" in told
    assert not {"gpu-0", "gpu-1"} & offered(site)


@pytest.fixture
def fleet(api: KubeApi, kubeconfig: Path) -> Iterator[dict[str, Site]]:
    """Three nodes with the labels of the example, each with a plugin and an agent of its own."""
    with ExitStack() as opened:
        found = {}
        for pool in ("training", "inference", "notebooks"):
            folder = Path(opened.enter_context(TemporaryDirectory(prefix="tg-", dir="/tmp")))
            one = Site(api, kubeconfig, folder)
            labels = {"example.com/pool": pool}
            api.create(NODES, {"metadata": {"name": one.name, "labels": labels}})
            opened.callback(one.unregister)
            opened.enter_context(plugin_of(one))
            options = (f"--policy={FLEET}", "--no-composite")
            opened.enter_context(one.agent(*options))
            found[pool] = one
        yield found


@contextmanager
def plugin_of(site: Site) -> Iterator[None]:
    """Run a plugin for a node without a kubelet: it decides what of the policy is in effect."""
    command = (
        *(sys.executable, "-m", "plugin", f"--kubeconfig={site.kubeconfig}", f"--node-name={site.name}"),
        *(f"--driver-name={site.driver}", f"--simulated={site.machine_name}"),
        *(f"--machine={site.folder / 'machine'}", f"--kubelet-dir={site.folder / 'k'}"),
        *(f"--cdi-dir={site.folder / 'cdi'}", f"--policy={FLEET}"),
    )
    with (site.folder / "plugin.log").open("wb") as out:
        process = subprocess.Popen(command, stderr=out, cwd=ROOT)
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


def test_each_node_of_a_fleet_offers_what_the_rule_for_its_label_says(fleet: dict[str, Site]) -> None:
    def names(pool: str) -> set[str]:
        site = fleet[pool]
        return set(devices(site.api, site.name, site.driver))

    def published(pool: str) -> set[str]:
        site = fleet[pool]
        found = slices(site.api, site.name, site.driver)
        wanted = {one["spec"]["pool"]["resourceSliceCount"] for one in found}
        assert wanted == {len(found)}, "".join(
            path.read_text()[-2000:] for path in fleet[pool].folder.glob("*.log")
        )
        return names(pool)

    training, inference, notebooks = (
        eventually(lambda pool=pool: published(pool), f"the node for {pool} is published", 200.0)
        for pool in ("training", "inference", "notebooks")
    )

    assert {"gpu-0", "gpu-1", "gpus-0-1"} & training
    assert not {name for name in training if "mig" in name}
    assert "gpu-0" in inference
    assert "gpu-0-mig-3g-20gb-0-3" in inference
    assert not {name for name in inference if name.startswith("gpu-1")}
    assert {"gpu-0", "gpu-0-shared", "gpu-0-mps"} <= notebooks
    assert not {name for name in notebooks if "mig" in name}
