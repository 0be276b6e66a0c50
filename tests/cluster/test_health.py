"""A GPU that fails is told, kept from new pods, and used again once it is reset; a lost one is given up."""

from __future__ import annotations

import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cluster_support import Document, eventually, pod, running
from health_stream import HealthStream
from launcher.client import ClusterControl
from plugin_support import PluginSite

from agent.hardware.simulated import parse_injected
from kube_api import DEVICE_CLASSES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES, KubeApi, NotFound

pytestmark = pytest.mark.timeout(300)
NODE_FILE = "a100x2"
SELECTED = 'device.attributes["{driver}"].type == "gpu"'
SMALLEST_OF = (
    'has(device.attributes["{driver}"].profile) && device.attributes["{driver}"].profile == "1g.5gb" '
    '&& device.attributes["{driver}"].parentUUID == "{parent}"'
)


class Site:
    """An agent and a plugin of one driver on one simulated machine."""

    def __init__(self, plugin: PluginSite, namespace: str) -> None:
        self.plugin, self.api, self.namespace = plugin, plugin.api, namespace
        self.agent: subprocess.Popen[str] | None = None
        self.log = plugin.folder / "agent.log"

    def start(self) -> None:
        """Start both, and wait until the devices are published."""
        plugin = self.plugin
        selector = {"cel": {"expression": f'device.driver == "{plugin.driver}"'}}
        body = {"metadata": {"name": plugin.device_class}, "spec": {"selectors": [selector]}}
        self.api.create(DEVICE_CLASSES, body)
        plugin.start()
        arguments = [
            *(sys.executable, "-m", "agent", "--driver-name", plugin.driver, "--node-name", plugin.node),
            *("--kubeconfig", str(plugin.kubeconfig), "--simulated", plugin.node_file),
            *("--machine", str(plugin.machine_dir), "--no-composite"),
        ]
        with self.log.open("w") as said:
            self.agent = subprocess.Popen(
                plugin.control.on_node(plugin.node, arguments), stderr=said, stdout=said, text=True
            )
        eventually(self.devices, f"devices are published: {self.log}", 120.0)

    def close(self) -> None:
        """End both, and remove what was published."""
        if self.agent is not None:
            self.agent.terminate()
            self.agent.wait(60)
        for slice_ in self.slices():
            self.plugin._delete(RESOURCE_SLICES, slice_["metadata"]["name"])
        self.plugin._delete(DEVICE_CLASSES, self.plugin.device_class)

    @contextmanager
    def stream(self) -> Iterator[HealthStream]:
        """Hear the stream of health beside the kubelet."""
        (socket,) = (
            self.plugin.control.node_root(self.plugin.node) / "var/lib/kubelet/plugins" / self.plugin.driver
        ).glob("dra*.sock")
        with TemporaryDirectory(prefix="tg-", dir="/var/tmp") as folder:
            heard = HealthStream(socket, Path(folder))
            with closing(heard):
                yield heard

    def slices(self) -> list[Document]:
        found = self.api.list(RESOURCE_SLICES).items
        return [one.document for one in found if one.document["spec"]["driver"] == self.plugin.driver]

    def is_complete(self) -> bool:
        """Whether all slices of the pool are there."""
        found = self.slices()
        return all(one["spec"]["pool"]["resourceSliceCount"] == len(found) for one in found)

    def generations(self) -> dict[str, int]:
        """Return how often the content of each slice was written."""
        return {one["metadata"]["name"]: one["metadata"]["generation"] for one in self.slices()}

    def devices(self) -> dict[str, Document]:
        return {one["name"]: one for each in self.slices() for one in each["spec"].get("devices", ())}

    def taints(self, device: str) -> list[tuple[str, str]]:
        found = self.devices()[device].get("taints", ())
        return [(one["key"], one["effect"]) for one in found if one["key"].startswith("health.")]

    def run(self, name: str, selector: str = SELECTED, **more: str) -> str:
        """Run a pod with a whole GPU, or with what a selector wants, and return its device."""
        self.create(name, selector.format(driver=self.plugin.driver, **more))
        running(self.api, name, self.namespace)
        return self.device_of(name)

    def create(self, name: str, expression: str) -> None:
        wanted = {
            "deviceClassName": self.plugin.device_class,
            "selectors": [{"cel": {"expression": expression}}],
        }
        requests = [{"name": "gpu", "exactly": wanted}]
        claim = {"metadata": {"name": name}, "spec": {"devices": {"requests": requests}}}
        self.api.create(RESOURCE_CLAIMS, claim, self.namespace)
        command = ("sh", "-c", "exec sleep 100000")
        self.api.create(PODS, pod(name, command=command, claims={"gpu": name}), self.namespace)

    def device_of(self, claim: str) -> str:
        found = self.api.get(RESOURCE_CLAIMS, claim, self.namespace).document
        return str(found["status"]["allocation"]["devices"]["results"][0]["device"])

    def condition(self, claim: str) -> Document:
        told = self.plugin.status_devices(self.namespace, claim)
        return dict(told[0]["conditions"][0]) if told else {}

    def is_ready(self, claim: str) -> bool:
        """Whether the status of a claim says that its device is ready."""
        return bool(self.condition(claim).get("status") == "True")

    def health_in_pod(self, name: str) -> list[Document]:
        status = self.api.get(PODS, name, self.namespace).document["status"]
        return [
            one
            for container in status.get("containerStatuses", ())
            for each in container.get("allocatedResourcesStatus", ())
            for one in each.get("resources", ())
        ]

    def inject(self, *faults: str) -> float:
        """Let faults happen at once and return when."""
        at_s = time.monotonic()
        self.plugin.machine.inject(*map(parse_injected, faults))
        return at_s

    def are_tainted(self, count: int) -> bool:
        """Whether so many GPUs, the first ones, have a taint."""
        return all(self.taints(f"gpu-{number}") for number in range(count))

    def destroy_instance_of(self, claim: str) -> float:
        """Destroy the MIG instance of a claim, as nvidia-smi would, and return when."""
        (told,) = self.plugin.status_devices(self.namespace, claim)
        gpus, uuid = self.plugin.machine.gpus, told["data"]["uuid"]
        (found,) = (
            (instance, compute.ci_id)
            for instance in self.plugin.instances()
            for compute in instance.compute_instances
            if compute.uuid == uuid
        )
        instance, ci_id = found
        at_s = time.monotonic()
        gpus.destroy_compute_instance(instance.parent, instance.gi_id, ci_id)
        gpus.destroy_gpu_instance(instance.parent, instance.gi_id)
        return at_s

    def is_told(self, name: str) -> bool:
        """Whether the status of a pod says that a device is unhealthy."""
        return any(one["health"] == "Unhealthy" for one in self.health_in_pod(name))

    def is_gone(self, name: str) -> bool:
        try:
            self.api.get(PODS, name, self.namespace)
        except NotFound:
            return True
        return False

    def delete(self, name: str) -> None:
        if not self.is_gone(name):
            self.plugin.delete_pod(self.namespace, name)
        self.plugin._delete(RESOURCE_CLAIMS, name, self.namespace)


@pytest.fixture
def site(
    request: pytest.FixtureRequest,
    api: KubeApi,
    control: ClusterControl,
    kubeconfig: Path,
    node: str,
    namespace: str,
) -> Iterator[Site]:
    """A driver of its own on the node, with an agent and a plugin. The parameter is another machine."""
    node_file = getattr(request, "param", NODE_FILE)
    with TemporaryDirectory(prefix="tg-", dir="/var/tmp") as folder:
        driver = f"h{uuid.uuid4().hex[:6]}.tangram.dev"
        plugin = PluginSite(api, control, kubeconfig, node, driver, Path(folder), node_file)
        found = Site(plugin, namespace)
        try:
            found.start()
            yield found
        finally:
            found.close()
            plugin.close()


def test_pods_leave_a_lost_gpu_new_ones_get_another_and_after_a_reset_it_is_used_again(
    site: Site, record_property: Callable[[str, object], None]
) -> None:
    device = site.run("first")
    uuids = [gpu.uuid for gpu in site.plugin.machine.gpus.gpus()]
    minor = int(device.removeprefix("gpu-"))
    other = f"gpu-{1 - minor}"

    began_s = site.inject(f"gpu-{minor}:xid=79")
    taint = ("health.tangram.dev/gpu-lost", "NoExecute")
    eventually(lambda: site.taints(device) == [taint], "the lost GPU has a taint", 60.0)
    record_property("event_to_taint_s", time.monotonic() - began_s)
    assert site.taints(other) == []
    eventually(lambda: site.is_gone("first"), "the pod on the lost GPU is evicted", 60.0)
    site.delete("first")

    assert site.run("second") == other

    site.plugin.machine.reset_gpu(uuids[minor])
    eventually(lambda: site.taints(device) == [], "the GPU is well again", 30.0)
    assert site.run("third") == device
    site.delete("second")
    site.delete("third")


def test_a_pod_on_a_gpu_with_an_error_goes_on_and_is_told(
    site: Site, record_property: Callable[[str, object], None]
) -> None:
    device = site.run("p")
    minor = int(device.removeprefix("gpu-"))
    eventually(lambda: site.is_ready("p"), "the claim says that all is well", 60.0)

    with site.stream() as stream:
        began_s = site.inject(f"gpu-{minor}:xid=119")
        eventually(lambda: bool(site.taints(device)), "the GPU has a taint", 60.0)
        record_property("event_to_taint_s", time.monotonic() - began_s)
        eventually(lambda: device in stream.unhealthy_at, "the stream says so", 60.0)
    record_property("event_to_stream_s", stream.unhealthy_at[device] - began_s)
    eventually(lambda: site.condition("p").get("reason") == "DeviceUnhealthy", "the claim says so", 60.0)
    record_property("event_to_claim_s", time.monotonic() - began_s)
    eventually(lambda: site.is_told("p"), "the pod says so")
    record_property("event_to_pod_s", time.monotonic() - began_s)

    assert site.taints(device) == [("health.tangram.dev/xid-reset", "NoSchedule")]
    assert "XID 119" in site.condition("p")["message"]
    running(site.api, "p", site.namespace)
    site.inject(f"gpu-{minor}:recovery=gpu-reset")
    eventually(lambda: len(site.taints(device)) == 2, "the driver asks for a reset, too")
    site.delete("p")
    uuids = [gpu.uuid for gpu in site.plugin.machine.gpus.gpus()]
    site.plugin.machine.reset_gpu(uuids[minor])
    eventually(lambda: site.taints(device) == [], "the GPU is well again", 30.0)


def test_of_two_pods_on_one_gpu_only_the_one_whose_mig_instance_was_destroyed_is_told(
    site: Site, record_property: Callable[[str, object], None]
) -> None:
    parent = site.plugin.machine.gpus.gpus()[0].uuid
    for name in ("lacking", "well"):
        site.run(name, SMALLEST_OF, parent=parent)
        eventually(partial(site.is_ready, name), f"claim {name} is ready", 60.0)

    with site.stream() as stream:
        began_s = site.destroy_instance_of("lacking")
        eventually(lambda: bool(stream.unhealthy_at), "the stream says so", 30.0)
    assert list(stream.unhealthy_at) == [site.device_of("lacking")]
    record_property("destroyed_to_stream_s", stream.unhealthy_at[site.device_of("lacking")] - began_s)
    eventually(lambda: site.condition("lacking").get("reason") == "DeviceMissing", "its claim says so", 30.0)
    record_property("destroyed_to_claim_s", time.monotonic() - began_s)
    eventually(lambda: site.is_told("lacking"), "its pod says so", 60.0)
    record_property("destroyed_to_pod_s", time.monotonic() - began_s)

    assert site.is_ready("well")
    assert not site.is_told("well")
    running(site.api, "lacking", site.namespace)
    site.delete("lacking")
    site.delete("well")


@pytest.mark.parametrize("site", ["dgx-a100"], indirect=True)
def test_eight_gpus_that_fail_at_once_cost_at_most_one_write_of_each_slice(
    site: Site, record_property: Callable[[str, object], None]
) -> None:
    eventually(site.is_complete, "all slices are published", 60.0)
    before, gpus = site.generations(), site.plugin.machine.gpus.gpus()

    began_s = site.inject(*(f"gpu-{number}:recovery=gpu-reset" for number in range(len(gpus))))
    eventually(lambda: site.are_tainted(len(gpus)), "all have a taint", 60.0)
    record_property("eight_gpus_to_taints_s", time.monotonic() - began_s)
    failed = site.generations()

    assert failed.keys() == before.keys()
    assert {failed[name] - before[name] for name in before} <= {0, 1}
