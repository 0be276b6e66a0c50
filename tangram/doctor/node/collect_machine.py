"""Reads what the machine says, through the readers of agent and plugin. Nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from agent.hardware.errors import HardwareError
from agent.hardware.ports import Machine
from agent.hardware.types import PhysicalFunction
from agent.inventory.discover import discover
from agent.inventory.foreign.finder import ForeignFinder
from agent.inventory.foreign.found import FoundForeign
from agent.inventory.foreign.record_folder import RecordFolder
from agent.inventory.model import GpuEntry, Inventory
from agent.inventory.numbers.kept import ReadNumbers
from agent.inventory.numbers.number_file import NumberFile
from plugin.cdi.folder import CdiFolder
from plugin.claim.held import held_hardware
from plugin.claim.record_store import RecordStore
from plugin.claim.vfs.judgement import VfState
from plugin.machine.made_vfs import MadeVfStore
from plugin.machine.mig.made import MadeModes
from plugin.machine.vf_supply import VfSupply
from plugin.options import Options
from tangram.doctor.node.facts import MachineFacts, VfsOfNic


def collect_machine(machine: Machine, options: Options) -> MachineFacts:
    """Read the machine. Raises: HardwareError, StorageFailed."""
    numbers = ReadNumbers(NumberFile(options.gpu_numbers_dir, options.node_name))
    inventory = discover(machine.readers, options.node_name, numbers)
    made = MadeModes(options.mig_modes_dir)
    return MachineFacts(
        boot_id=inventory.boot_id,
        foreign=_foreign(machine, options, inventory),
        unlisted=inventory.unlisted,
        unreadable=inventory.unreadable,
        vfs=tuple(_vfs(machine, options, inventory.boot_id)),
        mig_left=tuple(
            entry.gpu
            for entry in inventory.gpus
            if made.has(entry.gpu) and _is_in_mode(machine, entry) and not _is_kept(options, entry)
        ),
    )


def _foreign(machine: Machine, options: Options, inventory: Inventory) -> tuple[FoundForeign, ...]:
    folder = RecordFolder.of(options.kubelet_dir, options.driver_name)
    return ForeignFinder(machine.gpus, folder.read)(inventory)


def _is_in_mode(machine: Machine, entry: GpuEntry) -> bool:
    """Whether a GPU is in MIG mode for nothing."""
    try:
        mode = machine.gpus.mig_mode(entry.gpu.uuid)
    except HardwareError:
        return False  # it is told as a device that cannot be read
    return mode is not None and mode.current and not entry.instances


def _is_kept(options: Options, entry: GpuEntry) -> bool:
    return options.modes.of(entry.gpu.number).keeps_mig


def _vfs(machine: Machine, options: Options, boot_id: str) -> Iterator[VfsOfNic]:
    """Yield the NICs with a rule, those that cannot be read left out."""
    if options.vfs is None:
        return
    store = RecordStore(options.claims_dir, CdiFolder(options.cdi_dir, options.driver_name))
    held = partial(held_hardware, store, boot_id)
    supply = VfSupply(machine.nics, MadeVfStore(options.made_vfs_dir), boot_id, held)
    for pf in machine.pci.nics():
        rule = options.vfs.rule_of(pf) if isinstance(pf, PhysicalFunction) else None
        if rule is None or not isinstance(pf, PhysicalFunction):
            continue
        nic = pf.function.bdf
        try:
            state = VfState(supply.present(nic), supply.made(nic), supply.is_held(nic))
        except HardwareError:
            continue
        yield VfsOfNic(nic=nic, rule=rule, state=state)
