"""Describes an inventory as composite devices: what the node offers, and the hardware of each name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from agent.hardware.types import DriverVersions, Unreadable
from agent.inventory.fabric.imex import ImexDescriber
from agent.inventory.fabric.joining import as_fabric_allows
from agent.inventory.gpus import GpuDescriber
from agent.inventory.model import GpuEntry, Group, Inventory, NodeDevices, SplitGpus
from agent.inventory.modes import ModesOfGpu
from agent.inventory.names import gpu_name
from agent.inventory.nics import NicDescriber
from agent.inventory.numbers.in_tables import with_numbers
from agent.inventory.partitions import PartitionDescriber
from agent.inventory.published import PublishedDevice, gpus_of, hardware_ids
from agent.inventory.sound.entries import SoundEntries, sound_entries, without_rejected
from agent.inventory.sound.profiles import with_sound_profiles
from agent.inventory.sound.versions import told_of_versions
from scheduler_core.dialects.mixins import flatten
from scheduler_core.dialects.nested_counters import nested_counters_of
from scheduler_core.model.composite import CompositeSlice, Mixin
from scheduler_core.model.device import DeviceName
from scheduler_core.model.names import DEFAULT_DRIVER
from scheduler_core.model.nodes import NOWHERE, OnNode
from scheduler_core.model.pool import Pool, PoolId


def describe(inventory: Inventory, driver: str = DEFAULT_DRIVER) -> NodeDevices:
    """Return every device that can be cut from the node's hardware, one pool for GPUs and NICs.

    Compute instances of a GPU are left out, with the reason, where v1 cannot say what they exclude.
    Shape: GPUs by number, each before its MIG partitions, then their compute instances, and then in shares;
           then NVLink partitions, small ones first; then IMEX channels; then NICs by address, each before
           its VFs; none that the inventory or the fabric manager withholds.
    """
    inventory = as_fabric_allows(_with_numbers(inventory))
    found = _described(inventory, driver)
    if inventory.split is None:
        return found
    problems = nested_counters_of(found.pool).problems
    if not problems:
        return found
    known = frozenset(entry.gpu.number for entry in inventory.gpus)
    named = known if inventory.split.numbers is None else inventory.split.numbers
    sayable = SplitGpus(frozenset(number for number in named if gpu_name(number) not in problems))
    told = [f"compute instances of {root}: none, {'; '.join(why)}" for root, why in problems.items()]
    rest = _described(replace(inventory, split=sayable), driver)
    return replace(rest, left_out=(*rest.left_out, *told))


def _with_numbers(inventory: Inventory) -> Inventory:
    """Return the inventory with a table that names GPUs by their numbers; what it names in vain is told."""
    if inventory.linked is None:
        return inventory
    gpus = [entry.gpu for entry in inventory.gpus]
    missing = {one.function.bdf: one.number for one in inventory.unlisted}
    table, problems = with_numbers(inventory.linked.table, gpus, missing)
    told = (Unreadable("a partition of GPUs", problem) for problem in problems)
    return replace(
        inventory,
        linked=replace(inventory.linked, table=table),
        unreadable=(*inventory.unreadable, *told),
    )


def _described(inventory: Inventory, driver: str) -> NodeDevices:
    groups: list[Group] = []
    nics = NicDescriber(driver)
    links = PartitionDescriber(driver, inventory.modes)
    imex = ImexDescriber(driver)
    shared: dict[str, Mixin] = {}
    by_name: dict[DeviceName, PublishedDevice] = {}
    left_out = [f"{gone.what}: {gone.reason}" for gone in inventory.unreadable]
    inventory, odd = _with_sound_profiles(inventory)
    if inventory.versions is not None:
        left_out += [*odd, *told_of_versions(inventory.versions)]
        gpus = _describer_of_gpus(inventory, inventory.versions, driver)
        for entry in _single(inventory):
            group = gpus.describe(entry, inventory.modes.of(entry.gpu.number))
            groups.append(_offered(group, is_whole=gpu_name(entry.gpu.number) in gpus.by_name))
        shared |= gpus.shared
        by_name |= gpus.by_name
        left_out += [*gpus.left_out, *_not_offered(inventory, gpus), *_not_split(inventory)]
        if inventory.linked is not None:
            links.describe(inventory, inventory.linked)
            groups += links.groups
        imex.describe(inventory)
        groups += imex.groups
        left_out += imex.left_out
    groups += nics.describe(inventory)
    by_name |= links.by_name | imex.by_name | nics.by_name
    entries, pool = _sound(inventory.node, driver, (shared | nics.shared).values(), groups)
    return NodeDevices(
        shared=entries.shared,
        groups=entries.groups,
        by_name={name: device for name, device in by_name.items() if name not in entries.gone},
        pool=pool,
        left_out=(*left_out, *entries.left_out, *_unmet_vf_rules(inventory)),
        withheld=(*inventory.withheld, *links.withheld),
        remembered=_remembered(inventory, by_name),
        unlisted=inventory.unlisted,
        modes={entry.gpu.number: inventory.modes.of(entry.gpu.number) for entry in inventory.gpus},
    )


def _describer_of_gpus(inventory: Inventory, versions: DriverVersions, driver: str) -> GpuDescriber:
    return GpuDescriber(
        driver,
        versions,
        linked=inventory.linked,
        split=inventory.split,
        direct_switches=inventory.direct_switches,
        attributes=inventory.attributes,
    )


def _sound(
    node: str, driver: str, shared: Iterable[Mixin], groups: Iterable[Group]
) -> tuple[SoundEntries, Pool]:
    """Return what API servers take of the mixins and devices, and the pool of it."""
    entries = sound_entries(shared, groups, driver)
    pool = flatten([_one_slice(node, driver, entries)])
    return without_rejected(entries, pool.rejected), replace(pool, rejected={})


def _remembered(inventory: Inventory, devices: Mapping[DeviceName, PublishedDevice]) -> frozenset[DeviceName]:
    old = inventory.remembered
    return frozenset(
        name for name, device in devices.items() if old and not old.isdisjoint(hardware_ids(device))
    )


def _with_sound_profiles(inventory: Inventory) -> tuple[Inventory, list[str]]:
    """Return the inventory without MIG profiles whose figures cannot be, and a sentence about each."""
    checked = [with_sound_profiles(entry) for entry in inventory.gpus]
    told = [sentence for _, sentences in checked for sentence in sentences]
    return (
        (replace(inventory, gpus=tuple(entry for entry, _ in checked)), told) if told else (inventory, told)
    )


def _unmet_vf_rules(inventory: Inventory) -> Iterable[str]:
    return inventory.vfs.unmet(inventory.nics) if inventory.vfs is not None else ()


def _one_slice(node: str, driver: str, entries: SoundEntries) -> CompositeSlice:
    """Return everything as one slice, whatever its size."""
    return CompositeSlice(
        name=node,
        pool=PoolId(driver, node),
        nodes=OnNode(node),
        mixins=(*entries.shared, *(mixin for group in entries.groups for mixin in group.mixins)),
        devices=tuple(device for group in entries.groups for device in group.devices),
    )


def _not_offered(inventory: Inventory, gpus: GpuDescriber) -> list[str]:
    """Return a sentence for each GPU that has modes of its own and is missing, or has none of them."""
    known = {entry.gpu.number for entry in inventory.gpus} | inventory.pools_of_gpus.keys()
    offered = {gpu.number for device in gpus.by_name.values() for gpu in gpus_of(device)}
    missing = {number: f"GPU {number} is missing" for number in inventory.modes.by_number.keys() - known}
    none = "it can be used in none of the modes that it is offered in"
    unoffered = known - offered - inventory.pools_of_gpus.keys()
    empty = {number: none for number in unoffered if _is_meant_otherwise(inventory.modes.of(number))}
    return [f"{gpu_name(number)}: {reason}" for number, reason in sorted((missing | empty).items())]


def _is_meant_otherwise(modes: ModesOfGpu) -> bool:
    """Whether a GPU that offers nothing was to offer something that is not usual."""
    return modes != ModesOfGpu() and not modes.is_none


def _not_split(inventory: Inventory) -> list[str]:
    """Return a sentence for each GPU whose GPU instances were to be offered in parts and that is missing."""
    if inventory.split is None or inventory.split.numbers is None:
        return []
    known = {entry.gpu.number for entry in inventory.gpus} | inventory.pools_of_gpus.keys()
    missing = sorted(inventory.split.numbers - known)
    return [f"compute instances of {gpu_name(number)}: GPU {number} is missing" for number in missing]


def _single(inventory: Inventory) -> tuple[GpuEntry, ...]:
    """Return the GPUs; under an honored table, those that it lacks offer only their MIG partitions."""
    if inventory.linked is None or not inventory.linked.is_honored:
        return inventory.gpus
    allowed = {number for one in inventory.linked.table.by_size.get(1, ()) for number in one.minors}
    return tuple(
        entry if entry.gpu.number in allowed else replace(entry, offers_whole=False)
        for entry in inventory.gpus
    )


def _offered(group: Group, *, is_whole: bool) -> Group:
    """Keep a GPU that cannot be allocated whole only as the source of its partitions and shares."""
    if is_whole:
        return group
    gpu, *partitions = group.devices
    return replace(group, devices=(replace(gpu, nodes=NOWHERE), *partitions))


def as_mode_allows(inventory: Inventory) -> Inventory:
    """Return the part of an inventory that can be prepared without an operator; only that is published.

    A GPU whose MIG mode the plugin can change offers itself and its partitions. Where it cannot (the GPU is
    passed through to a virtual machine, or a mode change waits for a reset), the present mode decides. In MIG
    mode it is not offered whole either while its instances cannot be read.
    """
    return replace(inventory, gpus=tuple(_as_mode_allows(entry) for entry in inventory.gpus))


def _as_mode_allows(entry: GpuEntry) -> GpuEntry:
    mode = entry.gpu.mig
    if not entry.are_instances_known:
        return replace(entry, offers_whole=False)
    if mode is None or (mode.is_settled and not entry.gpu.mode_needs_operator):
        return entry
    return replace(entry, offers_whole=False) if mode.current else replace(entry, offers_partitions=False)
