"""Modes of one GPU in a cluster: side by side as the scheduler allocates, and in turns without groups."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from agent_support import Site, registered
from cluster_support import Document, eventually, pod, running
from launcher.client import ClusterControl
from plugin_support import PluginSite
from story import ROOT, devices, refusal, slices

from kube_api import DEVICE_CLASSES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES, KubeApi

MODES = "--gpu-modes=0=whole,mig,shared:50%,mps:50%"
RESTARTED_S = 90.0
WHOLE, SHARED, MPS = (
    'own.type == "gpu" && own.minor == 0',
    'own.type == "gpu-shared"',
    'own.type == "gpu-mps"',
)
PARTITION = 'own.type == "mig" && own.profile == "1g.5gb" && own.parentMinor == 0'


@pytest.fixture
def site(api: KubeApi, control: ClusterControl, kubeconfig: Path, node: str) -> Iterator[PluginSite]:
    """A driver of its own on the node: an agent and a plugin that offer a GPU in every mode."""
    driver = f"m{uuid.uuid4().hex[:6]}.tangram.dev"
    selector = {"cel": {"expression": f'device.driver == "{driver}"'}}
    with TemporaryDirectory(prefix="tg-", dir="/var/tmp") as folder:
        found = PluginSite(api, control, kubeconfig, node, driver, Path(folder))
        document = {"metadata": {"name": found.device_class}, "spec": {"selectors": [selector]}}
        api.create(DEVICE_CLASSES, document)
        try:
            with agent(found):
                found.start(None, MODES)
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
        *(f"--machine={site.machine_dir}", "--no-composite", MODES),
    )
    log = site.folder / "agent.log"
    with log.open("wb") as out, subprocess.Popen(command, stderr=out, cwd=ROOT) as process:
        try:
            known = {"gpu-0", "gpu-0-shared", "gpu-0-mps", "gpu-1"}
            eventually(
                lambda: known <= devices(site.api, site.node, site.driver).keys(), f"all modes: {log}", 60.0
            )
            yield
        finally:
            process.terminate()


def ask(site: PluginSite, name: str, namespace: str, expression: str, memory: str | None = None) -> None:
    selector = {"cel": {"expression": expression.replace("own", f'device.attributes["{site.driver}"]')}}
    wanted: Document = {"deviceClassName": site.device_class, "selectors": [selector]}
    if memory is not None:
        wanted["capacity"] = {"requests": {"memory": memory}}
    spec = {"devices": {"requests": [{"name": "r", "exactly": wanted}]}}
    site.api.create(RESOURCE_CLAIMS, {"metadata": {"name": name}, "spec": spec}, namespace)
    site.api.create(PODS, pod(name, claims={"gpu": name}), namespace)


def allocated(site: PluginSite, name: str, namespace: str) -> str:
    """Wait until the scheduler has allocated a claim and return the device."""

    def device() -> str:
        status = site.api.get(RESOURCE_CLAIMS, name, namespace).document.get("status", {})
        results = status.get("allocation", {}).get("devices", {}).get("results", [])
        return str(results[0]["device"]) if results else ""

    return eventually(device, f"claim {name} is allocated", 60.0)


def end(site: PluginSite, name: str, namespace: str) -> None:
    site.delete_pod(namespace, name)
    site.api.delete(RESOURCE_CLAIMS, name, namespace)


def test_shared_and_mps_go_side_by_side_and_partitions_and_the_whole_gpu_wait_until_both_are_gone(
    site: PluginSite, namespace: str
) -> None:
    ask(site, "fraction", namespace, SHARED, "10Gi")
    running(site.api, "fraction", namespace)
    ask(site, "service", namespace, MPS, "10Gi")
    beside = allocated(site, "service", namespace)
    ask(site, "second", namespace, SHARED, "10Gi")
    running(site.api, "second", namespace)
    ask(site, "third", namespace, SHARED, "1Gi")
    ask(site, "part", namespace, PARTITION)
    ask(site, "whole", namespace, WHOLE)
    refused = [refusal(site.api, name, namespace) for name in ("third", "part", "whole")]
    for name in ("third", "whole", "fraction", "second"):
        end(site, name, namespace)
    still = refusal(site.api, "part", namespace)
    end(site, "service", namespace)
    running(site.api, "part", namespace)
    ask(site, "late", namespace, SHARED, "1Gi")
    ask(site, "later", namespace, MPS, "1Gi")
    late = [refusal(site.api, name, namespace) for name in ("late", "later")]
    for name in ("part", "late", "later"):
        end(site, name, namespace)

    assert beside == "gpu-0-mps"
    assert all("cannot allocate all claims" in why for why in (*refused, still, *late))
    assert site.nothing_is_left()


@pytest.fixture
def object_site(api: KubeApi, kubeconfig: Path, tmp_path: Path) -> Iterator[Site]:
    """A node that is an object only, and agents that publish a machine for it."""
    with registered(api, kubeconfig, tmp_path) as made:
        yield made


def test_where_groups_are_dropped_all_devices_are_published_and_each_mode_takes_the_whole_gpu(
    object_site: Site, control: ClusterControl
) -> None:
    def drawn() -> dict[str, object]:
        found = {one.name: one.draws for one in object_site.published(54, RESTARTED_S).devices}
        return {mode: found[f"gpu-0{mode}"] for mode in ("", "-shared", "-mps", "-mig-1g-5gb-0")}

    with object_site.agent("--no-composite", MODES) as agent:
        side_by_side = drawn()
        control.set_feature_gates({"DRADeviceCompatibilityGroups": False})
        eventually(lambda: object_site.events() == ["ModesTakeTurns"], "the event on the node", RESTARTED_S)
        turns = eventually(
            lambda: now if (now := drawn()) != side_by_side else {}, "modes in turns", RESTARTED_S
        )
        assert agent.said().count("all devices are published, and modes of one GPU take turns") == 1
        control.set_feature_gates({"DRADeviceCompatibilityGroups": True})
        eventually(lambda: drawn() == side_by_side, "modes side by side again", RESTARTED_S)

    assert turns["-shared"] == turns["-mps"] == turns[""] == side_by_side[""]
    assert turns["-shared"] != side_by_side["-shared"]
