"""A plugin on a real node: its simulated machine, its driver's slices, and processes of it that come and go.

Each site is a driver of its own name, so that it works beside whatever else is installed in the cluster.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cluster_support import Document, eventually
from launcher.client import ClusterControl

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory.describe import describe
from agent.inventory.discover import discover
from agent.inventory.modes import GpuModes
from agent.slices import v1_slices
from kube_api import DEVICE_CLASSES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES, KubeApi, NotFound

NODE_FILE = "a100x2"
_START_S = 60.0
# Where the API server was gone: the kubelet's watch of pods backs off up to a minute, and once more because
# its version is too old for the new server.
_KUBELET_HEARS_S = 150.0


@dataclass
class PluginSite:
    """One driver on one node."""

    api: KubeApi
    control: ClusterControl
    kubeconfig: Path
    node: str
    driver: str
    folder: Path
    node_file: str = NODE_FILE
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.machine_dir = self.folder / "machine"
        self.machine = SimulatedMachine.open(load_node(self.node_file), self.machine_dir)

    @contextmanager
    def published(self, modes: GpuModes | None = None) -> Iterator[None]:
        """Offer the machine's devices to the scheduler. Shape: ``modes`` in which its GPUs are offered."""
        machine = simulated_hardware(self.machine)
        inventory = replace(discover(machine.readers, self.node), modes=modes or GpuModes())
        devices = describe(inventory, self.driver)
        made = [self.api.create(RESOURCE_SLICES, document).metadata.name for document in v1_slices(devices)]
        selector = {"cel": {"expression": f'device.driver == "{self.driver}"'}}
        name = self.device_class
        self.api.create(DEVICE_CLASSES, {"metadata": {"name": name}, "spec": {"selectors": [selector]}})
        try:
            yield
        finally:
            for slice_name in made:
                self._delete(RESOURCE_SLICES, slice_name)
            self._delete(DEVICE_CLASSES, name)

    @property
    def device_class(self) -> str:
        """Return the class of everything that this driver has."""
        return f"all.{self.driver}"

    def claim(self, name: str, profile: str = "3g.20gb") -> Document:
        """Return a claim for a partition."""
        own = f'device.attributes["{self.driver}"]'
        expression = f'has({own}.profile) && {own}.profile == "{profile}"'
        wanted = {"deviceClassName": self.device_class, "selectors": [{"cel": {"expression": expression}}]}
        return {
            "metadata": {"name": name},
            "spec": {"devices": {"requests": [{"name": "half", "exactly": wanted}]}},
        }

    def start(self, pod_uid: str | None = None, *options: str) -> subprocess.Popen[str]:
        """Start a plugin on the node and wait until the kubelet has registered it."""
        log = self.folder / f"plugin-{len(self.processes)}.log"
        arguments = [
            *(sys.executable, "-m", "plugin", "--driver-name", self.driver, "--node-name", self.node),
            *("--kubeconfig", str(self.kubeconfig), "--simulated", self.node_file),
            *("--machine", str(self.machine_dir)),
            *(("--pod-uid", pod_uid) if pod_uid else ()),
            *options,
        ]
        with log.open("w") as said:
            process = subprocess.Popen(
                self.control.on_node(self.node, arguments), stderr=said, stdout=said, text=True
            )
        self.processes.append(process)
        eventually(lambda: self._is_registered(log), f"plugin registered: {log}", _START_S)
        return process

    def stop(self, process: subprocess.Popen[str], number: int = signal.SIGTERM) -> int:
        """End a plugin and return how it ended."""
        process.send_signal(number)
        return process.wait(60)

    def close(self) -> None:
        """Kill what still runs."""
        for process in self.processes:
            process.kill()
            process.wait()

    def log(self) -> str:
        """Return what all plugins said."""
        return "".join(path.read_text() for path in sorted(self.folder.glob("plugin-*.log")))

    def status_devices(self, namespace: str, claim: str) -> list[Mapping[str, Any]]:
        """Return what this driver says in a claim's status."""
        document = self.api.get(RESOURCE_CLAIMS, claim, namespace).document
        devices = document.get("status", {}).get("devices", [])
        return [device for device in devices if device["driver"] == self.driver]

    def instances(self) -> list[Any]:
        """Return every GPU instance of the machine."""
        gpus = self.machine.gpus
        return [found for card in self.machine.node.cards for found in gpus.gpu_instances(card.uuid)]

    def files(self) -> list[str]:
        """Return the records and CDI documents that stand on the node."""
        root = self.control.node_root(self.node)
        records = root / "var/lib/kubelet/plugins" / self.driver / "claims"
        documents = (root / "run/cdi").glob(f"{self.driver}-claim_*")
        return [path.name for path in (*records.glob("*"), *documents)]

    def sockets(self) -> set[str]:
        """Return the sockets of this driver on the node."""
        root = self.control.node_root(self.node) / "var/lib/kubelet"
        found = [*(root / "plugins_registry").glob(f"{self.driver}*")]
        found += (root / "plugins" / self.driver).glob("*.sock")
        return {path.name for path in found}

    def nothing_is_left(self) -> bool:
        """Wait until no claim has left anything on the node."""
        return eventually(
            lambda: not self.instances() and not self.files(),
            f"nothing left of {self.driver}; {self.log()[-2000:]}",
            _KUBELET_HEARS_S,
        )

    def delete_pod(self, namespace: str, name: str) -> None:
        """Delete a pod and wait until it is gone."""
        self._delete(PODS, name, namespace)

        def is_gone() -> bool:
            try:
                self.api.get(PODS, name, namespace)
            except NotFound:
                return True
            return False

        eventually(is_gone, f"pod {namespace}/{name} is gone; {self.log()[-2000:]}", _KUBELET_HEARS_S)

    def _is_registered(self, log: Path) -> bool:
        said = log.read_text()
        assert "Traceback" not in said, said
        return "the kubelet registered driver" in said

    def _delete(self, resource: Any, name: str, namespace: str | None = None) -> None:
        try:
            self.api.delete(resource, name, namespace)
        except NotFound:
            return
