"""What a test can do to the cluster around it: a typed client of the control socket.

In goes the folder that the environment names (``TANGRAM_CLUSTER``); calls return when the deed is done, for
starts when the part is ready. It imports only the standard library and never touches a part itself.
"""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Completed = subprocess.CompletedProcess[str]
_SECONDS = 300.0


class ControlError(Exception):
    """The cluster refused; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartState:
    """A part as it is now; ``pid`` is None while it does not run."""

    pid: int | None
    log: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """The cluster as it is now.

    Shape: ``nodes`` maps a node's name to its file system's root, as seen from here; ``parts`` are etcd,
    apiserver, scheduler, controllers, and containerd-NODE and kubelet-NODE for each node.
    """

    version: str
    feature_gates: Mapping[str, bool]
    is_bare: bool
    nodes: Mapping[str, Path]
    parts: Mapping[str, PartState]


@dataclass(frozen=True, slots=True)
class ClusterControl:
    """The cluster in this folder."""

    folder: Path

    def state(self) -> ClusterState:
        """Return what runs where."""
        answer = self._ask("describe")
        parts = {
            name: PartState(pid=part["pid"], log=Path(part["log"])) for name, part in answer["parts"].items()
        }
        nodes = {name: Path(root) for name, root in answer["nodes"].items()}
        return ClusterState(**{**answer, "nodes": nodes, "parts": parts})

    def start(self, part: str) -> None:
        """Start a part and wait until it is ready."""
        self._ask("start", part=part)

    def stop(self, part: str) -> None:
        """Ask a part to end; it is killed after ten seconds."""
        self._ask("stop", part=part)

    def kill(self, part: str) -> None:
        """Kill a part."""
        self._ask("kill", part=part)

    def restart(self, part: str) -> None:
        """Stop a part, start it and wait until it is ready."""
        self.stop(part)
        self.start(part)

    def set_feature_gates(self, gates: Mapping[str, bool]) -> None:
        """Restart all but etcd and containerd with these gates over the first ones; {} goes back to those."""
        self._ask("feature-gates", gates=dict(gates))

    def log_tail(self, part: str, lines: int = 50) -> list[str]:
        """Return the last lines that a part has logged."""
        answer: list[str] = self._ask("tail", part=part, lines=lines)
        return answer

    def import_image(self, archive: Path, nodes: Sequence[str] = ()) -> None:
        """Load an image archive into these nodes, all of them where none is named."""
        self._ask("import", archive=str(archive), nodes=list(nodes))

    def reboot(self, node: str) -> None:
        """Cut a node's power and let it come back: /run is empty then, and no container has survived."""
        self._ask("reboot", node=node)

    def node_root(self, node: str) -> Path:
        """Return where this node's files can be read and written from here; another place after a reboot."""
        return self.state().nodes[node]

    def on_node(self, node: str, argv: Sequence[str]) -> list[str]:
        """Return the command line that runs ``argv`` in the node's mount namespace, for one's own Popen."""
        answer: list[str] = self._ask("inside", node=node, argv=list(argv))
        return answer

    def run_on_node(self, node: str, argv: Sequence[str], timeout_s: float = 60.0) -> Completed:
        """Run a command in the node's mount namespace and return what it said and how it ended."""
        return subprocess.run(
            self.on_node(node, argv), capture_output=True, text=True, timeout=timeout_s, check=False
        )

    def _ask(self, do: str, **arguments: Any) -> Any:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_SECONDS)
            connection.connect(str(self.folder / "control.sock"))
            connection.sendall(json.dumps({"do": do, **arguments}).encode() + b"\n")
            answer = json.loads(connection.makefile("rb").readline())
        if "error" in answer:
            raise ControlError(f"cannot {do} {arguments or ''}: {answer['error']}")
        return answer["answer"]
