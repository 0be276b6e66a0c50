"""The whole cluster inside its namespaces: parts in order, and what tests do to them.

In go settings; the parts come up in the order of their needs, and those that need nothing of each other come
up together. Every public method may be called from several threads; one works at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from launcher import control_plane
from launcher.errors import LauncherError
from launcher.images import write_images
from launcher.machine import find_program, look_at_runtime
from launcher.network import make_network
from launcher.node import Node, wait_for
from launcher.part import Part, PartSpec, Patience
from launcher.peer import peer_spec
from launcher.probe import get
from launcher.settings import Settings, merged_gates


class Cluster:
    """Control plane and nodes."""

    def __init__(self, settings: Settings, patience: Patience, say: Callable[[str], None]) -> None:
        self.settings = settings
        self._patience, self._say = patience, say
        self._lock = threading.RLock()
        self._logs = settings.folder / "logs"
        self._logs.mkdir(exist_ok=True)
        self.gates = merged_gates(settings.version, settings.feature_gates)
        self.nodes: tuple[Node, ...] = ()
        self.parts = {spec.name: Part(spec, self._logs) for spec in self._control_plane()}

    def start(self) -> None:
        """Bring everything up.

        Raises: LauncherError naming the part that failed, with the end of its log.
        """
        control_plane.write_files(self.settings)
        make_network(str(find_program("ip")), control_plane.network_commands(self.settings))
        self.parts["etcd"].start()
        self._make_nodes()
        for node in self.nodes:
            node.containerd.start()
        self._ready("etcd")
        self.parts["apiserver"].start()
        self._import_images()
        self._ready("apiserver")
        for name in (*self._after_apiserver(), *(f"kubelet-{node.name}" for node in self.nodes)):
            self.parts[name].start()
        self._ready(*self._after_apiserver())
        wait_for(self.nodes, self._patience)
        self._start_peers()
        self._wait_for_service_account()

    def node(self, name: str) -> Node:
        """Return the node of this name.

        Raises: LauncherError naming those that are.
        """
        for node in self.nodes:
            if node.name == name:
                return node
        there = ", ".join(node.name for node in self.nodes) or "none"
        raise LauncherError(f"cannot find node {name!r}: there are {there}")

    def part(self, name: str) -> Part:
        """Return the part of this name.

        Raises: LauncherError naming those that are.
        """
        if name not in self.parts:
            raise LauncherError(f"cannot find part {name!r}: there are {', '.join(self.parts)}")
        return self.parts[name]

    def begin(self, name: str) -> None:
        """Start a part and wait until it is ready."""
        with self._lock:
            self.part(name).start()
            self.part(name).wait_ready(self._patience)

    def stop(self, name: str) -> None:
        """Stop a part: it is asked to end."""
        with self._lock:
            self.part(name).stop()

    def kill(self, name: str) -> None:
        """Kill a part."""
        with self._lock:
            self.part(name).kill()

    def set_gates(self, gates: Mapping[str, bool]) -> None:
        """Restart what knows feature gates with these, over those that the cluster began with.

        Raises: PartFailed where one refuses them; the next call mends that.
        """
        with self._lock:
            self.gates = merged_gates(self.settings.version, self.settings.feature_gates, gates)
            specs = {spec.name: spec for spec in self._control_plane()}
            specs |= {f"kubelet-{node.name}": node.kubelet_spec(self.gates) for node in self.nodes}
            restarted = [name for name in specs if name != "etcd"]
            for name in reversed(restarted):
                self.parts[name].ask_to_end()
            for name in restarted:
                self.parts[name].stop()
            for name in restarted:
                self.parts[name].start(specs[name])
                if name == "apiserver":
                    self._ready(name)
            self._ready(*restarted)

    def reboot(self, name: str) -> None:
        """Let a node lose its power and come back."""
        with self._lock:
            node = self.node(name)
            node.kill_everything()
            node.boot()
            node.containerd.start(node.containerd_spec())
            node.containerd.wait_ready(self._patience)
            node.kubelet.start(node.kubelet_spec(self.gates))
            node.kubelet.wait_ready(self._patience)

    def import_image(self, archive: Path, nodes: Sequence[str]) -> None:
        """Load an archive into these nodes, all of them where none is named."""
        for node in self.nodes:
            if not nodes or node.name in nodes:
                node.import_image(archive)

    def _control_plane(self) -> tuple[PartSpec, ...]:
        specs = [
            control_plane.etcd(self.settings),
            control_plane.apiserver(self.settings, self.gates),
            control_plane.scheduler(self.settings, self.gates),
        ]
        if self.settings.has_controllers:
            specs.append(control_plane.controllers(self.settings, self.gates))
        return tuple(specs)

    def _after_apiserver(self) -> tuple[str, ...]:
        return tuple(name for name in control_plane.CONTROL_PLANE[2:] if name in self.parts)

    def _make_nodes(self) -> None:
        if not self.settings.node_names:
            return
        runtime = look_at_runtime(self.settings.folder)
        cured = ", without cgroups" if runtime.is_cgroup_cured else ""
        self._say(f"containers: {runtime.program}, {runtime.snapshotter} snapshots{cured}")
        self.nodes = tuple(
            Node(name, self.settings, runtime, self._logs) for name in self.settings.node_names
        )
        for node in self.nodes:
            node.kubelet.spec = node.kubelet_spec(self.gates)
            self.parts |= {part.spec.name: part for part in (node.containerd, node.kubelet)}

    def _import_images(self) -> None:
        if not self.nodes:
            return
        busybox = find_program("busybox")
        assert busybox is not None
        archives = write_images(self.settings.folder, busybox)
        for node in self.nodes:
            node.containerd.wait_ready(self._patience)
            for archive in (*archives, *self.settings.images):
                node.import_image(archive)

    def _start_peers(self) -> None:
        if self.settings.peer is None:
            return
        for node in self.nodes:
            spec = peer_spec(node, self.settings.peer, self.settings.kubeconfig)
            self.parts[spec.name] = Part(spec, self._logs)
            self.begin(spec.name)

    def _ready(self, *names: str) -> None:
        for name in names:
            self.parts[name].wait_ready(self._patience)

    def _wait_for_service_account(self) -> None:
        """Wait for what every pod needs: without it the first pods would be refused."""
        path = "/api/v1/namespaces/default/serviceaccounts/default"
        if self.settings.has_controllers and not self._patience.until(lambda: get(path) is not None, 30.0):
            quoted = self.parts["controllers"].quoted_log()
            raise LauncherError(f"cannot find the default service account after 30 s\n{quoted}")
