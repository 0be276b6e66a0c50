"""A real node: a mount namespace, a containerd and a kubelet in it.

In go the settings and what the machine can do; the node starts, takes images, runs commands in its namespace
and reboots. Its folders survive a reboot, what lies in /run and every process does not.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from launcher.errors import PartFailed
from launcher.mounts import mount
from launcher.node_files import (
    CONTAINERD_SOCKET,
    Runtime,
    cni_conflist,
    containerd_toml,
    kubelet_configuration,
    oci_runtime,
)
from launcher.part import Part, PartSpec, Patience
from launcher.probe import answers, node_is_ready
from launcher.processes import descendants, processes_in_mount_namespace
from launcher.settings import Settings, gates_argument, node_address

_PROGRAM = Path(__file__).resolve().parents[1]


class Node:
    """One node and its two parts."""

    def __init__(self, name: str, settings: Settings, runtime: Runtime, logs: Path) -> None:
        self.name = name
        self._settings, self._runtime = settings, runtime
        self.folder = settings.folder / name
        self._write_files()
        self._build_machine()
        self._holder = self._hold()
        self.containerd = Part(self.containerd_spec(), logs)
        self.kubelet = Part(self.kubelet_spec({}), logs)

    @property
    def root(self) -> Path:
        """The node's file system as it is seen from outside its mount namespace."""
        return Path(f"/proc/{self._holder_pid()}/root")

    def inside(self, argv: Sequence[str]) -> tuple[str, ...]:
        """Return the command line that runs ``argv`` in the node's mount namespace."""
        return ("nsenter", f"--mount=/proc/{self._holder_pid()}/ns/mnt", "--", *argv)

    def import_image(self, archive: Path) -> None:
        """Load an image archive into containerd.

        Raises: PartFailed with what ctr says.
        """
        snapshotter = ("--local", "--snapshotter", self._runtime.snapshotter)
        ctr = (str(self._settings.containerd / "ctr"), "-a", CONTAINERD_SOCKET, "-n", "k8s.io")
        answer = subprocess.run(
            self.inside((*ctr, "images", "import", *snapshotter, str(archive))),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if answer.returncode != 0:
            raise PartFailed(f"cannot import image {archive} into {self.name}: {answer.stderr.strip()}")

    def kill_everything(self) -> None:
        """Kill kubelet, containerd and every container of this node, as a power cut does."""
        self.kubelet.kill()
        self.containerd.kill()
        # A shim's children are its containers, in mount namespaces of their own.
        shims = processes_in_mount_namespace(self._holder_pid())
        for pid in (*descendants(shims), *shims):
            if pid != self._holder_pid():
                _kill(pid)

    def boot(self) -> None:
        """Come back after ``kill_everything``: a new mount namespace with a fresh /run."""
        self._holder.kill()
        self._holder.wait()
        self._holder = self._hold()

    def kubelet_spec(self, gates: Mapping[str, bool]) -> PartSpec:
        """Return how the kubelet starts with these feature gates."""
        address = node_address(self.name)
        return PartSpec(
            name=f"kubelet-{self.name}",
            argv=self.inside(
                (
                    str(self._settings.kubernetes / "kubelet"),
                    f"--config={self.folder / 'kubelet.json'}",
                    f"--kubeconfig={self._settings.folder / f'{self.name}.kubeconfig'}",
                    f"--hostname-override={self.name}",
                    f"--node-ip={address}",
                    "--v=2",
                    *gates_argument(gates),
                )
            ),
            is_ready=lambda: answers(f"https://{address}:10250/healthz", "ok") and node_is_ready(self.name),
        )

    def containerd_spec(self) -> PartSpec:
        """Return how containerd starts, which after a boot is in another namespace."""
        programs = self._settings.containerd
        return PartSpec(
            name=f"containerd-{self.name}",
            argv=self.inside((str(programs / "containerd"), f"--config={self.folder / 'containerd.toml'}")),
            environment={"PATH": f"{programs}:{os.environ['PATH']}"},  # where its shim lies
            is_ready=lambda: self._answers_ctr(programs / "ctr"),
        )

    def _answers_ctr(self, ctr: Path) -> bool:
        if not (self.root / CONTAINERD_SOCKET.lstrip("/")).exists():
            return False
        command = self.inside((str(ctr), "-a", CONTAINERD_SOCKET, "version"))
        return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode == 0

    def _write_files(self) -> None:
        (self.folder / "cni.d").mkdir(parents=True, exist_ok=True)
        (self.folder / "containerd.toml").write_text(containerd_toml(self.folder, self._runtime))
        (self.folder / "kubelet.json").write_text(kubelet_configuration(self.name))
        (self.folder / "cni.d" / "10-pods.conflist").write_text(cni_conflist(self.name))
        wrapper = self.folder / "oci-runtime"
        wrapper.write_text(oci_runtime(self._runtime))
        wrapper.chmod(0o755)

    def _build_machine(self) -> None:
        """Keep simulated hardware in memory: real hardware is no file on the node's disk, either."""
        machine = self.folder / "tangram"
        machine.mkdir()
        mount("tmpfs", str(machine), "tmpfs", data="mode=755")

    def _hold(self) -> subprocess.Popen[str]:
        """Start the process that holds the namespace; it says one word when the mounts are made."""
        furnish = (sys.executable, str(_PROGRAM), "hold-node", str(self.folder))
        holder = subprocess.Popen(
            ("unshare", "--mount", "--propagation", "private", *furnish),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        assert holder.stdout is not None
        told = holder.stdout.readline().strip()
        if told != "furnished":
            holder.kill()
            raise PartFailed(f"cannot make the mounts of {self.name}: {told} {holder.stdout.read().strip()}")
        return holder

    def _holder_pid(self) -> int:
        return self._holder.pid


def wait_for(nodes: Sequence[Node], patience: Patience) -> None:
    """Wait until every kubelet says that its node is ready."""
    for node in nodes:
        node.kubelet.wait_ready(patience)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # it ended with its parent
