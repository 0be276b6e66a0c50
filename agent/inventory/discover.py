"""Reads the whole node into one inventory.

A device that cannot be read does not affect the others. A fault of all GPUs or all NICs does not affect
the other part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from agent.hardware.errors import OF_THE_GPU, GpuLost, HardwareError, ResetRequired
from agent.hardware.fabric.ports import FabricReader
from agent.hardware.fabric.types import FabricMode
from agent.hardware.ports import GpuReader, PciReader, Readers
from agent.hardware.types import (
    Bdf,
    DriverVersions,
    Gpu,
    GpuUuid,
    PciFunction,
    PhysicalFunction,
    Unreadable,
)
from agent.inventory.fabric.joining import fabric_in, fabric_without_answer
from agent.inventory.model import NO_FABRIC, Fabric, GpuEntry, Inventory, Part
from agent.inventory.nic_facts import FunctionFacts, facts_of_all
from agent.inventory.numbers.numbering import GpusSeen, NumberedGpu, Numbering, Numbers, in_pci_order
from agent.inventory.numbers.unlisted import UnlistedGpu, why_unlisted


def discover(readers: Readers, node: str, numbering: Numbering = in_pci_order) -> Inventory:
    """Read the whole node.

    Shape: a device that cannot be read is in ``unreadable`` with the reason, and nowhere else; a GPU of which
           PCI has something to say is in ``unlisted`` too. ``numbering`` gives the GPUs their numbers.
    Raises: HardwareError where the numbers are unknown.
    """
    with readers.reuse.one_look():
        return _discovered(replace(readers, gpus=readers.gpus.in_one_look()), node, numbering)


def _discovered(readers: Readers, node: str, numbering: Numbering) -> Inventory:
    of_gpus: list[Unreadable] = []
    of_nics: list[Unreadable] = []
    listed, versions = _listed(readers.gpus, of_gpus)
    nics = _nics(readers.pci, of_nics)
    drivers = readers.reuse.made("drivers", tuple(nics), lambda: _drivers(nics))
    shown = _shown(readers.pci, drivers, of_gpus)
    numbers = numbering(_seen(listed, shown))
    gpus = _entries(listed, numbers, {gpu.bdf: gpu for gpu in shown}, readers, of_gpus)
    has_imex = bool(gpus) and _has_imex(readers, of_gpus)
    fabric = _fabric(readers.fabric) if gpus else NO_FABRIC
    functions = _facts(nics, drivers, readers, of_nics)
    unread = {
        Part.GPUS: bool(of_gpus) or any(entry.mig_problem for entry in gpus),
        Part.NICS: bool(of_nics) or any(facts.problem for facts in functions.values()),
        Part.FABRIC: fabric.is_unread,
    }
    return Inventory(
        node=node,
        boot_id=readers.boot.boot_id(),
        versions=versions,
        gpus=tuple(sorted(gpus, key=lambda entry: entry.gpu.number)),
        unlisted=_unlisted(shown, {entry.gpu.bdf for entry in gpus}, numbers, of_gpus),
        nics=tuple(sorted(nics, key=lambda pf: pf.function.bdf)),
        unreadable=tuple(dict.fromkeys((*of_gpus, *of_nics))),
        fabric=fabric,
        has_imex=has_imex,
        functions=functions,
        unread=frozenset(part for part, is_unread in unread.items() if is_unread),
    )


def _listed(reader: GpuReader, unreadable: list[Unreadable]) -> tuple[list[Gpu], DriverVersions | None]:
    """Return the GPUs that the driver lists and reads."""
    try:
        found = reader.gpus()
        versions = reader.versions() if found else None
    except HardwareError as error:  # a driver that fails or hangs stops no NIC
        unreadable.append(Unreadable("GPUs", str(error)))
        return [], None
    unreadable.extend(gpu for gpu in found if isinstance(gpu, Unreadable))
    return _believed([gpu for gpu in found if isinstance(gpu, Gpu)], unreadable), versions


def _believed(listed: Iterable[Gpu], unreadable: list[Unreadable]) -> list[Gpu]:
    """Return the GPUs whose answers can be true. Of two with one address, UUID or minor the first one counts.

    Every later call finds a GPU by its UUID, so that a second one of the same UUID can never be prepared; and
    a container that got the second one of the same minor number would use the device node of the first.
    """
    by_uuid: dict[GpuUuid, Gpu] = {}
    by_bdf: dict[Bdf, Gpu] = {}
    by_minor: dict[int, Gpu] = {}
    for gpu in listed:
        if (twin := by_uuid.get(gpu.uuid)) is not None:
            why = f"it has the UUID {gpu.uuid} of the GPU at {twin.bdf}"
        elif (twin := by_bdf.get(gpu.bdf)) is not None:
            why = f"it has the PCI address of GPU {twin.index} ({twin.uuid})"
        elif gpu.minor < 0:
            why = f"its minor number is {gpu.minor}, so that it has no device node"
        elif (twin := by_minor.get(gpu.minor)) is not None:
            why = f"its minor number is {gpu.minor}, as that of the GPU at {twin.bdf}"
        elif gpu.memory_bytes is not None and gpu.memory_bytes <= 0:
            why = f"it has {gpu.memory_bytes} bytes of memory"
        else:
            by_uuid[gpu.uuid] = by_bdf[gpu.bdf] = by_minor[gpu.minor] = gpu
            continue
        reason = f"the driver answers of the GPU at {gpu.bdf} that {why}; the operator checks the driver"
        hints = () if gpu.bdf in by_bdf else (gpu.bdf,)
        unreadable.append(Unreadable(f"GPU {gpu.index}", reason, hints, gpu.bdf))
    return list(by_uuid.values())


def _shown(pci: PciReader, of_nics: Collection[Bdf], unreadable: list[Unreadable]) -> list[PciFunction]:
    """Return the GPUs that PCI shows, by address; the functions of NICs are not looked at."""
    try:
        found = pci.gpus(of_nics)
    except HardwareError as error:
        unreadable.append(Unreadable("GPUs on PCI", str(error)))
        return []
    unreadable.extend(gpu for gpu in found if isinstance(gpu, Unreadable))
    return [gpu for gpu in found if isinstance(gpu, PciFunction)]


def _seen(listed: Iterable[Gpu], shown: Iterable[PciFunction]) -> GpusSeen:
    by_uuid = {gpu.uuid: gpu.bdf for gpu in listed}
    return GpusSeen(frozenset((*by_uuid.values(), *(function.bdf for function in shown))), by_uuid)


def _entries(
    listed: Iterable[Gpu],
    numbers: Numbers,
    shown: Mapping[Bdf, PciFunction],
    readers: Readers,
    unreadable: list[Unreadable],
) -> list[GpuEntry]:
    entries = []
    for gpu in listed:
        numbered = NumberedGpu.of(gpu, numbers[gpu.bdf])
        try:
            function = shown.get(gpu.bdf) or _function(numbered, readers.pci, unreadable)
            entries.append(_entry(numbered, readers.gpus, function))
        except HardwareError as error:
            subject = f"GPU {numbered.number} ({gpu.uuid})"
            is_lost = isinstance(error, GpuLost | ResetRequired)
            unreadable.append(Unreadable(subject, str(error), (gpu.uuid, gpu.bdf), gpu.bdf, is_lost))
    return entries


def _entry(gpu: NumberedGpu, gpus: GpuReader, function: PciFunction | None) -> GpuEntry:
    """Return a GPU with what can be cut from it. A MIG query that fails costs MIG, not the GPU.

    Raises: HardwareError, for what is wrong with the whole GPU.
    """
    entry = GpuEntry(gpu=gpu, function=function)
    if gpu.mig is None:
        return entry
    try:
        entry = replace(entry, profiles=gpus.profiles(gpu.uuid))
    except OF_THE_GPU:
        raise
    except HardwareError as error:
        entry = replace(entry, mig_problem=str(error))
    try:
        return replace(entry, instances=gpus.gpu_instances(gpu.uuid) if gpu.mig.current else ())
    except OF_THE_GPU:
        raise
    except HardwareError as error:
        return replace(entry, mig_problem=entry.mig_problem or str(error), are_instances_known=False)


def _function(gpu: NumberedGpu, pci: PciReader, unreadable: list[Unreadable]) -> PciFunction | None:
    """Return a GPU's PCI function; if that cannot be read, the GPU is kept without its topology."""
    try:
        return pci.function(gpu.bdf)
    except HardwareError as error:
        unreadable.append(Unreadable(f"topology of GPU {gpu.number}", str(error)))
        return None


def _has_imex(readers: Readers, unreadable: list[Unreadable]) -> bool:
    try:
        return readers.files.has_imex_channels()
    except HardwareError as error:
        unreadable.append(Unreadable("IMEX channels", str(error)))
        return False


def _unlisted(
    shown: Iterable[PciFunction], known: Collection[Bdf], numbers: Numbers, unreadable: Iterable[Unreadable]
) -> tuple[UnlistedGpu, ...]:
    """Return the GPUs that PCI shows and the driver does not list, by number."""
    problems = {hint: one for one in unreadable for hint in one.hints}
    found = (
        UnlistedGpu(numbers[one.bdf], one, why_unlisted(one, problems.get(one.bdf)))
        for one in shown
        if one.bdf not in known
    )
    return tuple(sorted(found, key=lambda one: one.number))


def _fabric(reader: FabricReader) -> Fabric:
    """Ask the fabric manager. Where it does not answer, whole GPUs are not offered; that is no failure."""
    mode = FabricMode.NONE
    try:
        mode = reader.mode()
        partitions = reader.partitions() if mode is FabricMode.SHARED else ()
    except HardwareError as error:
        return fabric_without_answer(mode, error)
    return fabric_in(mode, partitions)


def _nics(pci: PciReader, unreadable: list[Unreadable]) -> list[PhysicalFunction]:
    found: list[PhysicalFunction] = []
    try:
        nics = pci.nics()
    except HardwareError as error:
        unreadable.append(Unreadable("NICs", str(error)))
        return found
    for nic in nics:
        if isinstance(nic, Unreadable):
            unreadable.append(nic)
        else:
            found.append(nic)
    return found


def _drivers(nics: Iterable[PhysicalFunction]) -> Mapping[Bdf, str | None]:
    return {function.bdf: function.driver for function in _functions_of(nics)}


def _functions_of(nics: Iterable[PhysicalFunction]) -> Iterator[PciFunction]:
    """Yield every function of the NICs; claims may have each of them."""
    for pf in nics:
        yield pf.function
        yield from (vf.function for vf in pf.vfs)


def _facts(
    nics: list[PhysicalFunction],
    drivers: Mapping[Bdf, str | None],
    readers: Readers,
    unreadable: list[Unreadable],
) -> Mapping[Bdf, FunctionFacts]:
    """Return the facts of every function of the NICs."""
    switches = {pf.function.bdf for pf in nics if pf.total_vfs}
    facts = facts_of_all(readers.nics, drivers, switches, readers.reuse)
    try:
        direct = readers.nics.data_direct([pf.function.bdf for pf in nics], drivers)
    except HardwareError as error:
        unreadable.append(Unreadable("data-direct functions", str(error)))
        return facts
    return {**facts, **{bdf: replace(facts[bdf], data_direct=function) for bdf, function in direct.items()}}
