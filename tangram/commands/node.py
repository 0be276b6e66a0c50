"""``tangram node``: the simulated machines that come with the package, and those in directories."""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path
from typing import Final

from rich.text import Text

from scheduler_core.model.names import LABEL_RULE, is_label
from tangram.commands.fault_grammar import FAULT_GRAMMAR
from tangram.documents import parse_documents
from tangram.errors import bad_argument
from tangram.face import DONE, Face, Parser, Subparsers, add_command
from tangram.pictures.counted import counted
from tangram.program.completion import completes, node_names
from tangram.program.fitting import Column, FittingTable
from tangram.program.output import yaml_text
from tangram.program.streams import complain
from tangram.summaries import SUMMARIES

_REBOOT: Final = "tangram node create /tmp/m --node a100x2\n  tangram node reboot --machine /tmp/m"


def add(parsers: Subparsers) -> None:
    """Add the subcommand and its own subcommands."""
    node = parsers.add_parser(
        "node",
        help=SUMMARIES["node"],
        description="Simulated machines: those that come with the package, and those in directories.",
        epilog="example:\n  tangram node show dgx-a100",
    )
    below = node.add_subparsers(required=True, metavar="list|show|create|record|fault|reset|reboot")
    add_command(below, "list", "list the shipped machines", "tangram node list", _list)
    show = add_command(below, "show", "print a machine's file", "tangram node show a100x2", _show)
    completes(
        show.add_argument("node", metavar="NODE", help="a name that tangram node list prints"), node_names
    )
    _add_create(below)
    _add_record(below)
    _add_fault(below)
    _add_reset(below)
    reboot = add_command(below, "reboot", "reboot a simulated machine", _REBOOT, _reboot)
    _add_machine(reboot)


def _add_create(below: Subparsers) -> None:
    example = """tangram node create /tmp/m --node dgx-a100
  tangram show --machine /tmp/m
  tangram node fault --machine /tmp/m gpu-3:lost

The folder then is the machine: its sysfs, its device nodes, and a file that keeps what is changed on it.
Remove the folder to remove the machine."""
    create = add_command(below, "create", "make a simulated machine in a directory", example, _create)
    create.add_argument("directory", metavar="DIR", type=Path, help="an empty directory, or a new one")
    node = create.add_argument(
        "--node", metavar="NODE", required=True, help="a shipped machine, or the path of a node file"
    )
    completes(node, node_names)


def _add_record(below: Subparsers) -> None:
    example = """tangram node record > here.yaml
  tangram node create /tmp/m --node here.yaml

NVML and sysfs are read, and nothing is changed. What a node file cannot say (a GPU without a shipped model, a
card of another vendor) is named on standard error and left out."""
    record = add_command(below, "record", "print a machine as a node file", example, _record)
    record.add_argument("--name", metavar="NAME", help="of the node, a DNS label; default: recorded")
    record.add_argument("--machine", metavar="DIR", type=Path, help="a simulated machine; default: this one")


def _add_reset(below: Subparsers) -> None:
    reset = add_command(
        below,
        "reset",
        "reset a GPU of a simulated machine",
        "tangram node create /tmp/m --node a100x2\n  tangram node reset --machine /tmp/m gpu-1",
        _reset,
    )
    _add_machine(reset)
    reset.add_argument("gpu", metavar="GPU", help="such as gpu-3: the one with this minor number")


def _add_fault(below: Subparsers) -> None:
    fault = add_command(
        below,
        "fault",
        "inject faults into a simulated machine",
        "tangram node fault --machine /tmp/m gpu-3:lost",
        _fault,
    )
    _add_machine(fault)
    fault.add_argument("faults", nargs="*", metavar="FAULT", help="such as gpu-3:lost; see below")
    fault.epilog = FAULT_GRAMMAR
    fault.add_argument("--list", action="store_true", help="print the present faults")
    fault.add_argument("--clear", action="store_true", help="remove all faults")


def _add_machine(parser: Parser) -> None:
    parser.add_argument(
        "--machine", metavar="DIR", type=Path, required=True, help="the directory of the machine"
    )


def _list(options: Namespace, face: Face) -> int:
    machines = face.machines.shipped()
    if options.json:
        face.out.json(machines)
        return DONE
    rows = [(Text(one.name, style="bold"), one.gpus, one.mig, one.nics, one.topology) for one in machines]
    columns = (Column("name"), Column("GPUs", is_prose=True), Column("MIG"), Column("NICs", is_prose=True))
    face.out.show(FittingTable((*columns, Column("topology", is_prose=True)), rows))
    for one in machines:
        for sentence in one.left_out:
            face.out.show(Text(f"left out: {one.name}: {sentence}", style="yellow"))
    return DONE


def _show(options: Namespace, face: Face) -> int:
    text = face.machines.text(options.node)
    if options.json:
        face.out.json(parse_documents(options.node, text)[0].content)
    else:
        face.out.text(text)
    return DONE


def _create(options: Namespace, face: Face) -> int:
    node = face.machines.created(options.node, options.directory)
    if options.json:
        face.out.json({"machine": node.name, "directory": options.directory})
    else:
        face.out.text(f"{node.name} is in {options.directory}: tangram show --machine {options.directory}")
    return DONE


def _record(options: Namespace, face: Face) -> int:
    name = options.name or "recorded"
    if not is_label(name):
        raise bad_argument("--name", name, LABEL_RULE)
    document, left_out = face.machines.recorded(name, options.machine)
    for sentence in left_out:
        complain(f"left out: {sentence}")
    if options.json:
        face.out.json({"node": document, "leftOut": left_out})
    else:
        face.out.text(yaml_text([document]))
    return DONE


def _fault(options: Namespace, face: Face) -> int:
    wishes = [bool(options.faults), options.list, options.clear]
    if wishes.count(True) != 1:
        raise bad_argument("fault", None, "give faults, or one of --list and --clear")
    node = face.machines.attached(options.machine)
    if options.clear:
        node.clear_faults()
    elif options.faults:
        node.inject(options.faults)
    present = node.faults()
    if options.json:
        face.out.json({"machine": node.name, "faults": present})
    elif options.list:
        face.out.text("\n".join(present) if present else "no faults")
    else:
        told = ", ".join(present) or "it behaves like hardware without faults"
        face.out.text(f"{node.name} has {counted(len(present), 'fault')}: {told}")
    return DONE


def _reset(options: Namespace, face: Face) -> int:
    match = re.fullmatch(r"gpu-(\d{1,3})", options.gpu)
    if match is None:
        raise bad_argument("GPU", options.gpu, "must be gpu- and its minor number, such as gpu-3")
    node = face.machines.attached(options.machine)
    node.reset_gpu(int(match[1]))
    if options.json:
        face.out.json({"machine": node.name, "reset": options.gpu})
    else:
        face.out.text(f"{options.gpu} of {node.name} was reset")
    return DONE


def _reboot(options: Namespace, face: Face) -> int:
    node = face.machines.attached(options.machine)
    boot_id = node.reboot()
    if options.json:
        face.out.json({"machine": node.name, "bootId": boot_id})
    else:
        face.out.text(f"{node.name} rebooted; its boot id is now {boot_id}")
    return DONE
