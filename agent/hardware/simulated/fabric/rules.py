"""The rules of the fabric manager: pure functions from one state to the next.

Takes the node and a ``FabricState``; returns the next state, or a ``HardwareError``. Source: NVIDIA Fabric
Manager User Guide, "Fabric Manager SDK" and "Interoperability with MIG".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from agent.hardware.errors import HardwareFault, InUse, NotFound
from agent.hardware.simulated.devices import Card
from agent.hardware.simulated.node import NodeFile
from agent.hardware.simulated.schema import FabricPartitionForm
from agent.hardware.simulated.state import FabricState, State

SUBJECT: Final = "the fabric manager"


def supported(node: NodeFile, state: FabricState) -> Iterator[FabricPartitionForm]:
    """Yield the partitions that the fabric manager lists, by id."""
    fabric = node.document.fabric
    for partition in sorted(fabric.partitions if fabric else (), key=lambda one: one.id):
        if partition.id not in state.left_out:
            yield partition


def activated(node: NodeFile, state: State, wanted: int) -> FabricState:
    """Activate a partition."""
    attempted = f"activate fabric partition {wanted}"
    partition = _partition(node, state.fabric, wanted, attempted)
    for other in supported(node, state.fabric):
        if other.id in state.fabric.active and set(other.modules) & set(partition.modules):
            reason = f"partition {other.id} of modules {_listed(other)} is active"
            raise InUse(attempted, SUBJECT, reason)
    for card in members(node, partition) if len(partition.modules) > 1 else ():
        # Ampere refuses, Hopper does not care.
        if card.model.changes_mode_by_reset and state.gpus[card.uuid].mig_current:
            raise HardwareFault(attempted, SUBJECT, f"{card} is in MIG mode")
    return replace(state.fabric, active=tuple(sorted({*state.fabric.active, wanted})))


def deactivated(node: NodeFile, state: State, wanted: int) -> FabricState:
    """Deactivate a partition."""
    attempted = f"deactivate fabric partition {wanted}"
    _partition(node, state.fabric, wanted, attempted)
    if wanted not in state.fabric.active:
        raise NotFound(attempted, SUBJECT, "it is not active")
    return replace(state.fabric, active=tuple(one for one in state.fabric.active if one != wanted))


def restarted(node: NodeFile, state: State) -> FabricState:
    """Start the fabric manager anew: nothing is active; groups with a GPU in MIG mode are left out."""
    fabric = node.document.fabric
    in_mig_mode = {card.form.module for card in node.cards if state.gpus[card.uuid].mig_current}
    left_out = (
        one.id
        for one in (fabric.partitions if fabric else ())
        if len(one.modules) > 1 and set(one.modules) & in_mig_mode
    )
    return FabricState(left_out=tuple(sorted(left_out)))


def members(node: NodeFile, partition: FabricPartitionForm) -> tuple[Card, ...]:
    """Return the GPUs of a partition, in its order."""
    cards = {card.form.module: card for card in node.cards}
    return tuple(cards[module] for module in partition.modules)


def _partition(node: NodeFile, state: FabricState, wanted: int, attempted: str) -> FabricPartitionForm:
    for partition in supported(node, state):
        if partition.id == wanted:
            return partition
    raise NotFound(attempted, SUBJECT, "it has no such partition")


def _listed(partition: FabricPartitionForm) -> str:
    return ", ".join(map(str, partition.modules))
