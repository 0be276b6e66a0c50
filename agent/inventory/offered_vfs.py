"""PURE: which VFs a NIC offers: those that exist, or those that are made for the first claim.

VFs on demand have the same names, slots and draws whether they exist or not, so making them changes what
people can select by (address, device id) and never what is counted.
"""

from __future__ import annotations

from collections.abc import Mapping

from agent.hardware.types import PhysicalFunction
from agent.inventory.model import NicVf
from agent.inventory.vf_rules import VfRules

Texts = Mapping[str, str]


def offered_vfs(pf: PhysicalFunction, rules: VfRules | None) -> tuple[NicVf, ...]:
    """Return the VFs of a NIC by index.

    Another number than the rule's, from somebody else or from a driver that made fewer, is what is offered.
    """
    count = rules.on_demand_of(pf) if rules is not None else None
    if count is not None and not pf.vfs:
        return tuple(NicVf(pf, index, None, count) for index in range(count))
    return tuple(NicVf(pf, vf.index, vf, count) for vf in pf.vfs)


def kind_of(published: NicVf) -> tuple[Texts, Texts]:
    """Return what all VFs of a kind have in common beside their type, and what only this one has.

    The device id of VFs on demand is known once they exist, so it is not in the part that all share.
    """
    known = {"deviceID": published.vf.function.device_id} if published.vf else {}
    return ({}, known) if published.on_demand is not None else (known, {})
