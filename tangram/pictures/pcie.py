"""A node as its PCIe tree: sockets, root ports and switches, with the GPUs and NICs that hang there."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping

from rich.text import Text
from rich.tree import Tree

from agent.hardware.types import Gpu, GpuInstance, PciFunction, PhysicalFunction
from agent.inventory.model import GpuEntry, Inventory
from agent.inventory.names import gpu_name, memory_slice_range, nic_name, vf_name
from agent.inventory.withheld import Withheld
from scheduler_core.base.quantity import Quantity
from scheduler_core.model.device import DeviceName
from tangram.pictures.counted import counted

_Leaf = tuple[PciFunction | None, Tree]


def pcie_tree(inventory: Inventory, withheld: Iterable[Withheld] = ()) -> Tree:
    """Draw the node. Shape: by NUMA node, root complex, root port, switch; the unreadable comes last.

    What is withheld is marked with the cause, VFs with their number.
    """
    causes = {one.device: str(one.reason.cause) for one in withheld}
    tree = Tree(_title(inventory), guide_style="dim")
    branches: dict[tuple[str, ...], Tree] = {}
    for function, leaf in sorted(_leaves(inventory, causes), key=lambda found: _order(found[0])):
        branch, levels = tree, _levels(function)
        for depth, level in enumerate(levels, start=1):
            path = levels[:depth]
            if path not in branches:
                branches[path] = branch.add(Text(level, style="bold" if depth == 1 else ""))
            branch = branches[path]
        branch.children.append(leaf)
    for gone in inventory.unreadable:
        tree.add(Text(f"unreadable: {gone.what}: {gone.reason}", style="red"))
    return tree


def _title(inventory: Inventory) -> Text:
    title = Text(inventory.node, style="bold")
    if inventory.versions is not None:
        title.append(
            f"  driver {inventory.versions.driver}, CUDA {inventory.versions.cuda}", style="not bold"
        )
    return title


def _leaves(inventory: Inventory, causes: Mapping[DeviceName, str]) -> Iterator[_Leaf]:
    for entry in inventory.gpus:
        yield entry.function, _gpu(entry, causes)
    for one in inventory.unlisted:
        text = f"{gpu_name(one.number)}  {one.function.bdf}  not in the driver: {one.reason.text}"
        yield one.function, Tree(Text(text, style="red").append(_stated(one.function), style="magenta"))
    for nic in inventory.nics:
        yield nic.function, Tree(_nic(nic, causes))


def _order(function: PciFunction | None) -> tuple[int, tuple[str, ...]]:
    """Sort by NUMA node as a number; what hangs at an unknown place comes last. Ties keep GPUs first."""
    if function is None or function.numa_node is None:
        return sys.maxsize, _levels(function)
    return function.numa_node, _levels(function)


def _levels(function: PciFunction | None) -> tuple[str, ...]:
    """Return what leads to a function, from the socket down; what is unknown is left out."""
    if function is None:
        return ("place unknown",)
    numa = "NUMA node unknown" if function.numa_node is None else f"NUMA node {function.numa_node}"
    path = function.path
    named = (
        ("", f"{numa}, {path.root_complex or 'root complex unknown'}"),
        ("root port ", path.root_port),
        *(("switch ", switch) for switch in path.switches),
    )
    return tuple(f"{kind}{name}" for kind, name in named if name is not None)


def _gpu(entry: GpuEntry, causes: Mapping[DeviceName, str]) -> Tree:
    gpu = entry.gpu
    leaf = Text().append(gpu_name(gpu.number), style="bold green")
    memory = "" if gpu.memory_bytes is None else f"  {Quantity.bytes_of(gpu.memory_bytes)}"
    leaf.append(f"  {gpu.product_name}{memory}")
    leaf.append(f"  {gpu.bdf}  {mig_text(gpu)}", style="dim")
    if gpu_name(gpu.number) in causes:
        leaf.append(f"  withheld as a whole: {causes[gpu_name(gpu.number)]}", style="yellow")
    leaf.append(_stated(entry.function), style="magenta")
    tree = Tree(leaf)
    for instance in entry.instances:
        tree.add(Text(_instance(entry, instance), style="green"))
    return tree


def mig_text(gpu: Gpu) -> str:
    """Return the MIG mode in words."""
    if gpu.mig is None:
        return "no MIG"
    now, later = ("on" if enabled else "off" for enabled in (gpu.mig.current, gpu.mig.pending))
    return f"MIG {now}" if gpu.mig.is_settled else f"MIG {now}, {later} after the next reset"


def _instance(entry: GpuEntry, instance: GpuInstance) -> str:
    names = {profile.profile_id: profile.name for profile in entry.profiles}
    name = names.get(instance.profile_id, f"profile {instance.profile_id}")
    uuids = ", ".join(compute.uuid for compute in instance.compute_instances) or "no compute instance"
    return f"GI {instance.gi_id}: {name} at memory slices {memory_slice_range(instance.placement)}, {uuids}"


def _nic(nic: PhysicalFunction, causes: Mapping[DeviceName, str]) -> Text:
    name = nic_name(nic.function.bdf)
    leaf = Text().append(name, style="bold cyan")
    names = [name for name in (nic.netdev, nic.rdma_device, nic.link_type) if name]
    vfs = counted(len(nic.vfs), "VF") if nic.total_vfs else "no SR-IOV"
    leaf.append(f"  {' '.join(names)}")
    leaf.append(f"  {nic.function.vendor_id}:{nic.function.device_id}  {vfs}", style="dim")
    if name in causes:
        leaf.append(f"  withheld as a whole: {causes[name]}", style="yellow")
    withheld_vfs = sum(vf_name(nic.function.bdf, vf.index) in causes for vf in nic.vfs)
    if withheld_vfs:
        leaf.append(f"  {counted(withheld_vfs, 'VF')} withheld", style="yellow")
    return leaf.append(_stated(nic.function), style="magenta")


def _stated(function: PciFunction | None) -> str:
    """Return what of a place the policy says instead of the kernel."""
    if function is None or not function.stated:
        return ""
    return f"  by policy: {', '.join(function.stated)}"
