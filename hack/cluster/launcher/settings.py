"""What a cluster shall be: one value, made outside, handed to the supervisor inside as JSON.

In go the options of the command line; out come paths, addresses and feature gates. Nothing here touches
the machine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from launcher.errors import LauncherError
from launcher.toolset import VERSIONS

SERVICE_ADDRESS = "10.96.0.1"  # what pods know as KUBERNETES_SERVICE_HOST
SERVICE_RANGE = "10.96.0.0/16"
TOKENS = {"admin": "admin-token", "node": "node-token"}

# Alpha or off by default in that version, and what Tangram publishes needs them. Elsewhere the defaults do.
_GATES: Mapping[str, Mapping[str, bool]] = {
    "1.37": {"DRADeviceCompatibilityGroups": True, "DRAListTypeAttributes": True},
    "1.36": {},
    "1.34": {"DRAPartitionableDevices": True},
}
_NEEDS = {"DRADeviceCompatibilityGroups": "DRAPartitionableDevices"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One cluster.

    Shape: ``node_count`` real nodes, called node-1, node-2 ...; ``images`` are archives to import into each;
        ``machine`` is the file of the one they simulate, None for the overlay's own; ``peer`` the program of
        another driver that each of them runs too, None without; ``helm`` the folder with Helm, None without;
        ``owned_objects`` says that the devices of node objects have the controller's taint;
        ``with_controller`` that Tangram's controller runs and allocates the devices of real nodes;
        ``driver_options`` are for agent and plugin.
    """

    folder: Path
    version: str
    kubernetes: Path
    kubectl: Path
    containerd: Path
    node_count: int = 1
    node_objects: int = 0
    owned_objects: bool = False
    machine: Path | None = None
    peer: Path | None = None
    helm: Path | None = None
    is_bare: bool = False
    with_controller: bool = False
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    images: tuple[Path, ...] = ()
    driver_options: tuple[str, ...] = ()
    command: tuple[str, ...] = ()

    @property
    def has_controllers(self) -> bool:
        """Tell whether the pinned set holds the controller manager."""
        return (self.kubernetes / "kube-controller-manager").exists()

    @property
    def node_names(self) -> tuple[str, ...]:
        """The names of the real nodes."""
        return tuple(f"node-{number}" for number in range(1, self.node_count + 1))

    @property
    def kubeconfig(self) -> Path:
        """The administrator's configuration."""
        return self.folder / "kubeconfig"

    def to_json(self) -> str:
        """Return this value as text for the supervisor."""
        return json.dumps(asdict(self), default=str)

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """Read what ``to_json`` wrote."""
        document: dict[str, Any] = json.loads(text)
        for key in ("folder", "kubernetes", "kubectl", "containerd"):
            document[key] = Path(document[key])
        for key in ("machine", "peer", "helm"):
            document[key] = Path(document[key]) if document[key] else None
        document["images"] = tuple(Path(path) for path in document["images"])
        for key in ("command", "driver_options"):
            document[key] = tuple(document[key])
        return cls(**document)


def node_address(name: str) -> str:
    """Return the address of a real node: node-2 has 10.10.0.2."""
    return f"10.10.0.{node_number(name)}"


def node_number(name: str) -> int:
    """Return 2 for node-2."""
    return int(name.removeprefix("node-"))


def merged_gates(version: str, *wanted: Mapping[str, bool]) -> dict[str, bool]:
    """Return the gates of a cluster of this version, later wishes over earlier ones.

    What needs a gate that is off goes off with it: an API server refuses to start otherwise.
    """
    gates = dict(_GATES[version])
    for one in wanted:
        gates |= one
        gates |= {
            name: False for name, needed in _NEEDS.items() if name in gates and not one.get(needed, True)
        }
    return gates


def parse_gates(text: str) -> dict[str, bool]:
    """Read ``A=true,B=false``, as every Kubernetes program takes it.

    Raises: LauncherError naming the part that is wrong.
    """
    gates: dict[str, bool] = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        if value not in {"true", "false"} or not name:
            raise LauncherError(f"cannot read feature gate {part!r}: write NAME=true or NAME=false")
        gates[name] = value == "true"
    return gates


def gates_argument(gates: Mapping[str, bool]) -> tuple[str, ...]:
    """Return the option that sets these gates, nothing where there are none."""
    if not gates:
        return ()
    return ("--feature-gates=" + ",".join(f"{name}={str(on).lower()}" for name, on in gates.items()),)


def check(version: str, node_count: int, node_objects: int) -> None:
    """Refuse what cannot be started.

    Raises: LauncherError naming the option, its value and what is allowed.
    """
    if version not in VERSIONS:
        raise LauncherError(f"cannot start --version {version}: choose one of {', '.join(VERSIONS)}")
    if not 0 <= node_count <= 9:
        raise LauncherError(
            f"cannot start --nodes {node_count}: choose 1 to 9 (each is a kubelet and a containerd)"
        )
    if not 0 <= node_objects <= 5000:
        raise LauncherError(f"cannot create --node-objects {node_objects}: choose 0 to 5000")
