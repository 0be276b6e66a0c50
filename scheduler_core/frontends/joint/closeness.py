"""The cost of a set of devices as a tuple: a smaller tuple is better.

First comes the smallest scope that contains the devices and their cards. Then come the devices without a
card of each type in their PCIe scope, and those without one in their NUMA node. Then comes how few scopes
they are in, how close they are in these to their cards and to each other, and how few unused scopes they
start to use.

A PCIe scope is a whole tree of switches. Of two pairs in it the one that shares more switches is closer. Few
scopes come before that: else four GPUs of a DGX A100 would take one of each tree, and no tree would be left.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import takewhile

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.joint.node_device import NodeDevice
from scheduler_core.rules.scopes import Scope

DEVICE, SWITCH, NUMA_NODE, MACHINE = range(4)
Cost = tuple[int, ...]


def depth(devices: Sequence[NodeDevice]) -> int:
    """Return the smallest scope that contains all devices."""
    if len(devices) == 1:
        return DEVICE
    if None not in {one.pcie for one in devices} and len({one.pcie for one in devices}) == 1:
        return SWITCH
    if None not in {one.numa for one in devices} and len({one.numa for one in devices}) == 1:
        return NUMA_NODE
    return MACHINE


def shared_switches(one: NodeDevice, other: NodeDevice) -> int:
    """Return how many switches are above both devices."""
    both = zip(one.switches, other.switches, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both))


def has_levels(devices: Sequence[NodeDevice]) -> bool:
    """Whether there are switches below the PCIe scope of some device. If not, the scope says all."""
    return any(one.switches and one.switches[-1] != one.pcie for one in devices)


def _apart(devices: Sequence[NodeDevice], others: Sequence[NodeDevice]) -> int:
    """Return the switches that each device shares with the nearest of the others, added up; a cost."""
    return -sum(
        max((shared_switches(one, other) for other in others if other is not one), default=0)
        for one in devices
    )


def span(devices: Sequence[NodeDevice]) -> int:
    """Return the number of PCIe scopes of the devices. A device without a scope counts as one."""
    return len({one.pcie for one in devices if one.pcie is not None}) + sum(
        one.pcie is None for one in devices
    )


def distance(devices: Sequence[NodeDevice], cards: Sequence[Sequence[NodeDevice]]) -> Cost:
    """Return the smallest scope of devices and cards together, the number of devices without a card in their
    PCIe scope, and the number without one in their NUMA node.

    Shape: ``cards`` by type.
    """
    if not cards:
        return ()
    scope = max(SWITCH, depth([*devices, *(one for mine in cards for one in mine)]))
    below_none = far = 0
    for mine in cards:
        scopes = {one.pcie for one in mine if one.pcie is not None}
        numas = {one.numa for one in mine if one.numa is not None}
        below_none += sum(one.pcie not in scopes for one in devices)
        far += sum(one.numa not in numas for one in devices)
    return scope, below_none, far


def levels(devices: Sequence[NodeDevice], cards: Sequence[Sequence[NodeDevice]]) -> Cost:
    """Return how far devices are from their cards, and from each other, below their PCIe scopes."""
    if not has_levels(devices):
        return 0, 0
    return sum(_apart(devices, mine) for mine in cards), _apart(devices, devices)


@dataclass(frozen=True, slots=True)
class UsedScopes:
    """The scopes in which some device of a type is in use."""

    switches: Set[Scope]
    numas: Set[Scope]

    @classmethod
    def of(cls, everything: Sequence[NodeDevice]) -> UsedScopes:
        """Return the scopes in use. Shape: ``everything`` are all devices of the type."""
        touched = [one for one in everything if one.is_touched]
        return cls(
            {one.pcie for one in touched if one.pcie is not None},
            {one.numa for one in touched if one.numa is not None},
        )


def compactness(
    devices: Sequence[NodeDevice], cards: Sequence[Sequence[NodeDevice]], used: UsedScopes
) -> Cost:
    """Return the smallest scope of the devices, their number of scopes, how far they are from cards and each
    other in these, whether that scope is in use already, and how many unused scopes they start to use.
    """
    scope = depth(devices)
    reused = 0
    if scope <= SWITCH:
        reused += devices[0].pcie in used.switches
    if scope <= NUMA_NODE:
        reused += devices[0].numa in used.numas
    unused = {one.pcie for one in devices if one.pcie is not None and one.pcie not in used.switches}
    return max(scope, SWITCH), span(devices), *levels(devices, cards), -reused, len(unused)
