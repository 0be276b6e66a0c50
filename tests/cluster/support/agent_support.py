"""Agents as processes, each for a node object and a driver of its own, so that nothing else is disturbed."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cluster_support import Document, eventually

from agent.hardware.simulated import SimulatedMachine, load_node
from agent.hardware.types import MigSpec
from kube_api import EVENTS, NODES, RESOURCE_SLICES, ApiError, KubeApi, NotFound, Resource
from scheduler_core.codec import v1
from scheduler_core.model.pool import Pool

COMPOSITES = Resource.of("tangram.dev/v1alpha1", "CompositeResourceSlice", "compositeresourceslices")


@dataclass
class Site:
    """A node object with a simulated machine, and the agents that publish it."""

    api: KubeApi
    kubeconfig: Path
    folder: Path
    machine_name: str = "a100x2"
    name: str = field(default_factory=lambda: f"agent-{uuid.uuid4().hex[:8]}")

    @property
    def driver(self) -> str:
        return f"{self.name}.example"

    @property
    def machine(self) -> SimulatedMachine:
        return SimulatedMachine.open(load_node(self.machine_name), self.folder / "machine")

    def register(self) -> None:
        """Make the node's object."""
        self.api.create(NODES, {"metadata": {"name": self.name}})

    def unregister(self) -> None:
        """Take the node's object away."""
        with suppress(NotFound):
            self.api.delete(NODES, self.name)

    @contextmanager
    def agent(self, *options: str, kubeconfig: Path | None = None) -> Iterator[RunningAgent]:
        """Run an agent while the block is open."""
        port = _free_port()
        log = self.folder / f"agent-{port}.log"
        command = [sys.executable, "-m", "agent", f"--kubeconfig={kubeconfig or self.kubeconfig}"]
        command += [f"--node-name={self.name}", f"--driver-name={self.driver}"]
        command += [f"--simulated={self.machine_name}", f"--machine={self.folder / 'machine'}"]
        command += [f"--metrics-address=127.0.0.1:{port}", *options]
        with log.open("w") as out:
            process = subprocess.Popen(command, stderr=out, cwd="/", env={**os.environ, "PYTHONPATH": _ROOT})
        try:
            yield RunningAgent(process, log, port)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            finally:
                process.kill()
                process.wait()

    def slices(self, resource: Resource = RESOURCE_SLICES) -> list[Document]:
        """Return the stored slices by name."""
        found = self.api.list(resource, field_selector=f"spec.driver={self.driver}").items
        return sorted((dict(one.document) for one in found), key=lambda one: one["metadata"]["name"])

    def versions(self, resource: Resource = RESOURCE_SLICES) -> dict[str, str]:
        """Return what tells whether somebody wrote a slice: its UID and version, by name."""
        return {
            one["metadata"]["name"]: f"{one['metadata']['uid']} {one['metadata']['resourceVersion']}"
            for one in self.slices(resource)
        }

    def pool(self) -> Pool | None:
        """Return the pool as a scheduler sees it, None while it is incomplete."""
        pools = v1.pools(v1.decode_slice(one) for one in self.slices())
        return pools[0] if pools and pools[0].is_complete and not pools[0].problem else None

    def names(self) -> set[str]:
        """Return the names of the devices in the complete pool, none while it is incomplete."""
        pool = self.pool()
        return {str(device.name) for device in pool.devices} if pool else set()

    def published(self, count: int = 52, timeout_s: float = 30.0) -> Pool:
        """Wait until the pool is complete with so many devices."""
        eventually(lambda: len(self.names()) == count, f"{count} devices of {self.name}", timeout_s)
        pool = self.pool()
        assert pool is not None
        return pool

    def events(self) -> list[str]:
        """Return the reasons of the agent's events about the node, in order of their making.

        Without that these agents have an administrator's rights, which each of them tells.
        """
        found = [one.document for one in self.api.list(EVENTS).items]
        ours = [
            one
            for one in found
            if (one.get("regarding") or {}).get("name") == self.name
            and one.get("reportingController") == "tangram.dev/agent"
            and one["reason"] != "ForeignSlicesAllowed"
        ]
        return [one["reason"] for one in sorted(ours, key=lambda one: str(one.get("eventTime")))]

    def cut(self, profile: str, place: int = 0, gpu: int = 0) -> None:
        """Create a MIG partition at one of the profile's placements, as the plugin would."""
        gpus = self.machine.gpus
        uuid_ = gpus.gpus()[gpu].uuid
        mode = gpus.mig_mode(uuid_)
        if mode is not None and not mode.current:
            gpus.set_mig_mode(uuid_, True)
        found = next(one for one in gpus.profiles(uuid_) if one.name == profile)
        gi_id = gpus.create_gpu_instance(MigSpec(uuid_, found.profile_id, found.placements[place]))
        gpus.create_compute_instance(uuid_, gi_id)


@contextmanager
def registered(api: KubeApi, kubeconfig: Path, folder: Path) -> Iterator[Site]:
    """A registered node; what was published for it is gone after the block."""
    site = Site(api, kubeconfig, folder)
    site.register()
    try:
        yield site
    finally:
        site.unregister()
        for resource in (RESOURCE_SLICES, COMPOSITES):
            for name in site.versions(resource) if is_installed(api, resource) else ():
                with suppress(NotFound):  # the garbage collector was faster
                    api.delete(resource, name)


_ROOT = str(Path(__file__).parents[3])


@dataclass
class RunningAgent:
    """An agent's process. Shape: ``log`` its standard error."""

    process: subprocess.Popen[bytes]
    log: Path
    port: int

    def said(self) -> str:
        return self.log.read_text()

    def metrics(self) -> dict[str, float]:
        """Return the metrics by their names with labels; empty while it does not listen."""
        try:
            text = self.get("/metrics")
        except OSError:
            return {}
        found = (re.fullmatch(r"(\S+) (\S+)", line) for line in text.splitlines() if line[:1] != "#")
        return {match[1].removeprefix("tangram_agent_"): float(match[2]) for match in found if match}

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
            return str(answer.read().decode())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_installed(api: KubeApi, resource: Resource) -> bool:
    """Whether the API server serves a kind."""
    try:
        api.list(resource)
    except ApiError:
        return False
    return True


def write_kubeconfig(document: dict[str, Any], path: Path) -> Path:
    path.write_text(json.dumps(document))
    return path
