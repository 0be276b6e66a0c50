"""PURE: how many VFs each NIC of a node shall have, who makes them, and how much each may send.

A node has one set of rules, whatever they were read from (today the option ``--vfs``). Without a rule nobody
changes the number: the VFs that exist are offered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agent.hardware.types import PhysicalFunction
from agent.inventory.names import nic_name


@dataclass(frozen=True, slots=True)
class VfRule:
    """The rule of one NIC: so many VFs all the time, or with ``on_demand`` only while claims have some."""

    count: int
    on_demand: bool = False


@dataclass(frozen=True, slots=True)
class VfRate:
    """What VFs may send. Units: Mbit/s. Shape: ``vf`` of each VF, ``nic`` of all VFs of a NIC together."""

    vf: int
    nic: int


@dataclass(frozen=True, slots=True)
class VfRules:
    """The rules of a node.

    Shape: ``named`` by PCI address in sysfs' spelling, or by the name of an interface, None for a NIC that
           is left alone; ``rest`` for all NICs that are not named; ``rates`` and ``rest_rate`` likewise.
    """

    named: Mapping[str, VfRule | None] = field(default_factory=dict)
    rest: VfRule | None = None
    rates: Mapping[str, VfRate] = field(default_factory=dict)
    rest_rate: VfRate | None = None

    def rule_of(self, pf: PhysicalFunction) -> VfRule | None:
        """Return the rule of a NIC. Its address counts before its interface, both before ``rest``.

        ``rest`` does not concern a NIC without SR-IOV.
        """
        for key in (str(pf.function.bdf), pf.netdev):
            if key is not None and key in self.named:
                return self.named[key]
        return self.rest if pf.total_vfs else None

    def rate_of(self, pf: PhysicalFunction) -> VfRate | None:
        """Return what the VFs of a NIC may send, None where nothing limits them.

        InfiniBand has none: its drivers set no rates for VFs.
        """
        if pf.link_type == "infiniband":
            return None
        for key in (str(pf.function.bdf), pf.netdev):
            if key is not None and key in self.named:
                return self.rates.get(key)
        return self.rest_rate

    def on_demand_of(self, pf: PhysicalFunction) -> int | None:
        """Return how many VFs a NIC gets for claims; None where its rule is another, or it cannot."""
        rule = self.rule_of(pf)
        return rule.count if rule and rule.on_demand and rule.count <= pf.total_vfs else None

    def unmet(self, nics: Sequence[PhysicalFunction]) -> Iterator[str]:
        """Yield a sentence for each rule that these NICs do not meet now, with the device's name first."""
        known = {key for pf in nics for key in (str(pf.function.bdf), pf.netdev)}
        for key in self.named:
            if key not in known:
                yield f"VFs of NIC {key}: the node has no NIC with this address or interface"
        for pf in nics:
            rule = self.rule_of(pf)
            if rule is not None and (why := _why_unmet(rule, pf)):
                yield f"{nic_name(pf.function.bdf)}: {rule.count} VFs are asked for, {why}"


def _why_unmet(rule: VfRule, pf: PhysicalFunction) -> str:
    present = len(pf.vfs)
    if rule.count > pf.total_vfs:
        remedy = "the operator asks for fewer, or raises the number in the NIC's firmware"
        return f"and it can have {pf.total_vfs}: {remedy}"
    if present == rule.count or (rule.on_demand and not present):
        return ""
    return f"and it has {present} now, which are offered: the plugin's log says why"
