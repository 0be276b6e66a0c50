"""``tangram show``: what a node publishes: its PCIe tree, its devices, the slices and their sizes."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
from scheduler_core.model.names import DEFAULT_DRIVER
from scheduler_core.model.pool import Pool
from tangram.cluster_options import add_cluster, check_cluster
from tangram.errors import bad_argument
from tangram.face import DONE, Face, Subparsers, add_command
from tangram.files import add_files, refuse_idle_recursion
from tangram.node_options.gpu_modes import add_gpu_modes, refuse_without_node, with_gpu_modes
from tangram.node_options.imex import add_imex, imex_channels
from tangram.node_options.multus import add_multus, with_multus
from tangram.node_options.partitions import add_partitions, with_partitions
from tangram.node_options.policy import LABELS, POLICY, add_policy, with_policy
from tangram.node_options.vf_rules import add_vf_rules, with_vf_rules
from tangram.options import add_driver_name, checked_node_name, host_name
from tangram.pictures.devices import devices_table, rows
from tangram.pictures.pcie import pcie_tree
from tangram.pictures.policy import policy_picture, stored_value
from tangram.pictures.sizes import sizes_markdown, sizes_table
from tangram.pictures.withheld import withheld_table
from tangram.program.completion import completes, node_names
from tangram.program.throwaway import throwaway_folder
from tangram.sizes import FORMS, sizes_of
from tangram.summaries import SUMMARIES

_KUBELET: Final = Path("/var/lib/kubelet")
SLICE_FORMS = ("composite", "v1", "v1-1.34")


@dataclass(frozen=True, slots=True)
class Shown:
    """A node as it publishes itself. Shape: ``policy`` what of it is in effect, None without a policy."""

    inventory: Inventory
    devices: NodeDevices
    policy: Stored | None = None


def add(parsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = add_command(
        parsers,
        "show",
        SUMMARIES["show"],
        "tangram show --node dgx-a100 --as v1",
        _run,
        wide="with every device's name",
    )
    source = parser.add_mutually_exclusive_group()
    node = source.add_argument(
        "--node", metavar="NODE", help="a shipped simulated machine, or the path of a node file"
    )
    completes(node, node_names)
    source.add_argument("--machine", metavar="DIR", type=Path, help="a simulated machine in its directory")
    source.add_argument("--real", action="store_true", help="the machine that this runs on")
    add_files(parser, "slices in YAML or JSON", among=source)
    source.add_argument(
        "--sizes", action="store_true", help="print the slice sizes of every shipped machine and nothing else"
    )
    parser.add_argument(
        "--node-name", metavar="NAME", help="the node's name with --real; default: the host's"
    )
    add_driver_name(parser)
    add_partitions(parser)
    add_gpu_modes(parser)
    add_imex(parser)
    add_vf_rules(parser)
    add_multus(parser)
    add_policy(parser)
    parser.add_argument(
        "--compatibility",
        action="store_true",
        help="with -f or --cluster: which devices may be in use together; exit status 1 for contradictions",
    )
    add_cluster(parser, "the slices that a cluster holds; --node then names one of its nodes")
    parser.add_argument("--as", choices=SLICE_FORMS, dest="form", help="print the slices in this form")


def _run(options: Namespace, face: Face) -> int:
    refuse_idle_recursion(options)
    check_cluster(options, ("machine", "real", "files", "sizes", "driver_name"))
    _check(options)
    if options.cluster:
        from tangram.commands import show_files

        return show_files.run_cluster(options, face)
    if options.sizes:
        return _sizes(options, face)
    if options.files:
        from tangram.commands import show_files

        return show_files.run(options, face)
    with _readers(options, face) as (readers, name, numbering, effect_file):
        found = with_gpu_modes(with_partitions(discover(readers, name, numbering), options), options)
        found = replace(found, imex_channels=imex_channels(options))
        found = with_vf_rules(found, options)
        found = with_multus(found, options)
        found, stored = with_policy(found, options, effect_file)
        shown = replace(described(found, options.driver_name or DEFAULT_DRIVER), policy=stored)
    if options.form is not None:
        face.out.documents(FORMS[options.form](shown.devices), as_json=options.json)
    elif options.json:
        face.out.json(_plain(shown))
    else:
        _draw(shown, face)
    return DONE


def _check(options: Namespace) -> None:
    """Refuse options that would have no effect."""
    if options.partitions is not None and (options.sizes or options.files or options.cluster):
        raise bad_argument("--partitions", options.partitions, "has no effect with --file and --cluster")
    if options.files or options.cluster:
        refuse_without_node(options)
    if options.sizes or options.files or options.cluster:
        others = {
            "--multus-resource": options.multus_resource,
            "--vfs": options.vfs,
            "--imex-channels": options.imex_channels or None,
            POLICY: options.policy,
            LABELS: options.node_labels,
        }
        for option, given in others.items():
            if given is not None:
                raise bad_argument(option, str(given), "has no effect with --sizes, --file and --cluster")
    if options.form is not None and options.sizes:
        raise bad_argument("--as", options.form, "has no effect with --sizes")
    if options.compatibility and (options.form is not None or not (options.files or options.cluster)):
        raise bad_argument("--compatibility", None, "needs --file or --cluster, and excludes --as")
    if options.driver_name is not None and options.files:
        raise bad_argument(
            "--driver-name", options.driver_name, "has no effect with --file: slices name theirs"
        )
    if options.node_name is not None and not options.real:
        raise bad_argument("--node-name", options.node_name, "is for --real; simulated machines have a name")


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
def _readers(options: Namespace, face: Face) -> Iterator[tuple[Readers, str, Numbering, EffectFile | None]]:
    if options.real:
        name = checked_node_name(options.node_name or host_name())
        folder = folder_of(_KUBELET, options.driver_name or DEFAULT_DRIVER, None)
        yield face.machines.real(), name, ReadNumbers(NumberFile(folder, name)), EffectFile(folder, name)
    elif options.machine is not None:
        node = face.machines.attached(options.machine)
        folder = folder_of(_KUBELET, DEFAULT_DRIVER, options.machine)
        numbers, effect = NumberFile(folder, node.name), EffectFile(folder, node.name)
        yield node.machine.readers, node.name, ReadNumbers(numbers), effect
    elif options.node is not None:
        with throwaway_folder() as folder:
            node = face.machines.simulated(options.node, folder / "machine")
            yield node.machine.readers, node.name, in_pci_order, None
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


def _sizes(options: Namespace, face: Face) -> int:
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
