"""Trees of devices, each cut from one other, in which all parts of a device fit in it at the same time.

There a device excludes just those that it is cut from and those that are cut from it. Counters say that
exactly, however deep the tree is: one counter for each device at the end of a branch, of which every device
takes those below it. Slices of a machine that spans nodes are such trees. Takes a pool; returns its trees.
Source: rules S2 to S5 of docs/semantics.md; decision 0064.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scheduler_core.base import limits
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.device import Device, DeviceName, SourceName
from scheduler_core.model.pool import Pool


@dataclass(frozen=True, slots=True)
class ExactTree:
    """One tree.

    Shape: ``ends`` has, for each device below the root, the devices at the end of its branches in the pool's
           order, itself where it is one; ``depth`` counts the devices of the longest branch with the root.
    """

    root: DeviceName
    ends: Mapping[DeviceName, tuple[DeviceName, ...]]
    depth: int


def exact_trees(pool: Pool) -> Mapping[DeviceName, ExactTree]:
    """Return the trees of a pool by root. Shape: of at least three levels, with counters for one set."""
    children: dict[DeviceName, list[Device]] = {}
    for device in pool.devices:
        for parent in device.parents:
            children.setdefault(parent, []).append(device)
    roots = (device for device in pool.devices if device.name in children and not device.parents)
    found = (_tree(pool, root, children) for root in roots)
    return {tree.root: tree for tree in found if tree is not None and tree.depth > 2}


def _tree(pool: Pool, root: Device, children: Mapping[DeviceName, list[Device]]) -> ExactTree | None:
    """Return the tree below a root, None where its parts do not all fit, or are cut from others too."""
    below = list(_below(root.name, children))
    members = {root.name, *(device.name for device in below)}
    if len(members) <= len(below) or any(len(one.parents) > 1 or _has_groups(one) for one in below):
        return None
    if not all(_all_fit(pool, name, children[name]) for name in members if name in children):
        return None
    order = {device.name: place for place, device in enumerate(pool.devices)}
    ends: dict[DeviceName, list[DeviceName]] = {device.name: [] for device in below}
    depth = 0
    for device in below:
        if device.name not in children:
            branch = list(_branch(device.name, root.name, {one.name: one.parents[0] for one in below}))
            depth = max(depth, len(branch) + 1)
            for name in branch:
                ends[name].append(device.name)
    if sum(device.name not in children for device in below) > limits.COUNTERS:
        return None
    return ExactTree(
        root.name, {name: tuple(sorted(at, key=order.__getitem__)) for name, at in ends.items()}, depth
    )


def _below(name: DeviceName, children: Mapping[DeviceName, list[Device]]) -> Iterator[Device]:
    """Yield every device below one, from the top down. A device with two parents may come twice."""
    waiting = list(children.get(name, ()))
    for device in waiting:  # the list grows during the loop
        yield device
        if len(device.parents) == 1:
            waiting += children.get(device.name, ())


def _branch(
    name: DeviceName, root: DeviceName, parent_of: Mapping[DeviceName, DeviceName]
) -> Iterator[DeviceName]:
    while name != root:
        yield name
        name = parent_of[name]


def _has_groups(device: Device) -> bool:
    return any(draw.groups is not None for draw in device.draws)


def _all_fit(pool: Pool, name: DeviceName, parts: list[Device]) -> bool:
    """Whether all parts of a device can be active at once, each of them drawing from this device alone."""
    source = SourceName(name)
    supply, drawn = pool.sources.get(source, {}), dict[str, int]()
    for part in parts:
        for draw in part.draws:
            if draw.source != source:
                return False
            for dimension, amount in draw.amounts.items():
                drawn[dimension] = drawn.get(dimension, 0) + amount.nano
    return all(total <= supply[dimension].nano for dimension, total in drawn.items())
