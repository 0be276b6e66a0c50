"""How good a set of units is, as a tuple to compare: smaller is better.

First the closest scope that holds them with their cards; then how many of them have a card of each wanted
type below their switch, then in their NUMA node; then how close they are to each other, and how little of
what is whole they break.
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.frontends.joint.node_device import NodeDevice

DEVICE, SWITCH, NUMA_NODE, MACHINE = range(4)
Cost = tuple[int, ...]


def depth(units: Sequence[NodeDevice]) -> int:
    """Return the closest scope that holds all units."""
    if len(units) == 1:
        return DEVICE
    if None not in {one.pcie for one in units} and len({one.pcie for one in units}) == 1:
        return SWITCH
    if None not in {one.numa for one in units} and len({one.numa for one in units}) == 1:
        return NUMA_NODE
    return MACHINE


def span(units: Sequence[NodeDevice]) -> int:
    """Return over how many PCIe scopes the units spread; those that tell none count each."""
    return len({one.pcie for one in units if one.pcie is not None}) + sum(one.pcie is None for one in units)


def distance(units: Sequence[NodeDevice], cards: Sequence[Sequence[NodeDevice]]) -> Cost:
    """Return the scope of units and cards together, how many units lack a card below their switch, and how
    many lack one in their NUMA node.

    Shape: ``cards`` by type.
    """
    if not cards:
        return ()
    held = max(SWITCH, depth([*units, *(one for mine in cards for one in mine)]))
    below = far = 0
    for mine in cards:
        scopes = {one.pcie for one in mine if one.pcie is not None}
        numas = {one.numa for one in mine if one.numa is not None}
        below += sum(one.pcie not in scopes for one in units)
        far += sum(one.numa not in numas for one in units)
    return held, below, far


def compactness(units: Sequence[NodeDevice], everything: Sequence[NodeDevice]) -> Cost:
    """Return the closest scope that holds the units, their spread, and how little they fill up of what is
    broken already.
    """
    held = depth(units)
    used_switches = {one.pcie for one in everything if one.is_touched and one.pcie is not None}
    used_numas = {one.numa for one in everything if one.is_touched and one.numa is not None}
    filled = 0
    if held <= SWITCH:
        filled += units[0].pcie in used_switches
    if held <= NUMA_NODE:
        filled += units[0].numa in used_numas
    fresh = {one.pcie for one in units if one.pcie is not None and one.pcie not in used_switches}
    return max(held, SWITCH), span(units), -filled, len(fresh)
