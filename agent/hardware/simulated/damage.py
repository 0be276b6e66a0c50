"""Checks that a machine's stored state fits its node file; files may be damaged or edited by hand.

Takes a ``State``; returns its ``NodeFile``, or ``NoMachine`` with what does not fit. All later code relies on
this check: every GPU and NIC has an entry, every instance a profile.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from msgspec.structs import replace

from agent.hardware.errors import HardwareError
from agent.hardware.nics.types import LinkState
from agent.hardware.simulated import rules
from agent.hardware.simulated.devices import Card
from agent.hardware.simulated.errors import InvalidFault, InvalidNodeFile, NoMachine
from agent.hardware.simulated.library import parse_node
from agent.hardware.simulated.nic_state import NEVER
from agent.hardware.simulated.nics.functions import VFIO, find
from agent.hardware.simulated.node import NodeFile
from agent.hardware.simulated.state import GpuState, State
from agent.hardware.simulated.strikes import faults_of
from agent.hardware.types import Placement

_DAMAGED: Final = "machine.json is damaged; correct it or remove the directory"


def machine_of(directory: Path, state: State) -> NodeFile:
    """Return the machine of a state. Raises: NoMachine if the state is damaged."""
    try:
        node = parse_node(state.source, state.node)
        faults_of(state)
    except (InvalidNodeFile, InvalidFault) as error:
        raise NoMachine(str(directory), f"{_DAMAGED}: {error}") from error
    problem = _problem(node, state)
    if problem:
        raise NoMachine(str(directory), f"{_DAMAGED}: {problem}")
    return node


def _problem(node: NodeFile, state: State) -> str:
    """Return what is wrong with the state, empty if nothing is."""
    if set(state.gpus) != {card.uuid for card in node.cards}:
        return "gpus are not those of the node file"
    if set(state.vfs) != {nic.bdf for nic in node.nics}:
        return "vfs are not of the NICs of the node file"
    for nic in node.nics:
        if not 0 <= state.vfs[nic.bdf] <= nic.form.total_vfs:
            return f"NIC {nic.bdf} has {state.vfs[nic.bdf]} VFs of {nic.form.total_vfs}"
    for card in node.cards:
        reason = _problem_of_instances(card, state.gpus[card.uuid])
        if reason:
            return f"{card}: {reason}"
    return _problem_of_functions(node, state) or _problem_of_fabric(node, state)


def _problem_of_fabric(node: NodeFile, state: State) -> str:
    fabric = node.document.fabric
    known = {one.id for one in fabric.partitions} if fabric else set()
    unknown = {*state.fabric.active, *state.fabric.left_out} - known
    return f"fabric has partition {min(unknown)}, which the node file lacks" if unknown else ""


def _problem_of_functions(node: NodeFile, state: State) -> str:
    for bdf, function in state.functions.items():
        nic = find(node, state, bdf)
        if nic is None:
            return f"functions has {bdf}, which no NIC has"
        if function.driver not in (None, nic.nic.model.driver, VFIO) or function.reads_left < NEVER:
            return f"function {bdf} has driver {function.driver} and {function.reads_left} reads left"
        if function.setting.link_state not in list(LinkState):
            return f"function {bdf} has link state {function.setting.link_state}"
    return ""


def _problem_of_instances(card: Card, state: GpuState) -> str:
    """Create the instances again one by one: if the rules refuse one, no machine can have had it."""
    cut = replace(state, instances=())
    try:
        for instance in state.instances:
            place = Placement(instance.start, instance.size)
            cut, gi_id = rules.create_gpu_instance(card, cut, instance.profile_id, place)
            if gi_id != instance.gi_id:
                return f"the GPU instance at {place.start}:{place.size} has id {gi_id}, not {instance.gi_id}"
    except HardwareError as error:
        return error.reason
    return ""
