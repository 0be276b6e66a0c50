"""Opens the machine that the options name. The only module of the programs that names the adapters.

Takes options; returns an open machine. A missing driver is no failure here: it may be loaded later.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Protocol, Self

from agent.hardware.clients.adapter import ProcClients
from agent.hardware.driver_root import DriverRoot
from agent.hardware.fabric.nvfm import Nvfm
from agent.hardware.hung import HungCalls
from agent.hardware.late import LateGpus
from agent.hardware.machine_options import MachineOptions
from agent.hardware.mps.adapter import RUN_FOLDER, MpsProgram
from agent.hardware.mps.launching import Launching
from agent.hardware.mps.shared_memory import MountedMemory, PlainFolder
from agent.hardware.nics.functions import SysfsFunctions
from agent.hardware.nics.interfaces import MovableInterfaces
from agent.hardware.nics.kernel import AttributeFiles, NetworkKernel
from agent.hardware.nics.link_events import LinkEvents
from agent.hardware.nics.ports import NicReader, Nics
from agent.hardware.nics.reading.devlink import eswitch_mode
from agent.hardware.nics.reading.sysfs_nics import SysfsNics
from agent.hardware.nics.refusals import translated
from agent.hardware.nics.rtnetlink import Rtnetlink
from agent.hardware.nics.sysfs_files import SysfsFiles
from agent.hardware.nics.types import RdmaDevice
from agent.hardware.nics.vf_settings import PfSettings
from agent.hardware.nvidia_smi import NvidiaSmi
from agent.hardware.nvml_process.late_events import LateEvents
from agent.hardware.nvml_process.process import Interruption
from agent.hardware.nvml_process.session import NvmlProcesses
from agent.hardware.ports import Machine, Readers
from agent.hardware.procfs import ProcBoot
from agent.hardware.simulated import NodeFile, SimulatedMachine, SimulationError, load_node
from agent.hardware.simulated.kernel.simulated_kernel import SimulatedKernel
from agent.hardware.simulated.kernel.veth_links import VethKernel, owner_by_alias
from agent.hardware.simulated.state_changes import StateChanges
from agent.hardware.sysfs import Sysfs
from agent.hardware.types import Bdf
from agent.hardware.uevents import Uevents

__all__ = ["ChosenMachine", "Events", "Interruption", "SimulationError", "simulated_hardware", "this_machine"]


class Events(Protocol):
    """Reports when the machine may have changed."""

    def listen(self, hear: Callable[[str], None], stop: Event) -> None:
        """Call ``hear`` once it listens, then for every event until ``stop`` is set."""
        ...


@dataclass(frozen=True, slots=True)
class ChosenMachine:
    """A machine that the options name, not opened yet.

    Shape: ``node`` is None for this machine; ``interruption`` ends all waiting for the driver, for the end of
           the program; ``hung`` has the calls into the driver that hang.
    """

    options: MachineOptions
    node: NodeFile | None
    interruption: Interruption = field(default_factory=Interruption)
    hung: HungCalls = field(default_factory=lambda: HungCalls(time.monotonic, time.time))

    @classmethod
    def of(cls, options: MachineOptions) -> Self:
        """Read the node file of a simulated machine. Raises: SimulationError."""
        return cls(options, None if options.simulated is None else load_node(options.simulated))

    @property
    def node_name(self) -> str | None:
        """Return the node name of a simulated machine, None for this machine."""
        return None if self.node is None else self.node.name

    @contextmanager
    def opened(self) -> Iterator[Machine]:
        """Open the machine while the block runs. Raises: SimulationError."""
        if self.node is not None and self.options.folder is not None:
            simulated = SimulatedMachine.open(self.node, self.options.folder)
            yield simulated_hardware(simulated, has_ended=lambda: self.interruption.has_come)
            return
        files = DriverRoot.installed(self.options.driver_root, self.options.host_root)
        is_elsewhere = files.root != Path("/")
        processes = NvmlProcesses(self.interruption)
        library = files.management_library
        gpus = LateGpus(lambda: processes.open(library() if is_elsewhere else None), hung=self.hung)
        try:
            nics = _nics(
                SysfsNics(self.options.host_root, eswitch_mode),
                SysfsFiles(self.options.host_root),
                Rtnetlink(),
            )
            launching = Launching(self.options.host_root)
            mps = MpsProgram(files, RUN_FOLDER, MountedMemory(), launching)
            slices = NvidiaSmi(files, launching)
            sysfs, fabric = Sysfs(self.options.host_root), _fabric(files)
            clients = ProcClients(gpus, files, self.options.host_root / "proc")
            events = LateEvents(gpus)
            yield Machine(gpus, sysfs, files, ProcBoot(), nics, fabric, mps, slices, clients, events)
        finally:
            self.interruption.come()  # before a session is closed, nobody waits in it
            gpus.close()

    def events(self) -> tuple[Events, ...]:
        """Return the sources of reports that the machine may have changed, each for a thread of its own."""
        if self.options.folder is not None:
            return (StateChanges(self.options.folder),)
        host = self.options.host_root
        return Uevents(host / "run/udev/control"), LinkEvents(host)


def simulated_hardware(
    simulated: SimulatedMachine, host: Path | None = None, has_ended: Callable[[], bool] = lambda: False
) -> Machine:
    """Return a simulated machine as the real readers of sysfs, procfs and device nodes see it.

    Shape: ``host`` is the network namespace that has its NICs' real links, None for this program's;
           ``has_ended`` whether the program ends, so that nobody waits for events any more.
    """
    root = simulated.root
    has_real_links = any(nic.form.kernel_links for nic in simulated.node.nics)
    network = (
        VethKernel(simulated.kernel, Rtnetlink(owner_by_alias, host)) if has_real_links else simulated.kernel
    )
    nics = _nics(_CountedReads(root=root, kernel=simulated.kernel), simulated.kernel, network)
    files = DriverRoot(root)
    mps = MpsProgram(files, root / RUN_FOLDER.relative_to("/"), PlainFolder())
    gpus = simulated.gpus
    clients = ProcClients(gpus, files)
    events = simulated.events(has_ended)
    return Machine(
        gpus, Sysfs(root), files, ProcBoot(root), nics, simulated.fabric, mps, gpus, clients, events
    )


def pci_tree(root: Path = Path("/")) -> Sysfs:
    """Return the PCIe tree of this machine, or of the one whose ``sys`` lies in a folder."""
    return Sysfs(root)


def this_machine() -> Readers:
    """Return the readers of the machine that this process runs on; the process's end closes them."""
    nics = SysfsNics(ask_eswitch=eswitch_mode)
    files = DriverRoot()
    gpus = LateGpus(NvmlProcesses(Interruption()).open)
    return Readers(gpus, Sysfs(), ProcBoot(), nics, _fabric(files), files)


def _fabric(files: DriverRoot) -> Nvfm:
    return Nvfm(files.fabric_roots(), files.fabric_library)


def _nics(reader: NicReader, files: AttributeFiles, network: NetworkKernel) -> Nics:
    """Return everything above the two kernel interfaces, which is the same on every machine."""
    return Nics(
        reader, SysfsFunctions(reader, files), PfSettings(reader, network), MovableInterfaces(network)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _CountedReads(SysfsNics):
    """The reader of a simulated machine, whose RDMA devices may come only after some reads."""

    kernel: SimulatedKernel

    def rdma_devices(self, bdf: Bdf) -> tuple[RdmaDevice, ...]:
        """Read, then count the read."""
        found = SysfsNics.rdma_devices(self, bdf)  # super() fails in a dataclass with slots
        with translated("read the RDMA devices", f"PCI function {bdf}"):
            self.kernel.count_rdma_read(bdf)
        return found
