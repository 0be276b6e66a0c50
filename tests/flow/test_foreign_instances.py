"""What an operator cut beside the plugin is offered to nobody: agent and plugin of one node say the same."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from scripted_api import Reply, Request, Script, serving, write_kubeconfig

from agent.hardware.types import MigSpec

KEY = "tangram.dev/foreign-mig-instance"
KINDS = {
    "nodes": "NodeList",
    "resourceslices": "ResourceSliceList",
    "compositeresourceslices": "CompositeResourceSliceList",
}
OURS, THEIRS, FREE = "gpu-0-mig-2g-10gb-2-3", "gpu-0-mig-1g-5gb-0", "gpu-0-mig-3g-20gb-4-7"


class Cluster:
    """An API server that stores slices, and gives every agent what it stored.

    Shape: ``stored`` the taints of all devices after each write, ``events`` those on the Node.
    """

    def __init__(self, server: Script, folder: Path, node: str, *, drops: str = "") -> None:
        self.stored: SimpleQueue[dict[str, list[str]]] = SimpleQueue()
        self.events: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self.slices: dict[str, dict[str, Any]] = {}
        self._node, self._drops, self._numbers = node, drops, itertools.count(1)
        host, port = server.server_address[:2]
        self.kubeconfig = write_kubeconfig(
            folder / "kubeconfig", f"http://{host!s}:{port}", {}, {"token": "t"}
        )
        server.answers(self.answer)

    def answer(self, request: Request) -> Reply:
        folder, _, last = request.path.rpartition("/")
        if request.method in {"POST", "PUT"}:
            return Reply(self._stored(request), 201 if request.method == "POST" else 200)
        if request.method == "DELETE":
            self.slices.pop(last, None)
            return Reply({"kind": "Status", "status": "Success"})
        if "watch" in request.query:
            return Reply(b"")
        node = {"metadata": {"name": self._node, "uid": "uid-of-node", "resourceVersion": "1"}}
        if last == self._node:
            return Reply(node)
        version = folder.removeprefix("/apis/").removeprefix("/api/")
        items = {"nodes": [node], "resourceslices": [*self.slices.values()]}.get(last, [])
        listed = {"apiVersion": version, "kind": KINDS[last], "metadata": {"resourceVersion": "1"}}
        return Reply({**listed, "items": items})

    def _stored(self, request: Request) -> dict[str, Any]:
        if request.path.rpartition("/")[2] == "events":
            self.events.put(request.body)
            return request.body
        known = {
            "uid": f"uid-{request.body['metadata']['name']}",
            "resourceVersion": str(next(self._numbers)),
        }
        body = {**request.body, "metadata": {**request.body["metadata"], **known}}
        spec = body["spec"]
        if self._drops and "devices" in spec:
            kept = [{key: one[key] for key in one if key != self._drops} for one in spec["devices"]]
            body = {**body, "spec": {**spec, "devices": kept}}
        if "/resourceslices" in request.path and "dryRun" not in request.query:
            self.slices[body["metadata"]["name"]] = body
            self.stored.put(self.taints())
        return body

    def taints(self) -> dict[str, list[str]]:
        """Return the taints of each device that is stored, as ``KEY=VALUE``."""
        return {
            device["name"]: [f"{one['key']}={one['value']}" for one in device.get("taints", ())]
            for slice_ in list(self.slices.values())
            for device in slice_["spec"].get("devices", ())
        }

    def wait_until(self, is_so: Any) -> dict[str, list[str]]:
        """Return the taints of all devices once something is true of them."""
        while not is_so(found := self.stored.get(timeout=100)):
            pass
        return found

    def event(self, reason: str) -> str:
        """Return the text of the next event with a reason."""
        while (found := self.events.get(timeout=100))["reason"] != reason:
            pass
        return str(found.get("note") or found.get("message"))


@pytest.fixture
def cluster_of(folder: Path) -> Iterator[Any]:
    for server in serving(Script()):
        yield partial(Cluster, server, folder)


@pytest.fixture
def agent_of(folder: Path) -> Any:
    """Run the agent of a site; it looks every second."""

    @contextmanager
    def running(site: Any, cluster: Cluster) -> Iterator[subprocess.Popen[str]]:
        command = [
            *(sys.executable, "-m", "agent", f"--kubeconfig={cluster.kubeconfig}", "--no-composite"),
            *(f"--node-name={site.options.node_name}", f"--simulated={site.node}"),
            *(f"--machine={site.machine_dir}", f"--kubelet-dir={site.options.kubelet_dir}", "--resync=1"),
        ]
        with (
            (folder / "agent.log").open("w") as log,
            subprocess.Popen(command, stderr=log, text=True, env=dict(os.environ)) as process,
        ):
            try:
                yield process
            finally:
                process.kill()

    return running


def make(site: Any, start: int = 0) -> int:
    """Make an instance as an operator does with nvidia-smi; return its id."""
    gpus, uuid = site.simulated.gpus, site.simulated.node.cards[0].uuid
    gpus.set_mig_mode(uuid, True)
    profile = next(one for one in gpus.profiles(uuid) if one.name == "1g.5gb")
    place = next(one for one in profile.placements if one.start == start)
    gi_id: int = gpus.create_gpu_instance(MigSpec(uuid, profile.profile_id, place))
    gpus.create_compute_instance(uuid, gi_id)
    return gi_id


def unmake(site: Any, gi_id: int) -> None:
    gpus, uuid = site.simulated.gpus, site.simulated.node.cards[0].uuid
    gpus.destroy_compute_instance(uuid, gi_id, 0)
    gpus.destroy_gpu_instance(uuid, gi_id)


def test_what_overlaps_an_operators_instance_has_a_taint_until_it_is_gone_and_the_plugin_says_why(
    site: Any, kubelet: Any, cluster_of: Any, agent_of: Any
) -> None:
    cluster = cluster_of(site.options.node_name)
    ours = site.allocate("u-1", OURS)
    assert kubelet.devices(ours)
    gi_id = make(site)
    mark = f"{KEY}=gpu-0-gi-{gi_id}"

    with agent_of(site, cluster):
        found = cluster.wait_until(lambda taints: "gpu-1" in taints and FREE in taints)
        told = cluster.event("ForeignMigInstances")

        assert found["gpu-0"] == found[THEIRS] == [mark]
        assert found[OURS] == found[FREE] == found["gpu-1"] == []

        sentence = told.removeprefix("gpu-0: ").partition(";")[0]
        for uid, device in (("u-2", THEIRS), ("u-3", "gpu-0-mig-2g-10gb-0-1")):
            claim = site.allocate(uid, device)
            assert sentence in kubelet.prepare(claim)[uid].error

        unmake(site, gi_id)
        gone = cluster.wait_until(lambda taints: taints["gpu-0"] == [])
        assert not any(gone.values())
        assert f"gpu-0-gi-{gi_id}" in cluster.event("ForeignMigInstancesGone")

    assert kubelet.devices(site.allocate("u-4", THEIRS))


def test_a_server_that_drops_taints_is_not_told_of_what_overlaps(
    site: Any, kubelet: Any, cluster_of: Any, agent_of: Any
) -> None:
    cluster = cluster_of(site.options.node_name, drops="taints")
    gi_id = make(site)

    with agent_of(site, cluster):
        found = cluster.wait_until(lambda taints: "gpu-1" in taints and FREE in taints)
        assert {"gpu-0", THEIRS}.isdisjoint(found)

        unmake(site, gi_id)
        assert THEIRS in cluster.wait_until(lambda taints: "gpu-0" in taints)
