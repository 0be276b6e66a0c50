"""NICs of simulated machines, and real veth devices in namespaces of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import needs
import pytest

from agent.hardware.nics.interfaces import MovableInterfaces
from agent.hardware.nics.kernel import NetworkKernel
from agent.hardware.nics.links import Link, Step
from agent.hardware.nics.ports import Nics
from agent.hardware.nics.rtnetlink import Rtnetlink
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.hardware.types import Bdf

PF = Bdf("0000:19:00.0")
VF = Bdf("0000:19:00.2")
SIBLING = Bdf("0000:19:00.3")
QUIET_PF = Bdf("0000:19:00.1")
MAC = "02:00:00:00:00:99"


@pytest.fixture
def host(tmp_path: Path) -> SimulatedMachine:
    """A machine whose first Ethernet PF has two VFs of four, and whose second has none of four."""
    return SimulatedMachine.open(load_node("a30x4"), tmp_path / "a30x4")


@pytest.fixture
def nics(host: SimulatedMachine) -> Nics:
    return simulated_hardware(host).nics


@pytest.fixture
def infiniband(tmp_path: Path) -> SimulatedMachine:
    """A machine with an InfiniBand PF at 0000:0c:00.0 with eight VFs."""
    return SimulatedMachine.open(load_node("dgx-a100"), tmp_path / "dgx-a100")


@pytest.fixture
def namespace(tmp_path: Path) -> Path:
    """What stands for a pod's network namespace on a simulated machine."""
    file = tmp_path / "pod"
    file.touch()
    return file


@dataclass
class Recorder:
    """A kernel that remembers the steps it was asked for."""

    kernel: NetworkKernel
    steps: list[Step] = field(default_factory=list)

    def links(self, namespace: Path | None) -> tuple[Link, ...]:
        return self.kernel.links(namespace)

    def apply(self, namespace: Path | None, step: Step) -> None:
        self.steps.append(step)
        self.kernel.apply(namespace, step)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel, name)


@dataclass
class Network:
    """One kernel with two functions on the host and a pod's namespace, simulated or real."""

    kernel: Recorder
    pod: Path
    first: Bdf
    second: Bdf

    @property
    def interfaces(self) -> MovableInterfaces:
        return MovableInterfaces(self.kernel)

    def everything(self) -> tuple[tuple[Link, ...], ...]:
        return tuple(self.kernel.links(place) for place in (None, self.pod))


def owner_by_alias(message: Any) -> Bdf | None:
    """A veth device has no parent; its alias stands for the PCI address."""
    alias = message.get_attr("IFLA_IFALIAS")
    return Bdf(alias) if alias else None


@pytest.fixture(scope="session", name="why_no_namespaces")
def why_no_namespaces_here() -> str | None:
    """Return why tests cannot make network namespaces with real devices here; None where they can."""
    return why_no_namespaces()


def why_no_namespaces() -> str | None:
    missing = [name for name in ("ip", "unshare", "nsenter", "busybox") if shutil.which(name) is None]
    if os.geteuid() != 0 or missing:
        return f"needs {needs.NAMESPACES}"
    probe = ["unshare", "--net", "ip", "link", "add", "probe0", "type", "veth", "peer", "name", "probe1"]
    tried = subprocess.run(probe, capture_output=True, text=True, check=False, timeout=30)
    return f"this kernel makes no veth devices: {tried.stderr.strip()}" if tried.returncode else None


def asleep_in_namespace(stack: ExitStack) -> Path:
    """Start a process in a network namespace of its own and return that namespace's file."""
    command = ["unshare", "--net", "sh", "-c", "echo ready; exec sleep 600"]
    process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    stack.callback(process.kill)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return Path(f"/proc/{process.pid}/ns/net")


def in_namespace(namespace: Path, *command: str) -> None:
    subprocess.run(["nsenter", f"--net={namespace}", *command], check=True, timeout=30)


def real_network(stack: ExitStack) -> Network:
    reason = why_no_namespaces()
    if reason:
        pytest.skip(reason)
    home, pod = asleep_in_namespace(stack), asleep_in_namespace(stack)
    for name, bdf in (("vf0", VF), ("vf1", SIBLING)):
        in_namespace(home, "ip", "link", "add", name, "type", "veth", "peer", "name", f"{name}peer")
        in_namespace(home, "ip", "link", "set", name, "alias", bdf, "up")
        in_namespace(home, "ip", "link", "set", f"{name}peer", "up")
    return Network(Recorder(Rtnetlink(owner_by_alias, home)), pod, VF, SIBLING)


@pytest.fixture
def real() -> Iterator[Network]:
    """Two real veth devices and a pod's namespace."""
    with ExitStack() as stack:
        yield real_network(stack)


@pytest.fixture(params=["simulated", "real"])
def network(request: pytest.FixtureRequest) -> Iterator[Network]:
    """The same laws hold for the simulated kernel and for this machine's."""
    with ExitStack() as stack:
        if request.param == "real":
            yield real_network(stack)
        else:
            machine: SimulatedMachine = request.getfixturevalue("host")
            pod: Path = request.getfixturevalue("namespace")
            yield Network(Recorder(machine.kernel), pod, VF, SIBLING)


@pytest.fixture
def waited(nics: Nics) -> Callable[[Bdf], int]:
    """Count the reads until a function has an RDMA device, at most ten."""

    def count(bdf: Bdf) -> int:
        return next(at for at in range(10) if nics.reader.rdma_devices(bdf))

    return count
