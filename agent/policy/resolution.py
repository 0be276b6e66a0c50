"""PURE: what a policy means for one node: each device gets exactly one value of each setting.

Of the entries that name a device the most specific one counts: one that selects both nodes and devices comes
before one that selects either, and that before one that selects neither. Two of one rank that disagree are
refused, so the order of rules never matters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from agent.hardware.types import PhysicalFunction
from agent.inventory.model import GpuEntry, Inventory
from agent.inventory.modes import MigPlace
from agent.inventory.names import gpu_name, nic_name
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
    Policy,
    Rule,
)
from agent.policy.resolved import GpuSettings, LinkedSettings, NicSettings, Resolved, VfSettings
from scheduler_core.base.errors import shown

_Value = TypeVar("_Value")
_Cuts = frozenset[str] | tuple[LayoutPart, ...]


@dataclass(frozen=True, slots=True)
class _Said(Generic[_Value]):
    """One value that a policy gives for a setting. Shape: ``rank`` how specific its entry is, 0 to 2."""

    rank: int
    path: str
    value: _Value | None


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
        ),
        tuple(_idle(rules, node)),
    )


def _gpu(policy: Policy, rules: Sequence[Rule], entry: GpuEntry) -> GpuSettings:
    name = gpu_name(entry.gpu.number)
    found = [
        (_rank(rule, is_selected=one.select is not None), one)
        for rule in rules
        for one in rule.gpus
        if one.select is None or _selects_gpu(one.select, entry)
    ]
    modes = _one(policy, name, [_Said(rank, f"{one.path}.modes", one.modes) for rank, one in found])
    cuts = _one(policy, name, [_said_of_cuts(rank, one) for rank, one in found])
    split = [_Said(rank, f"{one.path}.computeInstances", one.compute_instances) for rank, one in found]
    layout = None
    if isinstance(cuts, frozenset):
        _refuse_without_profile(policy, entry, cuts, [one for _, one in found])
    elif cuts is not None and (modes is None or modes.mig):
        layout = _layout(policy, entry, cuts, [one for _, one in found])
    return GpuSettings(
        modes=modes,
        profiles=tuple(sorted(cuts)) if isinstance(cuts, frozenset) else None,
        layout=layout,
        compute_instances=_one(policy, name, split),
        attributes=_attributes(policy, name, [(rank, one.path, one.attributes) for rank, one in found]),
    )


def _said_of_cuts(rank: int, one: GpuRule) -> _Said[_Cuts]:
    """Return what an entry says of the partitions that are cut from its GPUs: their profiles, or a layout."""
    if one.layout is not None:
        return _Said(rank, f"{one.path}.migLayout", one.layout)
    return _Said(rank, f"{one.path}.migProfiles", one.profiles)


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
        (_rank(rule, is_selected=one.select is not None), one)
        for rule in rules
        for one in rule.nics
        if one.select is None or _selects_nic(one.select, pf)
    ]
    excluded = [_Said(rank, f"{one.path}.excluded", one.is_excluded) for rank, one in found]
    count = _one(policy, name, [_Said(rank, f"{one.path}.vfCount", one.vf_count) for rank, one in found])
    rate = [_Said(rank, f"{one.path}.vfRate", one.vf_rate) for rank, one in found]
    return NicSettings(
        excluded=_one(policy, name, excluded),
        keeps_vf_count=count is not None and count.rule is None,
        vf_rule=None if count is None else count.rule,
        vf_rate=_one(policy, name, rate),
        attributes=_attributes(policy, name, [(rank, one.path, one.attributes) for rank, one in found]),
        vfs=_vfs(policy, name, found),
    )


def _vfs(policy: Policy, name: str, found: Sequence[tuple[int, NicRule]]) -> dict[int, VfSettings]:
    said = [(rank, vf) for rank, one in found for vf in one.vfs]
    settings = {}
    for index in sorted({index for _, vf in said for index in vf.indexes}):
        of_vf, vf_name = [(rank, vf) for rank, vf in said if index in vf.indexes], f"VF {index} of {name}"
        excluded = [_Said(rank, f"{vf.path}.excluded", vf.is_excluded) for rank, vf in of_vf]
        settings[index] = VfSettings(
            excluded=_one(policy, vf_name, excluded) is True,
            attributes=_attributes(policy, vf_name, [(rank, vf.path, vf.attributes) for rank, vf in of_vf]),
        )
    return settings


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
        _Said(_rank(rule, is_selected=False), f"{rule.path}.{key}", value)
        for rule, value in zip(rules, values, strict=True)
    ]
    return _one(policy, "the node", said)


def _attributes(
    policy: Policy, device: str, said: Sequence[tuple[int, str, Attributes]]
) -> dict[str, AttributeValue]:
    keys = sorted({key for _, _, attributes in said for key in attributes})
    found: dict[str, AttributeValue] = {}
    for key in keys:
        of_key: list[_Said[AttributeValue]] = [
            _Said(rank, f"{path}.attributes.{key}", attributes.get(key)) for rank, path, attributes in said
        ]
        value = _one(policy, device, of_key)
        if value is not None:
            found[key] = value
    return found


def _one(policy: Policy, device: str, said: Sequence[_Said[_Value]]) -> _Value | None:
    """Return the value that counts, None where nothing is said. Raises: InvalidPolicy."""
    given = [one for one in said if one.value is not None]
    if not given:
        return None
    top = max(one.rank for one in given)
    first, *others = [one for one in given if one.rank == top]
    for other in others:
        if other.value != first.value or type(other.value) is not type(first.value):
            rule = (
                f"disagrees with {first.path} about {device}; correct one of them, or have one select nodes "
                "or devices more closely"
            )
            raise InvalidPolicy(policy.subject, other.path, None, rule)
    return first.value


def _rank(rule: Rule, *, is_selected: bool) -> int:
    return int(bool(rule.nodes)) + int(is_selected)


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
