"""PURE: what a policy means for one node: each device gets exactly one value of each setting.

Of the entries that name a device the most specific one counts: one that selects both nodes and devices comes
before one that selects either, and that before one that selects neither. Two of one rank that disagree are
refused, so the order of rules never matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from agent.hardware.types import Bdf, PhysicalFunction
from agent.inventory.model import GpuEntry, Inventory
from agent.inventory.modes import MigPlace
from agent.inventory.names import gpu_name, nic_name
from agent.inventory.options.stated_topology import placed_functions
from agent.inventory.topology import StatedPlace
from agent.policy.mig_layout import Impossible, placed
from agent.policy.model import (
    Attributes,
    AttributeValue,
    GpuRule,
    GpuSelector,
    InvalidPolicy,
    LayoutPart,
    NicRule,
    NicSelector,
    PlaceRule,
    Policy,
    Rule,
)
from agent.policy.resolved import (
    GpuSettings,
    LinkedSettings,
    LogSettings,
    NicSettings,
    Resolved,
    VfSettings,
)
from agent.policy.said import Said, counted, rank_of
from scheduler_core.base.errors import shown

_Value = TypeVar("_Value")
_Word = TypeVar("_Word", bound=StrEnum)
_Cuts = frozenset[str] | tuple[LayoutPart, ...]


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a policy means for a node. Shape: ``idle`` are sentences about entries that match no device."""

    settings: Resolved
    idle: tuple[str, ...] = ()


def resolve(policy: Policy, labels: Mapping[str, str], node: Inventory) -> Resolution:
    """Return what a policy means for a node with these labels.

    Raises: InvalidPolicy where two entries disagree about a device, or a GPU can be offered in no way.
    """
    rules = [rule for rule in policy.rules if rule.is_for(labels)]
    return Resolution(
        Resolved(
            gpus={entry.gpu.uuid: _gpu(policy, rules, entry) for entry in node.gpus},
            nics={pf.function.bdf: _nic(policy, rules, pf) for pf in node.nics},
            linked=_linked(policy, rules),
            imex_channels=_of_node(policy, rules, "imexChannels", [one.imex_channels for one in rules]),
            multus_resource=_of_node(policy, rules, "multusResource", [one.multus_resource for one in rules]),
            health=_of_node(policy, rules, "health", [one.health for one in rules]),
            places=_places(policy, rules, node),
            logs=_logs(policy, rules),
        ),
        tuple(_idle(rules, node)),
    )


def _gpu(policy: Policy, rules: Sequence[Rule], entry: GpuEntry) -> GpuSettings:
    name = gpu_name(entry.gpu.number)
    found = [
        (rank_of(rule, is_selected=one.select is not None), one)
        for rule in rules
        for one in rule.gpus
        if one.select is None or _selects_gpu(one.select, entry)
    ]
    modes = counted(policy, name, [Said(rank, f"{one.path}.modes", one.modes) for rank, one in found])
    cuts = counted(policy, name, [_said_of_cuts(rank, one) for rank, one in found])
    split = [Said(rank, f"{one.path}.computeInstances", one.compute_instances) for rank, one in found]
    layout = None
    if isinstance(cuts, frozenset):
        _refuse_without_profile(policy, entry, cuts, [one for _, one in found])
    elif cuts is not None and (modes is None or modes.mig):
        layout = _layout(policy, entry, cuts, [one for _, one in found])
    return GpuSettings(
        modes=modes,
        profiles=tuple(sorted(cuts)) if isinstance(cuts, frozenset) else None,
        layout=layout,
        compute_instances=counted(policy, name, split),
        attributes=_attributes(policy, name, [(rank, one.path, one.attributes) for rank, one in found]),
    )


def _said_of_cuts(rank: int, one: GpuRule) -> Said[_Cuts]:
    """Return what an entry says of the partitions that are cut from its GPUs: their profiles, or a layout."""
    if one.layout is not None:
        return Said(rank, f"{one.path}.migLayout", one.layout)
    return Said(rank, f"{one.path}.migProfiles", one.profiles)


def _layout(
    policy: Policy, entry: GpuEntry, layout: tuple[LayoutPart, ...], said: Sequence[GpuRule]
) -> tuple[MigPlace, ...]:
    """Return where the partitions of a layout lie on a GPU. Raises: InvalidPolicy where they cannot."""
    try:
        return placed(layout, entry.profiles)
    except Impossible as error:
        path = next(one.path for one in said if one.layout == layout)
        gpu = entry.gpu
        rule = f"{gpu_name(gpu.number)} ({gpu.product_name}) {error.rule}"
        raise InvalidPolicy(policy.subject, f"{path}.migLayout{error.field}", error.value, rule) from error


def _refuse_without_profile(
    policy: Policy, entry: GpuEntry, profiles: frozenset[str], said: Sequence[GpuRule]
) -> None:
    """Refuse a list of profiles of which a GPU that is cut by MIG has none."""
    known = [one.name for one in entry.profiles]
    if known and profiles.isdisjoint(known):
        path = next(one.path for one in said if one.profiles == profiles)
        gpu = entry.gpu
        rule = f"{gpu_name(gpu.number)} ({gpu.product_name}) has none of these; it has {', '.join(known)}"
        raise InvalidPolicy(policy.subject, f"{path}.migProfiles", ", ".join(sorted(profiles)), rule)


def _nic(policy: Policy, rules: Sequence[Rule], pf: PhysicalFunction) -> NicSettings:
    name = nic_name(pf.function.bdf)
    found = [
        (rank_of(rule, is_selected=one.select is not None), one)
        for rule in rules
        for one in rule.nics
        if one.select is None or _selects_nic(one.select, pf)
    ]
    excluded = [Said(rank, f"{one.path}.excluded", one.is_excluded) for rank, one in found]
    count = counted(policy, name, [Said(rank, f"{one.path}.vfCount", one.vf_count) for rank, one in found])
    rate = [Said(rank, f"{one.path}.vfRate", one.vf_rate) for rank, one in found]
    kinds = [Said(rank, f"{one.path}.kinds", one.kinds) for rank, one in found]
    modes = [Said(rank, f"{one.path}.modes", one.modes) for rank, one in found]
    return NicSettings(
        excluded=counted(policy, name, excluded),
        kinds=_in_order(counted(policy, name, kinds)),
        modes=_in_order(counted(policy, name, modes)),
        keeps_vf_count=count is not None and count.rule is None,
        vf_rule=None if count is None else count.rule,
        vf_rate=counted(policy, name, rate),
        attributes=_attributes(policy, name, [(rank, one.path, one.attributes) for rank, one in found]),
        vfs=_vfs(policy, name, found),
    )


def _vfs(policy: Policy, name: str, found: Sequence[tuple[int, NicRule]]) -> dict[int, VfSettings]:
    said = [(rank, vf) for rank, one in found for vf in one.vfs]
    settings = {}
    for index in sorted({index for _, vf in said for index in vf.indexes}):
        of_vf, vf_name = [(rank, vf) for rank, vf in said if index in vf.indexes], f"VF {index} of {name}"
        excluded = [Said(rank, f"{vf.path}.excluded", vf.is_excluded) for rank, vf in of_vf]
        modes = [Said(rank, f"{vf.path}.modes", vf.modes) for rank, vf in of_vf]
        settings[index] = VfSettings(
            excluded=counted(policy, vf_name, excluded) is True,
            modes=_in_order(counted(policy, vf_name, modes)),
            attributes=_attributes(policy, vf_name, [(rank, vf.path, vf.attributes) for rank, vf in of_vf]),
        )
    return settings


def _logs(policy: Policy, rules: Sequence[Rule]) -> LogSettings | None:
    found = LogSettings(
        form=_of_node(policy, rules, "logs.format", [one.log_form for one in rules]),
        level=_of_node(policy, rules, "logs.level", [one.log_level for one in rules]),
    )
    return None if found == LogSettings() else found


def _in_order(said: frozenset[_Word] | None) -> tuple[_Word, ...] | None:
    return None if said is None else tuple(sorted(said))


def _places(policy: Policy, rules: Sequence[Rule], node: Inventory) -> dict[Bdf, StatedPlace]:
    """Return what is said of the places of functions. One that an entry names counts before its patterns."""
    found = {}
    for bdf in dict.fromkeys(function.bdf for function in placed_functions(node)):
        of = [
            (rank_of(rule, is_selected=bdf in one.addresses), one)
            for rule in rules
            for one in rule.places
            if one.has(bdf)
        ]
        if of:
            found[bdf] = _place(policy, bdf, of)
    return found


def _place(policy: Policy, bdf: Bdf, of: Sequence[tuple[int, PlaceRule]]) -> StatedPlace:
    def value(key: str, part: Callable[[StatedPlace], _Value | None]) -> _Value | None:
        return counted(policy, bdf, [Said(rank, f"{one.path}.{key}", part(one.place)) for rank, one in of])

    return StatedPlace(
        numa_node=value("numaNode", lambda place: place.numa_node),
        pcie_root=value("pcieRoot", lambda place: place.pcie_root),
        pcie_root_port=value("pcieRootPort", lambda place: place.pcie_root_port),
        pcie_switch=value("pcieSwitch", lambda place: place.pcie_switch),
    )


def _linked(policy: Policy, rules: Sequence[Rule]) -> LinkedSettings | None:
    found = _of_node(policy, rules, "partitions", [one.linked for one in rules])
    if found is None:
        return None
    table = None if found.table is None else dict(found.table)
    return LinkedSettings(board=found.board, table=table, is_honored=found.is_honored)


def _of_node(
    policy: Policy, rules: Sequence[Rule], key: str, values: Sequence[_Value | None]
) -> _Value | None:
    """Return the value of a setting of the node as a whole."""
    said = [
        Said(rank_of(rule, is_selected=False), f"{rule.path}.{key}", value)
        for rule, value in zip(rules, values, strict=True)
    ]
    return counted(policy, "the node", said)


def _attributes(
    policy: Policy, device: str, said: Sequence[tuple[int, str, Attributes]]
) -> dict[str, AttributeValue]:
    keys = sorted({key for _, _, attributes in said for key in attributes})
    found: dict[str, AttributeValue] = {}
    for key in keys:
        of_key: list[Said[AttributeValue]] = [
            Said(rank, f"{path}.attributes.{key}", attributes.get(key)) for rank, path, attributes in said
        ]
        value = counted(policy, device, of_key)
        if value is not None:
            found[key] = value
    return found


def _selects_gpu(select: GpuSelector, entry: GpuEntry) -> bool:
    gpu = entry.gpu
    return (
        select.has_product(gpu.product_name)
        and (select.addresses is None or gpu.bdf in select.addresses)
        and (select.uuids is None or gpu.uuid in select.uuids)
        and (select.numbers is None or gpu.number in select.numbers)
    )


def _selects_nic(select: NicSelector, pf: PhysicalFunction) -> bool:
    return (
        (select.addresses is None or pf.function.bdf in select.addresses)
        and (select.interfaces is None or pf.netdev in select.interfaces)
        and (select.link_types is None or pf.link_type in select.link_types)
    )


def _idle(rules: Sequence[Rule], node: Inventory) -> Iterator[str]:
    """Yield a sentence for each entry that names devices of this node and matches none of them."""
    for rule in rules:
        for gpus in rule.gpus:
            if gpus.select is not None and not any(_selects_gpu(gpus.select, one) for one in node.gpus):
                yield f"{gpus.path}: matches no GPU of node {node.node}"
            elif gpus.profiles is not None:
                matched = [one for one in node.gpus if gpus.select is None or _selects_gpu(gpus.select, one)]
                known = {profile.name for one in matched for profile in one.profiles}
                if missing := sorted(gpus.profiles - known):
                    yield f"{gpus.path}.migProfiles: no GPU that it names has {shown(', '.join(missing))}"
        for nics in rule.nics:
            if nics.select is not None and not any(_selects_nic(nics.select, one) for one in node.nics):
                yield f"{nics.path}: matches no NIC of node {node.node}"
        for place in rule.places:
            if not any(place.has(function.bdf) for function in placed_functions(node)):
                yield f"{place.path}: matches no GPU or NIC of node {node.node}"
