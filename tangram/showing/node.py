"""``tangram show`` of a node: its PCIe tree, its devices, its slices and their sizes."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from rich.text import Text

from agent.hardware.ports import Readers
from agent.inventory import describe, discover, offered
from agent.inventory.model import Inventory, NodeDevices
from agent.inventory.numbers.kept import ReadNumbers
from agent.inventory.numbers.number_file import NumberFile, folder_of
from agent.inventory.numbers.numbering import Numbering, in_pci_order
from agent.policy.effect_file import EffectFile, Stored
from agent.slices import projected
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.dialects.layout import Layout
from scheduler_core.model.names import DEFAULT_DRIVER
from scheduler_core.model.pool import Pool
from tangram.errors import bad_argument
from tangram.face import DONE, Face
from tangram.node_options.gpu_modes import with_gpu_modes
from tangram.node_options.imex import imex_channels
from tangram.node_options.multus import with_multus
from tangram.node_options.partitions import with_partitions
from tangram.node_options.policy import with_policy
from tangram.node_options.vf_rules import with_vf_rules
from tangram.node_sizes import FORMS, sizes_of
from tangram.options import checked_node_name, host_name
from tangram.pictures.devices import devices_table, rows
from tangram.pictures.pcie import pcie_tree
from tangram.pictures.policy import policy_picture, stored_value
from tangram.pictures.sizes import sizes_markdown, sizes_table
from tangram.pictures.withheld import withheld_table
from tangram.program.streams import complain
from tangram.program.throwaway import throwaway_folder

_KUBELET: Final = Path("/var/lib/kubelet")
_Source = tuple[Readers, str, Numbering, EffectFile | None, tuple[str, ...]]
"""The readers of a node, its name, its numbers, its policy in effect, and what a simulated one lacks."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A node as it publishes itself. Shape: ``policy`` what of it is in effect, None without a policy."""

    inventory: Inventory
    devices: NodeDevices
    policy: Stored | None = None


def run(options: Namespace, face: Face) -> int:
    """Show the node that the options name."""
    with _readers(options, face) as (readers, name, numbering, effect_file, left_out):
        found = with_gpu_modes(with_partitions(discover(readers, name, numbering), options), options)
        found = replace(found, imex_channels=imex_channels(options))
        found = with_vf_rules(found, options)
        found = with_multus(found, options)
        found, stored = with_policy(found, options, effect_file)
        shown = replace(described(found, options.driver_name or DEFAULT_DRIVER), policy=stored)
    devices = replace(shown.devices, left_out=(*left_out, *shown.devices.left_out))
    shown = replace(shown, devices=devices)
    if options.form is not None:
        face.out.documents(FORMS[options.form](shown.devices), as_json=options.json)
        if options.form == "v1-1.34":
            for sentence in projected(shown.devices, Layout.TOGETHER)[1]:
                complain(sentence)
    elif options.json:
        face.out.json(_plain(shown))
    else:
        _draw(shown, face)
    return DONE


def shown_of(readers: Readers, node: str, driver: str) -> Shown:
    """Read a node and describe what can be prepared on it without an operator."""
    return described(discover(readers, node), driver)


def described(inventory: Inventory, driver: str) -> Shown:
    """Describe what can be prepared on a node without an operator."""
    return Shown(inventory, describe(offered(inventory), driver))


def simulated_pool(node: str, face: Face) -> Pool:
    """Return what a simulated machine publishes. Raises: BadInput."""
    with throwaway_folder() as folder:
        machine = face.machines.simulated(node, folder / "machine")
        return shown_of(machine.machine.readers, machine.name, DEFAULT_DRIVER).devices.pool


@contextmanager
def _readers(options: Namespace, face: Face) -> Iterator[_Source]:
    if options.real:
        name = checked_node_name(options.node_name or host_name())
        folder = folder_of(_KUBELET, options.driver_name or DEFAULT_DRIVER, None)
        yield face.machines.real(), name, ReadNumbers(NumberFile(folder, name)), EffectFile(folder, name), ()
    elif options.machine is not None:
        node = face.machines.attached(options.machine)
        folder = folder_of(_KUBELET, DEFAULT_DRIVER, options.machine)
        numbers, effect = NumberFile(folder, node.name), EffectFile(folder, node.name)
        yield node.machine.readers, node.name, ReadNumbers(numbers), effect, node.left_out
    elif options.node is not None:
        with throwaway_folder() as folder:
            node = face.machines.simulated(options.node, folder / "machine")
            yield node.machine.readers, node.name, in_pci_order, None, node.left_out
    else:
        raise bad_argument("show", None, "name --node, --machine, --real, --file or --cluster")


def _plain(shown: Shown) -> dict[str, Any]:
    return {
        "inventory": shown.inventory,
        "devices": rows(shown.devices.pool),
        "leftOut": shown.devices.left_out,
        "withheld": shown.devices.withheld,
        "policy": None if shown.policy is None else stored_value(shown.policy),
        "sizes": list(sizes_of(shown.devices)),
    }


def _draw(shown: Shown, face: Face) -> None:
    face.out.show(pcie_tree(shown.inventory, shown.devices.withheld))
    face.out.heading("Devices")
    face.out.show(devices_table(shown.devices.pool, is_wide=face.out.is_wide))
    for sentence in shown.devices.left_out:
        face.out.show(Text(f"left out: {sentence}", style="yellow"))
    if shown.devices.withheld:
        face.out.heading("Withheld: not offered, since they cannot be prepared")
        face.out.show(withheld_table(shown.devices.withheld))
    if shown.policy is not None:
        face.out.heading("Policy in effect")
        face.out.show(*policy_picture(shown.policy, shown.inventory))
    face.out.heading("Slices")
    face.out.show(sizes_table(list(sizes_of(shown.devices))))


def run_sizes(options: Namespace, face: Face) -> int:
    """Show the sizes of the slices of every shipped machine."""
    found = {}
    for summary in face.machines.shipped():
        with throwaway_folder() as folder:
            node = face.machines.simulated(summary.name, folder / "machine")
            inventory = with_gpu_modes(discover(node.machine.readers, node.name), options)
            shown = described(inventory, options.driver_name or DEFAULT_DRIVER)
            found[summary.name] = (len(shown.devices.pool.devices), list(sizes_of(shown.devices)))
    if options.json:
        face.out.json({name: {"devices": count, "sizes": sizes} for name, (count, sizes) in found.items()})
    else:
        face.out.text(sizes_markdown(found))
    return DONE
