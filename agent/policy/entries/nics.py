"""PURE: reads what a policy says of NICs and their VFs."""

from __future__ import annotations

import re
from typing import Final

from agent.inventory.vfs.rules import VfRate, VfRule
from agent.policy.entries.common import MOST, addresses, attributes, listed, refuse_silent
from agent.policy.model import NicKind, NicRule, NicSelector, VfCount, VfEntry
from scheduler_core.codec.fields import Fields
from scheduler_core.frontends.configuration.fields import optional_flag
from scheduler_core.frontends.configuration.values import VfMode

_SAYS: Final = ("excluded", "kinds", "modes", "vfCount", "vfRate", "attributes", "vfs")
_MOST_VFS: Final = 2**16 - 1
_FASTEST: Final = 999_999_999
_LINK_TYPES: Final = ("ethernet", "infiniband")
_INTERFACE: Final = re.compile(r"[^\s/:]{1,15}")


def read_nic_rule(fields: Fields) -> NicRule:
    """Return one entry of ``nics``. Raises: InvalidPolicy."""
    fields.only("select", *_SAYS)
    refuse_silent(fields, _SAYS)
    kinds, modes = _kinds(fields), _modes(fields)
    _refuse_without_effect(fields, kinds, modes)
    vfs = tuple(_vf_entry(one) for one in fields.children("vfs", MOST))
    _refuse_repeated(fields, vfs)
    return NicRule(
        path=fields.path,
        select=_selector(fields),
        is_excluded=optional_flag(fields, "excluded"),
        kinds=kinds,
        modes=modes,
        vf_count=_vf_count(fields),
        vf_rate=_vf_rate(fields),
        attributes=attributes(fields),
        vfs=vfs,
    )


def _kinds(entry: Fields) -> frozenset[NicKind] | None:
    words = tuple(NicKind)
    found = listed(entry, "kinds", lambda text: text in words, f"must be one of {', '.join(words)}")
    return None if found is None else frozenset(NicKind(one) for one in found)


def _modes(entry: Fields) -> frozenset[VfMode] | None:
    words = tuple(VfMode)
    found = listed(entry, "modes", lambda text: text in words, f"must be one of {', '.join(words)}")
    return None if found is None else frozenset(VfMode(one) for one in found)


def _refuse_without_effect(
    entry: Fields, kinds: frozenset[NicKind] | None, modes: frozenset[VfMode] | None
) -> None:
    """Refuse what an entry says of devices or modes that it does not offer."""
    if optional_flag(entry, "excluded"):
        for key in ("kinds", "modes"):
            if entry.has(key):
                raise entry.refuse(key, "does not go with excluded")
    if kinds == frozenset({NicKind.NIC}):
        for key in ("vfRate", "vfs"):
            if entry.has(key):
                raise entry.refuse(key, "has no effect: VFs of these NICs are not offered")
        if modes == frozenset({VfMode.VFIO}):
            raise entry.refuse("modes", "leaves nothing: only VFs have mode vfio")


def _selector(entry: Fields) -> NicSelector | None:
    if not entry.has("select"):
        return None
    select = entry.child("select")
    select.only("pciAddresses", "interfaces", "linkTypes")
    found = NicSelector(addresses(select), _interfaces(select), _link_types(select))
    if found == NicSelector():
        raise select.refuse("", "selects nothing; leave it out for all NICs that no other entry names")
    return found


def _interfaces(select: Fields) -> frozenset[str] | None:
    rule = "must be the name of an interface, at most 15 characters"
    found = listed(select, "interfaces", lambda text: _INTERFACE.fullmatch(text) is not None, rule)
    return None if found is None else frozenset(found)


def _link_types(select: Fields) -> frozenset[str] | None:
    rule = f"must be one of {', '.join(_LINK_TYPES)}"
    found = listed(select, "linkTypes", lambda text: text in _LINK_TYPES, rule)
    return None if found is None else frozenset(found)


def _vf_count(entry: Fields) -> VfCount | None:
    if not entry.has("vfCount"):
        return None
    count = entry.child("vfCount")
    count.only("static", "onDemand", "keep")
    given = [key for key in ("static", "onDemand", "keep") if count.has(key)]
    if len(given) != 1:
        raise count.refuse("", "must have one of static, onDemand and keep")
    if given == ["keep"]:
        if not count.flag("keep"):
            raise count.refuse("keep", "must be true: nobody changes the number of VFs", value=False)
        return VfCount(None)
    number = count.integer(given[0], least=1, most=_MOST_VFS)
    return VfCount(VfRule(number, on_demand=given == ["onDemand"]))


def _vf_rate(entry: Fields) -> VfRate | None:
    if not entry.has("vfRate"):
        return None
    rate = entry.child("vfRate")
    rate.only("eachMbps", "allMbps")
    together = rate.integer("allMbps", least=1, most=_FASTEST)
    return VfRate(vf=rate.integer("eachMbps", least=1, most=together), nic=together)


def _vf_entry(fields: Fields) -> VfEntry:
    says = ("excluded", "modes", "attributes")
    fields.only("indexes", *says)
    refuse_silent(fields, says)
    indexes = fields.items("indexes", MOST)
    for position, one in enumerate(indexes):
        if not isinstance(one, int) or isinstance(one, bool) or not 0 <= one < _MOST_VFS:
            raise fields.refuse(f"indexes[{position}]", f"must be from 0 to {_MOST_VFS - 1}", one)
    if not indexes:
        raise fields.refuse("indexes", "is required, and must have an index")
    excluded = optional_flag(fields, "excluded")
    if excluded and fields.has("modes"):
        raise fields.refuse("modes", "does not go with excluded")
    return VfEntry(
        path=fields.path,
        indexes=frozenset(indexes),
        is_excluded=excluded,
        modes=_modes(fields),
        attributes=attributes(fields),
    )


def _refuse_repeated(entry: Fields, vfs: tuple[VfEntry, ...]) -> None:
    known: set[int] = set()
    for position, one in enumerate(vfs):
        if known & one.indexes:
            twice = min(known & one.indexes)
            raise entry.refuse(f"vfs[{position}].indexes", "another entry of the list has this VF", twice)
        known |= one.indexes
