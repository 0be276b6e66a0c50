"""The machines of the ``tangram`` command: simulated ones, and this machine to be read only.

Implements the ports of ``tangram.machines``. No other module of the command names the simulation.
It is loaded when a machine is asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tangram.machines import NodeSummary

if TYPE_CHECKING:
    from agent.hardware.machine_options import MachineOptions
    from agent.hardware.open import ChosenMachine
    from agent.hardware.ports import Readers
    from agent.hardware.simulated import SimulatedMachine


class AllMachines:
    """Simulated machines, shipped and in directories, and this machine."""

    def shipped(self) -> tuple[NodeSummary, ...]:
        """Return the simulated machines that come with the package, by name."""
        from agent.hardware.simulated import shipped_nodes

        return tuple(_summary(name) for name in shipped_nodes())

    def names(self) -> tuple[str, ...]:
        """Return their names, without reading any of them."""
        from agent.hardware.simulated import shipped_nodes

        return tuple(shipped_nodes())

    def text(self, name: str) -> str:
        """Return the file of a shipped machine."""
        from agent.hardware.simulated import node_text

        return node_text(name)

    def simulated(self, name: str, directory: Path) -> Simulated:
        """Make a machine from a shipped name or a node file, in an empty directory or in its own."""
        from agent.hardware.simulated import SimulatedMachine, load_node

        return Simulated(SimulatedMachine.open(load_node(name), directory))

    def created(self, name: str, directory: Path) -> Simulated:
        """Make a machine in a directory that is empty, or has it already. Raises: SimulationError."""
        from agent.hardware.simulated import NoMachine, SimulatedMachine

        if directory.is_dir() and any(directory.iterdir()):
            try:
                SimulatedMachine.attach(directory)
            except NoMachine as error:
                rule = "it is not empty, and holds no simulated machine: name another directory"
                raise NoMachine(str(directory), rule) from error
        return self.simulated(name, directory)

    def attached(self, directory: Path) -> Simulated:
        """Return the machine that a directory holds."""
        from agent.hardware.simulated import SimulatedMachine

        return Simulated(SimulatedMachine.attach(directory))

    def real(self) -> Readers:
        """Return the readers of the machine that this process runs on."""
        from agent.hardware.open import this_machine

        return this_machine()

    def recorded(self, name: str, directory: Path | None) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return this machine, or the one of a directory, as a node file, and what such a file cannot say."""
        from agent.hardware.errors import DriverMissing
        from agent.hardware.open import pci_tree, this_machine
        from agent.hardware.simulated import SimulatedMachine
        from agent.hardware.simulated.recording.recorder import Recorder

        simulated = None if directory is None else SimulatedMachine.attach(directory)
        tree = pci_tree() if simulated is None else pci_tree(simulated.root)
        try:
            recorder = Recorder(tree)
            found = recorder.record(name, this_machine().gpus if simulated is None else simulated.gpus)
        except DriverMissing as error:
            recorder = Recorder(tree)
            recorder.left_out.append(f"all GPUs: {error}")
            found = recorder.record(name, None)
        return found, tuple(recorder.left_out)

    def chosen(self, options: MachineOptions) -> ChosenMachine:
        """Return the machine that the options of a node's programs name; nothing is opened yet."""
        from agent.hardware.open import ChosenMachine

        return ChosenMachine.of(options)


class Simulated:
    """A simulated machine, seen through the real readers of sysfs, procfs and device nodes."""

    def __init__(self, simulated: SimulatedMachine) -> None:
        from agent.hardware.open import simulated_hardware

        self._simulated = simulated
        self.name = simulated.node.name
        self.machine = simulated_hardware(simulated)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Return a sentence for each MIG profile that it lacks, since no source has the figures."""
        return self._simulated.node.unknown

    def inject(self, faults: Sequence[str]) -> None:
        """Add faults, and let the driver raise events: all or none of them."""
        from agent.hardware.simulated import parse_injected

        self._simulated.inject(*(parse_injected(text) for text in faults))

    def faults(self) -> tuple[str, ...]:
        """Return the present faults in the form that ``inject`` takes."""
        return tuple(str(fault) for fault in self._simulated.faults())

    def clear_faults(self) -> None:
        """Remove all faults."""
        self._simulated.clear_faults()

    def reset_gpu(self, minor: int) -> None:
        """Reset a GPU. Raises: NotFound; InUse while a client holds it."""
        from agent.hardware.errors import NotFound

        for card in self._simulated.node.cards:
            if card.minor == minor:
                self._simulated.reset_gpu(card.uuid)
                return
        raise NotFound("reset", f"gpu-{minor}", f"node {self.name} has no such GPU")

    def reboot(self) -> str:
        """Reboot the machine and return its new boot id."""
        return self._simulated.reboot()


def _counts(names: Iterable[str]) -> str:
    """Return ``8 × connectx-6`` for eight equal names."""
    return ", ".join(f"{count} × {name}" for name, count in Counter(names).items()) or "none"


def _summary(name: str) -> NodeSummary:
    from agent.hardware.simulated import load_node

    file = load_node(name)
    has_mig = any(card.model.is_mig_capable for card in file.cards)
    return NodeSummary(
        name=name,
        gpus=_counts(card.model.product_name for card in file.cards),
        mig="yes" if has_mig else "no",
        nics=_counts(nic.model.name for nic in file.nics),
        topology=file.document.topology,
        left_out=file.unknown,
    )
